import type { Receipt } from "../protocol/receipt.ts";
import type { Intent } from "./intent.ts";
import type { TransactionTerms } from "./transactions.ts";

/** The service-specific part of submitting intents. */
export interface IntentHandler {
  /**
   * The transaction that an intent asks for.
   *
   * @throws If its key, its request and the user's signature do not belong together.
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
  wasDoneBefore?(receipt: Receipt): boolean;
  /** Called after each attempt that got no answer. */
  onRetry?(intent: Intent): void;
  /** Called after this process has set a final state. */
  onFinishedByUs?(intent: Intent): void;
  /** Called with each final state that an attempt has led to: another process may have set it. */
  onFinished?(intent: Intent): void;
}
