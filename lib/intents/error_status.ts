import { COMMON_STATUSES, type ErrorStatuses } from "../http/failures.ts";

/** HTTP statuses of bridge and solver, which store intents and submit transactions. */
export const INTENT_STATUSES = {
  ...COMMON_STATUSES,
  DEADLINE_PASSED: 400,
  INVALID_SIGNATURE: 401,
  WRONG_CHAIN: 401,
  // Nothing was done; the same request may succeed later.
  STORE_UNAVAILABLE: 503,
  STORE_DAMAGED: 503,
  CHAIN_MISMATCH: 503,
  CHAIN_REWOUND: 503,
  NODE_UNREACHABLE: 503,
  NODE_TIMEOUT: 503,
  NODE_REFUSED: 503,
  // Whether anything was done is unknown.
  OUTCOME_UNKNOWN: 504,
  RECEIPT_DROPPED: 504,
  STORE_CONNECTION_LOST: 504,
} as const satisfies ErrorStatuses;
