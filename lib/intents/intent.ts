import type { RangemakerError } from "../errors.ts";
import type { Hex } from "../protocol/scalars.ts";

/**
 * How far an intent has come: `accepted` is durable but not sent yet, `submitted` may have reached
 * the node and has no answer yet, `committed` and `failed` are final.
 */
export const INTENT_STATES = ["accepted", "submitted", "committed", "failed"] as const;

export type IntentState = (typeof INTENT_STATES)[number];

/** A signed transaction as it is stored; attempts send it until the node refuses it for its age. */
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

/** Why an intent failed or was done before: the node's code, or the submitter's without one. */
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

/** Result of an insert: if the key is taken, `intent` is the existing intent. */
export interface InsertResult {
  inserted: boolean;
  intent: Intent;
}

/** An intent's claim on a limit that all processes of a service share. */
export type Reservation = Pick<Intent, "key" | "payload">;

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
