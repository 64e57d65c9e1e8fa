import { RangemakerError, type RangemakerErrorOptions } from "../../../lib/errors.ts";
import type { PricingDetails } from "./details.ts";

/** Codes of refused quotes and estimates; the value says whether a later attempt may succeed. */
export const QUOTE_REFUSALS = {
  /** The price of the market is unknown, or too old. */
  PRICE_UNAVAILABLE: true,
  /** Too little price history, or none up to now. */
  VOLATILITY_UNAVAILABLE: true,
  /** The window has begun, and not every price of it so far is known. */
  HISTORY_UNAVAILABLE: true,
  /** The window has begun, and a price was outside the range: the user cannot win. */
  RANGE_BROKEN: false,
  /** The price is outside the range now. */
  OUTSIDE_RANGE: false,
  /** The range is only a few of the smallest price moves wide. */
  RANGE_TOO_NARROW: false,
  /** The window is over. */
  WINDOW_ENDED: false,
  /** The duration is below the strategy's own minimum. */
  DURATION_TOO_SHORT: false,
  /** The payout would not be more than the bet: the user could only lose. */
  PAYOUT_TOO_LOW: false,
} as const;

/** All codes of a strategy: those of quotes may occur when a quote is executed too. */
const PRICING_REFUSALS = {
  ...QUOTE_REFUSALS,
  /** The price moved in the user's favour since the quote: it would cost the maker its margin. */
  PRICE_MOVED: false,
  /** The price moved against the user since the quote: a new quote pays more. */
  PRICE_IMPROVED: false,
} as const;

/** The reason why a strategy has no price. */
export type PricingRefusal = keyof typeof PRICING_REFUSALS;

/** A bet without a price. */
export class PricingRefusedError extends RangemakerError {
  /** The model's details of the bet, if it could be priced. */
  readonly pricing: PricingDetails | undefined;

  constructor(
    code: PricingRefusal,
    message: string,
    { pricing, details }:
      & Pick<RangemakerErrorOptions, "details">
      & { pricing?: PricingDetails } = {},
  ) {
    super(code, message, { retryable: PRICING_REFUSALS[code], ...(details && { details }) });
    this.pricing = pricing;
  }
}
