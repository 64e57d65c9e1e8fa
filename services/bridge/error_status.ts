import type { ErrorStatuses } from "../../lib/http/failures.ts";
import { INTENT_STATUSES } from "../../lib/intents/error_status.ts";

/** HTTP status of each error code of the bridge. */
export const BRIDGE_STATUSES = {
  ...INTENT_STATUSES,
  NONCE_USED: 409,
  // The signer at --signer-url; nothing was recorded.
  SIGNER_UNAVAILABLE: 503,
  // The node's final answer about the deposit transaction.
  PERMISSION_DENIED: 503,
  TRANSACTION_FAILED: 503,
} as const satisfies ErrorStatuses;
