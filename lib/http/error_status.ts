import type { ContentfulStatusCode } from "hono/utils/http-status";

/** HTTP status of each error code. A code that is not listed is a fault of our own: 500. */
const STATUS_OF_CODE = {
  // The request is wrong, or breaks a rule.
  INVALID_REQUEST: 400,
  UNSUPPORTED_PAIR: 400,
  BET_TOO_SMALL: 400,
  BET_TOO_LARGE: 400,
  DURATION_TOO_SHORT: 400,
  DURATION_TOO_LONG: 400,
  INVALID_PRICE_RANGE: 400,
  DEADLINE_PASSED: 400,
  RISK_TOO_LARGE: 400,
  RANGE_BROKEN: 400,
  OUTSIDE_RANGE: 400,
  RANGE_TOO_NARROW: 400,
  PAYOUT_TOO_LOW: 400,
  WINDOW_ENDED: 400,
  PRICE_MOVED: 400,
  PRICE_IMPROVED: 400,
  INVALID_TIME_RANGE: 400,
  INSUFFICIENT_BALANCE: 400,
  INVALID_SIGNATURE: 401,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  NONCE_USED: 409,
  DEPOSIT_ALREADY_PROCESSED: 409,
  BODY_TOO_LARGE: 413,
  UPGRADE_REQUIRED: 426,
  RATE_LIMITED: 429,
  // Nothing was done; the same request may succeed later.
  STARTING: 503,
  DRY_RUN: 503,
  PRICE_UNAVAILABLE: 503,
  VOLATILITY_UNAVAILABLE: 503,
  HISTORY_UNAVAILABLE: 503,
  PRICE_STALE: 503,
  HEDGE_REFUSED: 503,
  EXPOSURE_UNKNOWN: 503,
  EXPOSURE_TOO_LARGE: 503,
  BALANCE_TOO_LOW: 503,
  STORE_UNAVAILABLE: 503,
  CHAIN_MISMATCH: 503,
  NODE_UNREACHABLE: 503,
  NODE_TIMEOUT: 503,
  // The node's final answer about our own transaction.
  NODE_REFUSED: 503,
  PERMISSION_DENIED: 503,
  TRANSACTION_FAILED: 503,
  // Whether anything was done is unknown.
  OUTCOME_UNKNOWN: 504,
  RECEIPT_DROPPED: 504,
  STORE_CONNECTION_LOST: 504,
} as const satisfies Record<string, ContentfulStatusCode>;

/** An error code of an HTTP API. */
export type HttpErrorCode = keyof typeof STATUS_OF_CODE;

/** HTTP status of an error code, or undefined for a fault of our own. */
export function statusOfCode(code: string): ContentfulStatusCode | undefined {
  return Object.hasOwn(STATUS_OF_CODE, code) ? STATUS_OF_CODE[code as HttpErrorCode] : undefined;
}
