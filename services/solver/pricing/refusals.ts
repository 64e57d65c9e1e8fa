import { RequestError } from "../../../lib/http/envelope.ts";
import type { PricingDetails } from "./details.ts";

/** Codes of quotes and estimates that a strategy refuses, with their HTTP status. */
export const QUOTE_REFUSALS = {
  /** The price of the market is unknown, or too old. */
  PRICE_UNAVAILABLE: 503,
  /** Too little price history, or none up to now. */
  VOLATILITY_UNAVAILABLE: 503,
  /** The window has begun, and not every price of it so far is known. */
  HISTORY_UNAVAILABLE: 503,
  /** The window has begun, and a price was outside the range: the user cannot win. */
  RANGE_BROKEN: 400,
  /** The price is outside the range now. */
  OUTSIDE_RANGE: 400,
  /** The range is only a few of the smallest price moves wide. */
  RANGE_TOO_NARROW: 400,
  /** The window is over. */
  WINDOW_ENDED: 400,
  /** The duration is below the strategy's own minimum. */
  DURATION_TOO_SHORT: 400,
  /** The payout would not be more than the bet: the user could only lose. */
  PAYOUT_TOO_LOW: 400,
} as const;

/** All codes of a strategy: those of quotes may occur when a quote is executed too. */
const PRICING_REFUSALS = {
  ...QUOTE_REFUSALS,
  /** The price moved in the user's favour since the quote: it would cost the maker its margin. */
  PRICE_MOVED: 400,
  /** The price moved against the user since the quote: a new quote pays more. */
  PRICE_IMPROVED: 400,
} as const;

/** Why a strategy gives no price. */
export type PricingRefusal = keyof typeof PRICING_REFUSALS;

/** A bet without a price: the answer to a quote is `<CODE>: <reason>`. */
export class PricingRefusedError extends RequestError {
  /** What is wrong, without the code. */
  readonly reason: string;
  /** What the model knows of the bet, where it could be priced. */
  readonly pricing: PricingDetails | undefined;

  constructor(code: PricingRefusal, reason: string, pricing?: PricingDetails) {
    super(PRICING_REFUSALS[code], code, `${code}: ${reason}`);
    this.reason = reason;
    this.pricing = pricing;
  }
}
