/** Why an intent was not submitted, or failed without a receipt; a receipt has the node's own reason. */
import { RangemakerError } from "../errors.ts";
import { failuresOf } from "../protocol/failures.ts";
import type { Hex } from "../protocol/scalars.ts";

/** The intent must not be submitted: it fails with this code, message and details. */
export class IntentRefusedError extends RangemakerError {}

/**
 * The node refuses, or would refuse, transactions for their timestamp.
 *
 * @param aheadMs By how much our clock is ahead of the node's; undefined if the node did not say.
 * @param reason The node's, if it refused one.
 */
export function clocksDifferError(
  aheadMs: number | undefined,
  reason = "it is not known by how much",
): RangemakerError {
  const direction = Number(aheadMs) > 0 ? "ahead of" : "behind";
  const difference = aheadMs === undefined
    ? reason
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
    `Deadline ${deadline} passed before the core node accepted the transaction`,
  /** The deadline passed, and the transaction is so old that the node may have dropped its receipt. */
  RECEIPT_DROPPED: ({ txHash, ageMs }: { txHash: Hex; ageMs: number }) =>
    `Transaction ${txHash} was signed ${Math.floor(ageMs / 60_000)} min ago, and the core node ` +
    "may have dropped its receipt: compare the balances to see whether it was executed",
  /** The node rejected the transaction as invalid and recorded nothing. */
  NODE_REFUSED: ({ reason }: { reason: string; rpcCode: number }) =>
    `Core node refused the transaction: ${reason}`,
});
