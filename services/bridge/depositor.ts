import { z } from "zod";
import { toWire } from "../../lib/json.ts";
import type { Clock } from "../../lib/clock.ts";
import type { ChainGuard } from "../../lib/intents/chain_guard.ts";
import { rowDamaged, StoreConnectionLostError } from "../../lib/intents/errors.ts";
import type { Intent, SignedTransactionText } from "../../lib/intents/intent.ts";
import type { IntentStore } from "../../lib/intents/store.ts";
import type { Submitter } from "../../lib/intents/submitter.ts";
import type { TransactionBuilder, TransactionTerms } from "../../lib/intents/transactions.ts";
import { createUserSignatureCheck } from "../../lib/intents/user_signatures.ts";
import type { CoreClient } from "../../lib/net/core_client.ts";
import { type DepositRequest, depositRequestSchema } from "../../lib/protocol/deposit.ts";
import { externalHashOf, hashDepositRequest } from "../../lib/protocol/hashes.ts";
import type { Receipt } from "../../lib/protocol/receipt.ts";
import { type Address, hash32Schema, type Hex } from "../../lib/protocol/scalars.ts";
import { requireSigner } from "../../lib/protocol/signature.ts";
import { RangemakerError } from "../../lib/errors.ts";
import { bridgeError } from "./errors.ts";

interface DepositorOptions {
  store: Pick<IntentStore, "find" | "insert">;
  submitter: Pick<Submitter, "submitNew">;
  guard: Pick<ChainGuard, "requireChain" | "clocks">;
  /** What the node is known to refuse every deposit for. */
  findNodeRefusal(): Promise<RangemakerError | undefined>;
  transactions: Pick<TransactionBuilder, "sign">;
  chainId: number;
  clock: Clock;
  /** A request with a valid signature was refused; nothing was recorded. */
  onRefused(request: DepositRequest, reason: RangemakerError): void;
}

/** Codes of failed deposits in answers; any other code of the node becomes `TRANSACTION_FAILED`. */
const FAILURE_CODES: ReadonlySet<string> = new Set([
  "DEADLINE_PASSED",
  "NODE_REFUSED",
  "STORE_DAMAGED",
  "PERMISSION_DENIED",
]);

/** Key of a deposit in the store: one nonce of one user is one deposit. */
export function depositKey(user: Address, nonce: bigint): string {
  return `${user}:${nonce}`;
}

/** The request as it is stored, with the external hash of its transaction. */
const payloadSchema = z.object({ ...depositRequestSchema.shape, externalTxHash: hash32Schema });

export function encodeDeposit(request: DepositRequest, externalTxHash: Hex): string {
  return JSON.stringify(toWire({ ...request, externalTxHash }));
}

export function decodeDeposit(text: string) {
  return payloadSchema.parse(JSON.parse(text));
}

/**
 * Whether an earlier transaction has credited a deposit: its external hash is computed from user,
 * amount and nonce, so it was the same deposit.
 */
export function wasCreditedBefore({ error }: Receipt): boolean {
  return error?.code === "DEPOSIT_ALREADY_PROCESSED";
}

/**
 * Whether the chain has a deposit, although the node has no receipt of it. The node keeps external
 * hashes for ever, so a simulation that would credit this one proves that the chain has lost it.
 *
 * @throws {RangemakerError} If the node refuses for another reason, such as a key without
 *   permission, which proves nothing.
 */
export async function isDepositOnChain(
  { node, transactions }: {
    node: Pick<CoreClient, "simulateTransactionText">;
    transactions: Pick<TransactionBuilder, "sign">;
  },
  intent: Intent,
  chainId: number,
): Promise<boolean> {
  const { text, txHash } = await transactions.sign(requireDepositTerms(intent, chainId));
  const receipt = await node.simulateTransactionText(text, txHash);
  if (receipt.status === "committed") return false;
  if (wasCreditedBefore(receipt)) return true;
  const { code = "TRANSACTION_FAILED", message = "no reason given" } = receipt.error ?? {};
  throw new RangemakerError(
    code,
    `Whether the chain has deposit ${intent.key} is unknown: ${message}`,
  );
}

/**
 * The deposit transaction of a recorded request.
 *
 * @throws {RangemakerError} If key, request, external hash and the user's signature do not belong
 *   together.
 */
export function requireDepositTerms(
  { key, user, payload, expiresAtMs }: Intent,
  chainId: number,
): TransactionTerms {
  const { externalTxHash, ...request } = decodeDeposit(payload);
  const digest = hashDepositRequest(request, chainId);
  requireSigner("Deposit signature", digest, request.signature, request.user);
  const isConsistent = externalHashOf(request, chainId) === externalTxHash &&
    user === request.user &&
    key === depositKey(request.user, request.nonce) && expiresAtMs === request.deadline;
  if (!isConsistent) {
    throw rowDamaged(key, "its columns do not belong to the signed request");
  }
  return depositTerms(request, externalTxHash);
}

function depositTerms({ user, amount }: DepositRequest, externalTxHash: Hex): TransactionTerms {
  return { type: "Deposit", user, amount, externalTxHash };
}

/** Turns signed deposit requests into deposit transactions, each exactly once. */
export class Depositor {
  readonly #options: DepositorOptions;
  readonly #checkSignature: ReturnType<typeof createUserSignatureCheck>;

  constructor(options: DepositorOptions) {
    this.#options = options;
    this.#checkSignature = createUserSignatureCheck(options.chainId, options.clock);
  }

  /**
   * Carries out a request (spec: deposit bridge, "Deposit rules"). A refusal before the request is
   * recorded does not use up the nonce.
   *
   * @returns The hash of the deposit transaction. It has failed on the node if an earlier
   *   transaction has credited the request.
   * @throws {RangemakerError} `DEADLINE_PASSED`, `CLOCKS_DIFFER`, `NONCE_USED`,
   *   `PERMISSION_DENIED`, or the code of the failed transaction.
   * @throws {SignatureError} If the user did not sign the request.
   * @throws {WrongChainError} If the node has another chain.
   * @throws {OutcomeUnknownError} If the node has not answered yet.
   */
  async deposit(request: DepositRequest): Promise<Hex> {
    const { submitter, guard, clock, chainId, onRefused } = this.#options;
    if (clock.now() > request.deadline) {
      const { deadline } = request;
      // A clock that is known to be wrong proves nothing.
      throw guard.clocks.problem ??
        bridgeError("DEADLINE_PASSED", { deadline, lateMs: clock.now() - deadline });
    }
    const { user, signature } = request;
    const digestFor = (id: number) => hashDepositRequest(request, id);
    this.#checkSignature("Deposit signature", digestFor, signature, user);
    let intent: Intent;
    try {
      intent = await this.#record(request, externalHashOf(request, chainId));
    } catch (thrown) {
      // Otherwise it may be recorded.
      if (thrown instanceof RangemakerError && !(thrown instanceof StoreConnectionLostError)) {
        onRefused(request, thrown);
      }
      throw thrown;
    }
    return requireTxHash(await submitter.submitNew(intent));
  }

  async #record(request: DepositRequest, externalTxHash: Hex): Promise<Intent> {
    const { store, guard, transactions, findNodeRefusal, clock } = this.#options;
    const key = depositKey(request.user, request.nonce);
    let transaction: SignedTransactionText;
    try {
      // While the node is unreachable, a recorded request would only wait, so refuse it.
      await guard.requireChain();
      const refusal = await findNodeRefusal();
      if (refusal !== undefined) throw refusal;
      transaction = await transactions.sign(depositTerms(request, externalTxHash));
    } catch (thrown) {
      // A user who is told that nothing was recorded signs another nonce, and is credited twice.
      const recorded = await store.find(key);
      throw recorded === undefined ? thrown : nonceUsed(request, recorded);
    }
    const { inserted, intent } = await store.insert({
      key,
      user: request.user,
      payload: encodeDeposit(request, externalTxHash),
      transaction,
      expiresAtMs: request.deadline,
      createdAtMs: clock.now(),
    });
    if (!inserted) throw nonceUsed(request, intent);
    return intent;
  }
}

function nonceUsed({ user, nonce }: DepositRequest, intent: Intent): RangemakerError {
  const { state, transaction, failure: reason } = intent;
  return bridgeError("NONCE_USED", {
    user,
    nonce,
    amount: decodeDeposit(intent.payload).amount,
    state,
    txHash: transaction?.txHash ?? null,
    reason,
  });
}

function requireTxHash(intent: Intent): Hex {
  if (intent.state === "committed" && intent.transaction !== null) return intent.transaction.txHash;
  const { details, ...reason } = intent.failure ??
    { code: "UNKNOWN", message: "no reason given" };
  const code = FAILURE_CODES.has(reason.code) ? reason.code : "TRANSACTION_FAILED";
  const message = `Deposit failed: ${reason.code}: ${reason.message}`;
  throw new RangemakerError(code, message, { details: { ...details, reason } });
}
