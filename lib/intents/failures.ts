/** Why an intent was not submitted, or failed without a receipt; a receipt has the node's own reason. */
import { RangemakerError } from "../errors.ts";
import { failuresOf } from "../protocol/failures.ts";
import type { Hex } from "../protocol/scalars.ts";
import {
  BODY_FAILURES,
  COMMON_STATUSES,
  type ErrorAdvice,
  type ErrorStatuses,
  NODE_FAILURES,
} from "../http/failures.ts";

/** The intent must not be submitted: it fails with this code, message and details. */
export class IntentRefusedError extends RangemakerError {}

/**
 * The node refuses, or would refuse, transactions for their timestamp.
 *
 * @param aheadMs By how much our clock is ahead of the node's; undefined if the node did not say.
 * @param refusal The node's reason, if it refused one.
 */
export function clocksDifferError(
  aheadMs: number | undefined,
  refusal = "no block says by how much",
): RangemakerError {
  const direction = Number(aheadMs) > 0 ? "ahead of" : "behind";
  const difference = aheadMs === undefined
    ? refusal
    : `it is ${Math.abs(aheadMs)} ms ${direction} that of the core node`;
  return new RangemakerError(
    "CLOCKS_DIFFER",
    `The clock of this machine is wrong, or that of the core node: ${difference}. Transactions wait ` +
      "until their deadline: synchronise both clocks (NTP)",
    { retryable: true },
  );
}

/** Failures without a receipt; a receipt has the node's own. */
export const submissionFailure = failuresOf({
  DEADLINE_PASSED: ({ deadline }: { deadline: number }) =>
    `Deadline ${deadline} passed before the core node took it`,
  /** The deadline passed, and the transaction is so old that the node may have dropped its receipt. */
  RECEIPT_DROPPED: ({ txHash, ageMs }: { txHash: Hex; ageMs: number }) =>
    `Transaction ${txHash} was signed ${Math.floor(ageMs / 3_600_000)} h ago, and the core node ` +
    "may have dropped its receipt: compare the balances to see whether it took it",
  /** The node rejected the transaction as invalid and recorded nothing. */
  NODE_REFUSED: ({ reason }: { reason: string; rpcCode: number }) =>
    `Core node refused the transaction: ${reason}`,
});

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
  CLOCKS_DIFFER: 503,
  NODE_UNREACHABLE: 503,
  NODE_TIMEOUT: 503,
  NODE_REFUSED: 503,
  // Whether anything was done is unknown.
  OUTCOME_UNKNOWN: 504,
  RECEIPT_DROPPED: 504,
  STORE_CONNECTION_LOST: 504,
} as const satisfies ErrorStatuses;

/** What callers are told beside the failures that node and store report. */
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
