/** Codes that bridge and solver may answer, and their statuses; each adds its own. */
import { BODY_CODES, COMMON_ERRORS, type ErrorAnswers } from "../http/error_answers.ts";

/** The codes of services that store intents and submit transactions. */
export const INTENT_ERRORS = {
  ...COMMON_ERRORS,
  DEADLINE_PASSED: { status: 400, retry: "never" },
  INVALID_SIGNATURE: { status: 401, retry: "never" },
  WRONG_CHAIN: { status: 401, retry: "never" },
  // Nothing was done.
  STORE_UNAVAILABLE: { status: 503, retry: "later", advice: "nothing was recorded, try again" },
  STORE_DAMAGED: {
    status: 503,
    retry: "never",
    advice: "nothing was sent; operators: restore the database from a backup",
  },
  CHAIN_MISMATCH: { status: 503, retry: "never" },
  CHAIN_REWOUND: { status: 503, retry: "never" },
  CLOCKS_DIFFER: { status: 503, retry: "later" },
  NODE_UNREACHABLE: { status: 503, retry: "later", advice: "nothing was recorded, try again" },
  NODE_TIMEOUT: { status: 503, retry: "later", advice: "nothing was recorded, try again" },
  NODE_REFUSED: {
    status: 503,
    retry: "never",
    advice: "operators: compare chain ids and clocks",
  },
  // Whether anything was done is unknown.
  OUTCOME_UNKNOWN: { status: 504, retry: "same" },
  RECEIPT_DROPPED: { status: 504, retry: "same" },
  STORE_CONNECTION_LOST: {
    status: 504,
    retry: "same",
    advice: "whether the request was recorded is unknown: the same request may be sent again",
  },
} as const satisfies ErrorAnswers;

/** Codes of every route that reads the store. */
export const STORE_CODES = [
  "STORE_UNAVAILABLE",
  "STORE_DAMAGED",
  "STORE_CONNECTION_LOST",
] as const;

/** Codes of every route that submits an intent. */
export const SUBMISSION_CODES = [
  ...BODY_CODES,
  "DEADLINE_PASSED",
  "INVALID_SIGNATURE",
  "WRONG_CHAIN",
  "NODE_UNREACHABLE",
  "NODE_TIMEOUT",
  "NODE_REFUSED",
  ...STORE_CODES,
  "CHAIN_MISMATCH",
  "CHAIN_REWOUND",
  "CLOCKS_DIFFER",
  "OUTCOME_UNKNOWN",
] as const;
