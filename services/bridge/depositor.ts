import type { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import type { Intent, IntentFailure, SignedTransactionText } from "../../lib/intents/intent.ts";
import type { IntentStore } from "../../lib/intents/store.ts";
import type { Submitter } from "../../lib/intents/submitter.ts";
import { SubmissionFailure } from "../../lib/intents/submitter_options.ts";
import { type DepositRequest, depositRequestSchema } from "../../lib/protocol/deposit.ts";
import { hashDepositRequest } from "../../lib/protocol/hashes.ts";
import { type Address, hash32Schema, type Hex } from "../../lib/protocol/scalars.ts";
import { requireSigner, type Signer } from "../../lib/protocol/signature.ts";
import { signTransaction, transactionToText } from "../../lib/protocol/transaction.ts";
import { RangemakerError } from "../../lib/errors.ts";

/** Dependencies of a {@link Depositor}. */
export interface DepositorOptions {
  store: IntentStore;
  submitter: Pick<Submitter, "submit">;
  /** Throws if the node cannot be reached, or has another chain than the store. */
  requireChain(): Promise<void>;
  signer: Signer;
  chainId: number;
  clock: Clock;
  /** A request with a valid signature was refused; nothing was recorded. */
  onRefused?(request: DepositRequest, reason: RangemakerError): void;
}

/** Codes of failed deposits in answers; any other code of the node becomes `TRANSACTION_FAILED`. */
const FAILURE_CODES: ReadonlySet<string> = new Set([
  SubmissionFailure.deadlinePassed,
  SubmissionFailure.nodeRefused,
  "DEPOSIT_ALREADY_PROCESSED",
  "PERMISSION_DENIED",
]);

/** Key of a deposit in the store: one nonce of one user is one deposit. */
export function depositKey(user: Address, nonce: bigint): string {
  return `${user}:${nonce}`;
}

const payloadSchema = depositRequestSchema.extend({ externalTxHash: hash32Schema });

/** The request as it is stored, with the external hash of its transaction. */
export type DepositPayload = z.output<typeof payloadSchema>;

/** Writes the payload of an intent. */
export function encodePayload(request: DepositRequest, externalTxHash: Hex): string {
  return JSON.stringify({
    ...request,
    amount: request.amount.toString(),
    nonce: request.nonce.toString(),
    externalTxHash,
  });
}

/** Reads the payload of an intent. */
export function decodePayload(text: string): DepositPayload {
  return payloadSchema.parse(JSON.parse(text));
}

/** Turns signed deposit requests into deposit transactions, each exactly once. */
export class Depositor {
  readonly #options: DepositorOptions;

  constructor(options: DepositorOptions) {
    this.#options = options;
  }

  /**
   * Carries out a request (spec: deposit bridge, "Deposit rules"). A refusal before the request is
   * recorded does not use up the nonce.
   *
   * @returns The hash of the committed deposit transaction.
   * @throws {RangemakerError} `DEADLINE_PASSED`, `NONCE_USED`, or the code of the failed transaction.
   * @throws {SignatureError} If the user did not sign the request.
   * @throws {ChainMismatchError} If the node has another chain.
   * @throws {OutcomeUnknownError} If the node has not answered yet.
   */
  async deposit(request: DepositRequest): Promise<Hex> {
    const { submitter, clock, chainId, onRefused } = this.#options;
    if (clock.now() > request.deadline) {
      throw new RangemakerError(
        "DEADLINE_PASSED",
        `Deposit request expired: its deadline ${request.deadline} passed ${
          clock.now() - request.deadline
        } ms ago; sign a new one with a later deadline`,
      );
    }
    const digest = hashDepositRequest(request, chainId);
    requireSigner("Deposit signature", digest, request.signature, request.user);
    let intent: Intent;
    try {
      intent = await this.#record(request, digest);
    } catch (thrown) {
      if (thrown instanceof RangemakerError) onRefused?.(request, thrown);
      throw thrown;
    }
    return txHashOf(await submitter.submit(intent));
  }

  async #record(request: DepositRequest, digest: Hex): Promise<Intent> {
    const { store, clock, requireChain } = this.#options;
    // While the node is away, a request would only wait: refuse it instead.
    await requireChain();
    const { inserted, intent } = await store.insert({
      key: depositKey(request.user, request.nonce),
      subject: request.user,
      payload: encodePayload(request, digest),
      transaction: this.#sign(request.user, request.amount, digest),
      expiresAtMs: request.deadline,
      createdAtMs: clock.now(),
    });
    if (!inserted) throw nonceUsed(request, intent);
    return intent;
  }

  /** Signs the transaction of a recorded deposit again, with a new timestamp. */
  resign(intent: Intent): SignedTransactionText {
    const { user, amount, externalTxHash } = decodePayload(intent.payload);
    return this.#sign(user, amount, externalTxHash);
  }

  #sign(user: Address, amount: bigint, externalTxHash: Hex): SignedTransactionText {
    const { signer, chainId, clock } = this.#options;
    const { tx, txHash } = signTransaction(
      {
        type: "Deposit" as const,
        timestamp: clock.now(),
        from: signer.address,
        user,
        amount,
        externalTxHash,
      },
      signer,
      chainId,
    );
    return { txHash, text: transactionToText(tx) };
  }
}

/** Contains transaction and state of the first request: its answer may have been lost. */
function nonceUsed(request: DepositRequest, intent: Intent): RangemakerError {
  const became = intent.transaction === null ? "" : ` by transaction ${intent.transaction.txHash}`;
  const reason = intent.failure === null ? "" : ` (${describe(intent.failure)})`;
  return new RangemakerError(
    "NONCE_USED",
    `Nonce ${request.nonce} of ${request.user} is used${became}: deposit is ${intent.state}${reason}; ` +
      "sign another nonce for another deposit",
  );
}

function txHashOf(intent: Intent): Hex {
  if (intent.state === "committed" && intent.transaction !== null) return intent.transaction.txHash;
  const failure = intent.failure ?? { code: "UNKNOWN", message: "no reason given" };
  const code = FAILURE_CODES.has(failure.code) ? failure.code : "TRANSACTION_FAILED";
  throw new RangemakerError(code, `Deposit failed: ${describe(failure)}`);
}

function describe({ code, message }: IntentFailure): string {
  return `${code}: ${message}`;
}
