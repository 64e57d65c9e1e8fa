import type { Logger } from "@logtape/logtape";
import type { Clock, RandomSource } from "../clock.ts";
import type { CoreClient } from "../net/core_client.ts";
import type { ChainGuard } from "./chain_guard.ts";
import type { Intent, SignedTransactionText } from "./intent.ts";
import type { IntentStore } from "./store.ts";
import type { Receipt } from "../protocol/receipt.ts";
import { isSignedBy } from "../protocol/signature.ts";
import {
  type Deposit,
  hashTransaction,
  type RfqSubmit,
  signTransactionBy,
  type Transaction,
  transactionSchema,
  type TransactionSigner,
  transactionToText,
} from "../protocol/transaction.ts";

/** The part of a core node that a submitter needs. */
export type SubmissionNode = Pick<
  CoreClient,
  "url" | "sendTransactionText" | "getTransaction" | "getHead"
>;

/** The service-specific part of submitting intents. */
export interface IntentHandler {
  /**
   * The transaction that an intent asks for.
   *
   * @throws If its key, its request and the user's signature do not belong together; an
   * `IntentRefusedError` if they do, but the intent must not be submitted.
   */
  termsOf(intent: Intent): TransactionTerms;
  /**
   * Runs before the transaction of an intent is signed, such as a hedge. It may run several times
   * for one intent, so it must be idempotent.
   *
   * @throws {IntentRefusedError} If the intent must not be submitted after all.
   */
  beforeSigning?(intent: Intent): Promise<void>;
  /**
   * Whether a failed receipt says that an earlier transaction, which the store has lost, did what
   * the intent asks for.
   */
  isDoneBefore?(receipt: Receipt): boolean;
  /** Called after each attempt that got no answer. */
  onRetry?(intent: Intent): void;
  /** Called after this process has set a final state. */
  onFinished?(intent: Intent): void;
  /** Called with each final state that an attempt found or set: another process may have set it. */
  onFinalStateSeen?(intent: Intent): void;
}

export interface SubmitterOptions {
  store: IntentStore;
  node: SubmissionNode;
  clock: Clock;
  random: RandomSource;
  log: Logger;
  handler: IntentHandler;
  transactions: Pick<TransactionBuilder, "sign" | "requireOwn">;
  /** Checks that the node has the store's chain; otherwise nothing is sent and no answer counts. */
  guard: Pick<ChainGuard, "requireChain" | "onCommitted" | "clocks">;
}

type Unsigned<T extends Transaction> = Omit<T, "timestamp" | "from" | "signature">;

export interface SubmitOptions {
  /** This process has just recorded the intent, so it need not be verified. */
  isNew?: boolean;
}

/** A transaction without its time, sender and signature. */
export type TransactionTerms = Unsigned<Deposit> | Unsigned<RfqSubmit>;

/** When a transaction was signed, Unix milliseconds. */
export function timestampOf(text: string): number {
  return transactionSchema.parse(JSON.parse(text)).timestamp;
}

/** Signs the transactions of a service, and checks transactions that it signed before. */
export class TransactionBuilder {
  readonly #signer: TransactionSigner;
  readonly #chainId: number;
  readonly #clock: Clock;

  constructor(signer: TransactionSigner, chainId: number, clock: Clock) {
    this.#signer = signer;
    this.#chainId = chainId;
    this.#clock = clock;
  }

  /** Signs a transaction with the present time. */
  async sign(terms: TransactionTerms): Promise<SignedTransactionText> {
    const unsigned = { ...terms, timestamp: this.#clock.now(), from: this.#signer.address };
    const { tx, txHash } = await signTransactionBy(unsigned, this.#signer, this.#chainId);
    return { txHash, text: transactionToText(tx) };
  }

  /**
   * Checks that a stored transaction is one that this service signed for these terms. Only the
   * timestamp may differ, and the relayer of a deposit: the bridge may have had another key then,
   * or another bridge on the same database has it.
   *
   * @throws {TypeError} If it is not.
   */
  requireOwn(terms: TransactionTerms, { txHash, text }: SignedTransactionText): void {
    const stored = transactionSchema.parse(JSON.parse(text));
    const from = stored.type === "Deposit" ? stored.from : this.#signer.address;
    const expected = { ...terms, timestamp: stored.timestamp, from };
    const isSame = hashTransaction(stored, this.#chainId) === txHash &&
      hashTransaction(expected, this.#chainId) === txHash &&
      isSignedBy(from, txHash, stored.signature);
    if (!isSame) throw new TypeError("its transaction differs from the signed one");
  }
}
