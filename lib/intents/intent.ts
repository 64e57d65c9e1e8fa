import { errorsOf, messageOf, RangemakerError } from "../errors.ts";
import type { Hex } from "../protocol/scalars.ts";
import { isDamage } from "../sqlite.ts";

/**
 * How far an intent has come: `accepted` is durable but not sent yet, `submitted` may have reached
 * the node and has no answer yet, `committed` and `failed` are final.
 */
export const INTENT_STATES = ["accepted", "submitted", "committed", "failed"] as const;

export type IntentState = (typeof INTENT_STATES)[number];

/** A signed transaction as it is stored; each attempt sends this one. */
export interface SignedTransactionText {
  txHash: Hex;
  /** The transaction as JSON. */
  text: string;
}

export interface NewIntent {
  /** Identifies the intent: unique among the intents of a service. */
  key: string;
  /** The user that the intent is listed under. */
  user: string;
  /** The request, as JSON. */
  payload: string;
  /** The transaction, if one is signed already. */
  transaction: SignedTransactionText | null;
  /** The transaction may be sent until then, Unix milliseconds. */
  expiresAtMs: number;
  createdAtMs: number;
}

/** One thing that must happen exactly once, and its progress. */
export interface Intent extends NewIntent {
  /** Increases with every intent of the database; the cursor of pages. */
  sequence: number;
  state: IntentState;
  /** The node's final receipt as JSON, if it sent one. */
  receipt: string | null;
  failure: IntentFailure | null;
  /** It counts against a bound that all processes of a service share; see {@link Reservation}. */
  reserved: boolean;
  updatedAtMs: number;
}

/** Why an intent failed: the code is the node's if there is a receipt, else the submitter's. */
export interface IntentFailure {
  code: string;
  message: string;
  /** The facts in the message, as JSON has them; absent if there are none. */
  details?: Readonly<Record<string, unknown>> | undefined;
}

export interface IntentOutcome {
  state: "committed" | "failed";
  receipt: string | null;
  failure: IntentFailure | null;
}

export function failureOf({ code, message, details }: RangemakerError): IntentFailure {
  return Object.keys(details).length === 0 ? { code, message } : { code, message, details };
}

/** Failures without a receipt; a receipt has the node's own. */
export const submissionFailure = errorsOf({
  DEADLINE_PASSED: ({ deadline }: { deadline: number }) =>
    `Deadline ${deadline} passed before the core node accepted the transaction`,
  /** The deadline passed so long ago that the node may have dropped the receipt. */
  RECEIPT_DROPPED: ({ txHash, ageMs }: { txHash: Hex; ageMs: number }) =>
    `Transaction ${txHash} was signed ${Math.floor(ageMs / 60_000)} min ago, and the core node ` +
    "may have dropped its receipt: compare the balances to see whether it was executed",
  /** The node rejected the transaction as invalid and recorded nothing. */
  NODE_REFUSED: ({ reason }: { reason: string; rpcCode: number }) =>
    `Core node refused the transaction: ${reason}`,
});

/** Result of an insert: if the key is taken, `intent` is the existing intent. */
export interface Insertion {
  inserted: boolean;
  intent: Intent;
}

/** An intent's claim on a limit that all processes of a service share. */
export interface Reservation {
  sequence: number;
  key: string;
  payload: string;
}

/** Which intents of a service were unfinished at a moment. */
export interface InFlight {
  keys: ReadonlySet<string>;
  /** Sequence of the newest intent, finished or not; 0 if there was none. */
  newestSequence: number;
}

/** A process's own count of the reservations that all processes of its service made. */
export interface ReservationBook {
  readonly reservedKeys: Iterable<string>;
  isReserved(key: string): boolean;
  /** Counts a reservation that was read from the database. Does nothing if it counts already. */
  addReservation(reservation: Reservation): void;
  /** Stops counting a reservation. */
  release(key: string): void;
}

/**
 * Decides whether a reservation fits beside all active ones, in the transaction that records it, so
 * that no other process can decide in between.
 */
export interface Admission {
  /** The same one for all admissions of a store. */
  book: ReservationBook;
  /** Intents under way before the caller read the facts for its decision, such as a balance. */
  inFlightBefore: InFlight;
  /**
   * Counts the reservation in the book, or throws to refuse: then nothing is recorded. The first
   * refusal is retried with a fresh book, since other processes may have released what it counted.
   *
   * @param inFlight Keys of all other intents that were unfinished since `inFlightBefore`.
   */
  decide(inFlight: ReadonlySet<string>): void;
}

/** The state of a new intent once it is recorded. */
export function acceptedIntent(intent: NewIntent, sequence: number, reserved: boolean): Intent {
  const fresh = { state: "accepted" as const, receipt: null, failure: null };
  return { ...intent, ...fresh, sequence, reserved, updatedAtMs: intent.createdAtMs };
}

/** Whether a recorded intent is this one, and not another request for the same key. */
export function isSameIntent(
  recorded: Intent,
  { payload, transaction, createdAtMs }: NewIntent,
): boolean {
  return recorded.payload === payload && recorded.createdAtMs === createdAtMs &&
    recorded.transaction?.txHash === transaction?.txHash;
}

/** Whether an intent in this state is finished and can no longer change. */
export function isFinal(state: IntentState): state is IntentOutcome["state"] {
  return state === "committed" || state === "failed";
}

/** The store failed and changed nothing. */
export class StoreError extends RangemakerError {
  constructor(message: string, cause?: unknown, code: string = "STORE_UNAVAILABLE") {
    super(code, message, { cause });
  }
}

/** The connection broke during a statement: it is unknown whether the statement took effect. */
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

/**
 * The database, or one row of it, is not as it was written. Treat it as unreadable: nothing that
 * depends on it is signed or sent.
 */
export class StoreDamagedError extends StoreError {
  /** Key of the damaged row; undefined if the damage is not in one row. */
  readonly key: string | undefined;

  constructor(message: string, key?: string, cause?: unknown) {
    super(message, cause, "STORE_DAMAGED");
    this.key = key;
  }
}

export function rowDamaged(
  key: string | undefined,
  reason: string,
  cause?: unknown,
): StoreDamagedError {
  return new StoreDamagedError(`Row ${key} of the database is damaged: ${reason}`, key, cause);
}

/** The intent must not be submitted: it fails with this code, message and details. */
export class IntentRefusedError extends RangemakerError {}

/** The node may or may not have acted; the submitter keeps trying. */
export class OutcomeUnknownError extends RangemakerError {
  constructor(txHash: Hex | null, cause: unknown) {
    super(
      "OUTCOME_UNKNOWN",
      `Outcome of ${txHash === null ? "the request" : `transaction ${txHash}`} is unknown: ` +
        `the same request may be sent again (${messageOf(cause)})`,
      { cause, details: { txHash } },
    );
  }
}

/** Converts an error of a database driver to a {@link StoreError}. */
export function asStoreError(cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause;
  if (isDamage(cause)) {
    return new StoreDamagedError(`Database is damaged: ${describeCause(cause)}`, undefined, cause);
  }
  return new StoreError(`Database failed: ${describeCause(cause)}`, cause);
}

/** Why a database driver failed. */
export function describeCause(cause: unknown): string {
  // An error for several addresses of one host has a code and no message.
  return messageOf(cause) || codeOf(cause) || "no reason given";
}

/** The code of a driver's or the system's error, if it has one. */
export function codeOf(cause: unknown): string {
  return cause instanceof Error && "code" in cause ? String(cause.code) : "";
}
