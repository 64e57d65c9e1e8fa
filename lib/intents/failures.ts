/** Why an intent was not submitted, or failed without a receipt. */
import { errorsOf, RangemakerError } from "../errors.ts";
import type { Hex } from "../protocol/scalars.ts";

/** The intent must not be submitted: it fails with this code, message and details. */
export class IntentRefusedError extends RangemakerError {}

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
