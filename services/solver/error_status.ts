import type { ErrorStatuses } from "../../lib/http/failures.ts";
import { INTENT_STATUSES } from "../../lib/intents/error_status.ts";

/** HTTP status of each error code of the solver. */
export const SOLVER_STATUSES = {
  ...INTENT_STATUSES,
  // The request breaks a rule.
  UNSUPPORTED_PAIR: 400,
  BET_TOO_SMALL: 400,
  BET_TOO_LARGE: 400,
  DURATION_TOO_SHORT: 400,
  DURATION_TOO_LONG: 400,
  INVALID_PRICE_RANGE: 400,
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
  // Nothing was done; the same request may succeed later.
  DRY_RUN: 503,
  PRICE_UNAVAILABLE: 503,
  VOLATILITY_UNAVAILABLE: 503,
  HISTORY_UNAVAILABLE: 503,
  PRICE_STALE: 503,
  HEDGE_REFUSED: 503,
  EXPOSURE_UNKNOWN: 503,
  EXPOSURE_TOO_LARGE: 503,
  BALANCE_TOO_LOW: 503,
} as const satisfies ErrorStatuses;
