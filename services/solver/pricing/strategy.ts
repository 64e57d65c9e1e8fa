import { z } from "zod";
import { uint64Schema } from "../../../lib/protocol/scalars.ts";
import { RangemakerError } from "../../../lib/errors.ts";
import type { BetTerms } from "../../../lib/protocol/terms.ts";

/** The strategies that `--pricing` takes. */
export const STRATEGY_NAMES = ["mock", "barrier"] as const;

/** Name of a strategy; `GET /info` tells which is in use. */
export type StrategyName = (typeof STRATEGY_NAMES)[number];

/** How a price came about: `pricing` of quotes and estimates. */
export const pricingDetailsSchema = z.object({
  probability: z.number().describe("By the model, that the user wins"),
  chargedProbability: z.number()
    .describe(
      "The same with the volatility lowered by the vega charge: what the payout is made of",
    ),
  volatility: z.number().describe("A year"),
  spot: uint64Schema.describe("Price of now, 6 decimals"),
  margin: z.number(),
  vegaCharge: z.number(),
}).meta({ id: "Pricing", description: "How a price came about, with `--pricing barrier`" });

/** The details of a price as JSON carries them. */
export type PricingDetails = z.input<typeof pricingDetailsSchema>;

/** The price of a bet. */
export interface Price {
  /** Total payout if the user wins, in the unit of the bet; never below the bet. */
  payout: bigint;
  /** Undefined where the strategy looks at nothing. */
  details?: PricingDetails;
}

/** How bets are priced. */
export interface PricingStrategy {
  readonly name: StrategyName;
  /** @throws {PricingRefusedError} If this bet has no price, or has none now. */
  price(bet: BetTerms): Price;
  /**
   * Looks at a quote again before it is executed: its user has had time to see where the price goes.
   *
   * @param payout What the quote promises.
   * @throws {PricingRefusedError} If the same bet must not be taken at that payout any more.
   */
  recheck(bet: BetTerms, payout: bigint): void;
}

/** Codes of quotes and estimates that a strategy refuses; the value says whether time may help. */
const QUOTE_REFUSALS = {
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
  /** The window is over. */
  WINDOW_ENDED: false,
} as const;

/** All codes of a strategy: those of quotes may come when one is executed too. */
const PRICING_REFUSALS = {
  ...QUOTE_REFUSALS,
  /** The bet has become worth more than it costs since it was quoted. */
  PRICE_MOVED: false,
} as const;

/** Why a strategy gives no price. */
export type PricingRefusal = keyof typeof PRICING_REFUSALS;

/** A bet without a price. */
export class PricingRefusedError extends RangemakerError {
  constructor(code: PricingRefusal, message: string) {
    super(code, message, { retryable: PRICING_REFUSALS[code] });
  }
}
