import { RangemakerError } from "../errors.ts";
import type { Hex } from "../protocol/scalars.ts";

/**
 * How far an intent has come: `accepted` is durable and about to be acted on, `submitted` may have
 * reached the node and waits for its answer, `committed` and `failed` are final.
 */
export type IntentState = "accepted" | "submitted" | "committed" | "failed";

/** A signed transaction as it is kept and sent: always the same bytes. */
export interface SignedTransactionText {
  txHash: Hex;
  /** The transaction as JSON. */
  text: string;
}

/** What an intent is when it is recorded. */
export interface NewIntent {
  /** Decides whether two intents are the same one: unique within the store. */
  key: string;
  /** Whom the intent is for, to list by. */
  subject: string;
  /** What was asked, as JSON. */
  payload: string;
  /** The transaction, where it is signed already; a key must not be used before it is recorded. */
  transaction: SignedTransactionText | null;
  /** Until when the transaction may be sent, Unix milliseconds. */
  expiresAtMs: number;
  createdAtMs: number;
}

/** One thing that must happen exactly once, with all that is known of it. */
export interface Intent extends NewIntent {
  /** Order of recording within the store, for paging. */
  sequence: number;
  state: IntentState;
  /** The node's final receipt as JSON, where it gave one. */
  receipt: string | null;
  failure: IntentFailure | null;
  updatedAtMs: number;
}

/** Why an intent failed: the code is the node's where it gave a receipt, else the submitter's own. */
export interface IntentFailure {
  code: string;
  message: string;
}

/** How an intent ends. */
export interface IntentOutcome {
  state: "committed" | "failed";
  receipt: string | null;
  failure: IntentFailure | null;
}

/** What {@link IntentStore.insert} did: false gives the intent that has the key already. */
export interface Insertion {
  inserted: boolean;
  intent: Intent;
}

/**
 * Durable intents. What a method has resolved for survives the death of the process and of the
 * machine. Several processes may share a store: its unique key and its conditional updates decide,
 * never what one of them remembers. Nothing is deleted, for a key that was used stays used: a
 * deposit takes about 1.5 KB of SQLite for good.
 *
 * Every method throws {@link StoreError} where the store cannot do it, and then has done nothing;
 * only after a {@link StoreConnectionLostError} it may have.
 */
export interface IntentStore {
  /** Records an intent unless its key is taken. */
  insert(intent: NewIntent): Promise<Insertion>;
  /** The intent with a key. */
  find(key: string): Promise<Intent | undefined>;
  /** A subject's intents, newest first, `sequence` below `before` where that is given. */
  listBySubject(
    subject: string,
    page: { limit: number; before?: number },
  ): Promise<Intent[]>;
  /** Intents without a final state, oldest first, `sequence` above `after`, unchanged since a time. */
  listUnfinished(
    page: { limit: number; after: number; updatedAtMostMs: number },
  ): Promise<Intent[]>;
  /** How many intents have no final state. */
  countUnfinished(): Promise<number>;
  /**
   * Gives an unfinished intent its transaction, in place of the one it was read with if any, and
   * makes it `submitted`.
   *
   * @returns The intent as it then is: with another transaction where someone else was first.
   */
  setTransaction(
    intent: Intent,
    transaction: SignedTransactionText,
    nowMs: number,
  ): Promise<Intent>;
  /**
   * Notes that an attempt at an intent ended without an answer: it is `submitted` where it has a
   * transaction. A finished one is left alone.
   */
  noteAttempt(key: string, nowMs: number): Promise<Intent>;
  /**
   * Gives an intent its final state, if it has none and still has the transaction it was read with.
   *
   * @returns The intent as it then is: the first final state stands.
   */
  finish(intent: Intent, outcome: IntentOutcome, nowMs: number): Promise<Intent>;
  /** Whether the store can be written to now. */
  check(): Promise<void>;
  /** Ends the connection; what is under way is finished first. */
  close(): Promise<void>;
}

/** What a new intent is once a store has recorded it. */
export function recordedIntent(intent: NewIntent, sequence: number): Intent {
  const { createdAtMs: updatedAtMs } = intent;
  return { ...intent, sequence, state: "accepted", receipt: null, failure: null, updatedAtMs };
}

/** The store cannot do what was asked; nothing was changed by it. */
export class StoreError extends RangemakerError {
  constructor(message: string, cause?: unknown, code: string = "STORE_UNAVAILABLE") {
    super(code, message, { cause, retryable: true });
  }
}

/** The connection broke while a statement was under way: whether it was carried out is unknown. */
export class StoreConnectionLostError extends StoreError {
  constructor(cause: unknown) {
    super(
      "Database connection was lost: whether the request was recorded is unknown, and the same " +
        "request may be sent again",
      cause,
      "STORE_CONNECTION_LOST",
    );
  }
}

/** Whether nothing more will happen to an intent. */
export function isFinal(state: IntentState): state is IntentOutcome["state"] {
  return state === "committed" || state === "failed";
}
