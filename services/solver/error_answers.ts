import type { ErrorAnswer, ErrorAnswers } from "../../lib/http/error_answers.ts";
import { INTENT_ERRORS } from "../../lib/intents/error_answers.ts";
import { PRICING_REFUSALS, type PricingRefusal } from "./pricing/strategy.ts";

/** Answers of bets without a price: 503 if the same bet may have one later. */
const PRICING_ERRORS = Object.fromEntries(
  Object.entries(PRICING_REFUSALS).map(([code, retry]) => {
    const status = retry === "later" ? 503 : 400;
    return [code, { status, retry }];
  }),
) as Record<PricingRefusal, ErrorAnswer>; // each refusal has its answer

/** How each error code of the solver is answered. */
export const SOLVER_ERRORS = {
  ...INTENT_ERRORS,
  ...PRICING_ERRORS,
  // The request breaks a rule.
  UNSUPPORTED_PAIR: { status: 400, retry: "never" },
  BET_TOO_SMALL: { status: 400, retry: "never" },
  BET_TOO_LARGE: { status: 400, retry: "never" },
  DURATION_TOO_LONG: { status: 400, retry: "never" },
  INVALID_PRICE_RANGE: { status: 400, retry: "never" },
  INVALID_TIME_RANGE: { status: 400, retry: "never" },
  RISK_TOO_LARGE: { status: 400, retry: "never" },
  INSUFFICIENT_BALANCE: { status: 400, retry: "never" },
  // The time has moved on.
  DEADLINE_PASSED: { status: 400, retry: "new_quote" },
  // The solver does not execute now.
  PRICE_STALE: { status: 503, retry: "later" },
  EXPOSURE_UNKNOWN: { status: 503, retry: "later" },
  EXPOSURE_TOO_LARGE: { status: 503, retry: "later" },
  BALANCE_TOO_LOW: { status: 503, retry: "later" },
  HEDGE_REFUSED: { status: 503, retry: "new_quote" },
  DRY_RUN: { status: 503, retry: "never" },
} as const satisfies ErrorAnswers;
