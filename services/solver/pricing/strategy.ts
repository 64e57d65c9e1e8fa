import { z } from "zod";
import type { Clock } from "../../../lib/clock.ts";
import { RangemakerError, type RangemakerErrorOptions, type Retry } from "../../../lib/errors.ts";
import type { PriceReader } from "../../../lib/prices/price_slots.ts";
import type { Market, Markets } from "../../../lib/protocol/markets.ts";
import { described, uint64Schema } from "../../../lib/protocol/scalars.ts";
import type { Bet } from "../../../lib/protocol/bet.ts";
import type { VolatilityForecaster } from "./volatility_forecast.ts";

/**
 * Version of {@link PricingStrategy} and {@link StrategyContext}; incompatible changes raise it.
 */
const STRATEGY_VERSION = 1;

/** The built-in strategies: how each prices, for the help. */
export const STRATEGIES = {
  mock: "1.05 to 1.10 times the bet at random",
  barrier: "by a model of the price",
} as const;

/** Whether a value of `--pricing` names a built-in strategy, not a file. */
export function isBuiltIn(pricing: string): boolean {
  return Object.hasOwn(STRATEGIES, pricing);
}

/** The explanation of a price: `pricing` of quotes and estimates. */
export const pricingDetailsSchema = z.object({
  probability: z.number().describe("Probability that the user wins, by the model"),
  chargedProbability: z.number()
    .describe(
      "Probability if the price stays inside until the execution's recheck; sets the payout",
    ),
  volatility: z.number().describe("Annualised, forecast for the rest of the window"),
  volatilitySpread: z.number()
    .describe("Standard deviation of the logarithm of the volatility; prices are averaged over it"),
  stillShare: z.number()
    .describe("Probability that the price does not move from one 100 ms slot to the next"),
  spot: described(uint64Schema, "Current price, 6 decimals"),
  spotAgeMs: z.number().int().nonnegative().describe("Age of that price, milliseconds"),
  margin: z.number(),
  skew: z.number()
    .describe("Share of the winnings that is withheld because the solver holds similar bets"),
}).meta({ id: "Pricing", description: "Explanation of a price, with `--pricing barrier`" });

/** The details of a price in JSON form. */
export type PricingDetails = z.input<typeof pricingDetailsSchema>;

export interface PricedBet {
  /** Total payout if the user wins, in the unit of the bet. */
  payout: bigint;
  /** The explanation of the price; undefined if the strategy has none. */
  details?: PricingDetails;
}

/** Codes of bets without a price, and how to try again. */
export const PRICING_REFUSALS = {
  /** The price of the market is unknown, or too old. */
  PRICE_UNAVAILABLE: "later",
  /** Too little price history, or none up to now. */
  VOLATILITY_UNAVAILABLE: "later",
  /** The window has begun, and not every price of it so far is known. */
  HISTORY_UNAVAILABLE: "later",
  /** The window has begun, and a price was outside the range: the user cannot win. */
  RANGE_BROKEN: "new_quote",
  OUTSIDE_RANGE: "new_quote",
  /** The range is only a few of the smallest price moves wide. */
  RANGE_TOO_NARROW: "never",
  WINDOW_ENDED: "never",
  /** The duration is below the strategy's own minimum. */
  DURATION_TOO_SHORT: "never",
  /** The payout would not be more than the bet: the user could only lose. */
  PAYOUT_TOO_LOW: "never",
  /** The price moved in the user's favour since the quote: it would cost the maker its margin. */
  PRICE_MOVED: "new_quote",
  /** The price moved against the user since the quote: a new quote pays more. */
  PRICE_IMPROVED: "new_quote",
} as const satisfies Record<string, Retry>;

/** The reason why a strategy has no price. */
export type PricingRefusal = keyof typeof PRICING_REFUSALS;

/** Whether an error code is a refusal by the strategy, which is not a fault of the solver. */
export const isPricingRefusal = (code: string): boolean => Object.hasOwn(PRICING_REFUSALS, code);

/** A bet without a price. */
export class PricingRefusedError extends RangemakerError {
  /** The model's details of the bet, if it could be priced. */
  readonly pricing: PricingDetails | undefined;

  constructor(
    code: PricingRefusal,
    message: string,
    options: Pick<RangemakerErrorOptions, "details"> & { pricing?: PricingDetails } = {},
  ) {
    super(code, message, { ...options, retry: PRICING_REFUSALS[code] });
    this.pricing = options.pricing;
  }
}

/** How bets are priced. Calls are synchronous: a quote reads no file and asks no service. */
export interface PricingStrategy {
  /** Reported by `GET /info`. */
  readonly name: string;
  /** @throws {PricingRefusedError} If this bet has no price, or has none now. */
  price(bet: Bet): PricedBet;
  /**
   * How long a recorded execution is held before it is rechecked and hedged, in milliseconds: users
   * may see prices this much earlier. Without it there is no hold.
   *
   * @param payout The payout of the quote.
   */
  holdMs?(bet: Bet, payout: bigint): number;
  /**
   * Checks the price of a quote before it is executed ("last look"): its user has had time to watch
   * the price. Called when the execution arrives, after the hold, and after the hedge.
   *
   * @param payout The payout of the quote.
   * @param options `isRecorded`: {@link StrategyContext.correlatedRisk} counts the execution's own
   *   risk too, and bets reserved after it do not lower its price.
   * @throws {PricingRefusedError} If the bet must no longer be executed at that payout.
   */
  recheck(bet: Bet, payout: bigint, options: { isRecorded: boolean }): void;
}

/** A strategy's current view of a market. */
export interface MarketView {
  /** Such as `ETH/USDT`. */
  readonly symbol: string;
  /**
   * The newest price, with 6 decimals, and its time at the exchanges; undefined before the first.
   */
  readonly spot: { price: bigint; lastUpdateMs: number; fresh: boolean } | undefined;
  /** Forecasts by horizon. */
  readonly volatility: VolatilityForecaster;
  /** How often prices are still, and their smallest move. */
  readonly stillness: { readonly share: number; readonly tick: bigint | undefined };
  /** Past prices by slot. */
  readonly history: PriceReader;
  /** The history reaches up to here, Unix milliseconds, this moment not included; 0 for none. */
  readonly historyEndMs: number;
}

/** A price from further in the future, in milliseconds, shows that the solver's clock is behind. */
export const FUTURE_PRICE_MAX_MS = 2_000;

/** Dependencies of a strategy, given by the solver and by the backtest. */
export interface StrategyContext {
  readonly version: typeof STRATEGY_VERSION;
  clock: Pick<Clock, "now">;
  market(bet: Bet): MarketView;
  /**
   * The maker's risk on bets that tend to win together with this one, USDC with 6 decimals: those
   * with overlapping ranges and remaining windows, weighted by the overlap. 0 in the backtest.
   */
  correlatedRisk(bet: Bet): number;
  /**
   * Refuses a bet: the caller gets the code and the message.
   *
   * @throws {PricingRefusedError} Always.
   */
  refuse(code: PricingRefusal, message: string): never;
}

/** The context of a strategy that a file exports. */
export function createStrategyContext(
  { markets, marketView, ...context }:
    & Pick<StrategyContext, "clock">
    & Partial<Pick<StrategyContext, "correlatedRisk">>
    & { markets: Markets; marketView(market: Market): MarketView },
): StrategyContext {
  const refuse = (code: PricingRefusal, message: string): never => {
    throw new PricingRefusedError(code, message);
  };
  return {
    version: STRATEGY_VERSION,
    correlatedRisk: () => 0,
    ...context,
    market({ base, quote }) {
      const market = markets.find(base, quote);
      if (market === undefined) {
        return refuse("PRICE_UNAVAILABLE", `No market ${base} / ${quote}: GET /pairs lists them`);
      }
      return marketView(market);
    },
    refuse,
  };
}

/**
 * The default export of a strategy's file; `docs/examples/strategy.ts` is an example. A payout that
 * is not above the bet is refused with `PAYOUT_TOO_LOW`; a payout above ten times the bet is
 * reduced to that.
 */
export type StrategyFactory = (context: StrategyContext) => PricingStrategy;
