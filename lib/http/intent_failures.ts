/** The codes of services that store intents and submit transactions: bridge and solver. */
import {
  BODY_FAILURES,
  COMMON_STATUSES,
  type ErrorAdvice,
  type ErrorStatuses,
  NODE_FAILURES,
} from "./failures.ts";

export const INTENT_STATUSES = {
  ...COMMON_STATUSES,
  DEADLINE_PASSED: 400,
  INVALID_SIGNATURE: 401,
  WRONG_CHAIN: 401,
  // Nothing was done. All but NODE_REFUSED end when the store, the node or the clocks work again.
  STORE_UNAVAILABLE: 503,
  STORE_DAMAGED: 503,
  CHAIN_MISMATCH: 503,
  CHAIN_REWOUND: 503,
  CLOCKS_DIFFER: 503,
  NODE_UNREACHABLE: 503,
  NODE_TIMEOUT: 503,
  NODE_REFUSED: 503,
  // Whether anything was done is unknown.
  OUTCOME_UNKNOWN: 504,
  RECEIPT_DROPPED: 504,
  STORE_CONNECTION_LOST: 504,
} as const satisfies ErrorStatuses;

/** Advice to callers, added to the failures of node and store. */
export const INTENT_ADVICE = {
  STORE_UNAVAILABLE: "nothing was recorded, try again",
  STORE_DAMAGED: "nothing was sent; operators: restore the database from a backup",
  NODE_UNREACHABLE: "nothing was recorded, try again",
  NODE_TIMEOUT: "nothing was recorded, try again",
  NODE_REFUSED: "operators: see whether the node has paused, and compare chain ids and clocks",
} as const satisfies ErrorAdvice;

/** Codes of every route that reads the store. */
export const STORE_FAILURES = [
  "STORE_UNAVAILABLE",
  "STORE_DAMAGED",
  "STORE_CONNECTION_LOST",
] as const;

/** Codes of every route that submits an intent. */
export const SUBMISSION_FAILURES = [
  ...BODY_FAILURES,
  "DEADLINE_PASSED",
  "INVALID_SIGNATURE",
  "WRONG_CHAIN",
  ...NODE_FAILURES,
  ...STORE_FAILURES,
  "CHAIN_MISMATCH",
  "CHAIN_REWOUND",
  "OUTCOME_UNKNOWN",
] as const;
