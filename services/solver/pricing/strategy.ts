import type { Clock } from "../../../lib/clock.ts";
import type { PriceReader } from "../../../lib/prices/price_slots.ts";
import { type Market, type Markets, SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import type { BetTerms } from "../../../lib/protocol/terms.ts";
import type { PricingDetails } from "./details.ts";
import { type PricingRefusal, PricingRefusedError } from "./refusals.ts";
import type { VolatilityForecaster } from "./volatility.ts";

/** Version of {@link PricingStrategy} and {@link StrategyContext}; incompatible changes raise it. */
export const STRATEGY_VERSION = 1;

/** The built-in strategies. */
export const STRATEGY_NAMES = ["mock", "barrier"] as const;

/** The price of a bet. */
export interface Price {
  /** Total payout if the user wins, in the unit of the bet. */
  payout: bigint;
  /** How the price came about; undefined where the strategy has nothing to explain. */
  details?: PricingDetails;
}

/** How bets are priced. Calls are synchronous: a quote reads no file and asks no service. */
export interface PricingStrategy {
  /** Reported by `GET /info`. */
  readonly name: string;
  /** @throws {PricingRefusedError} If this bet has no price, or has none now. */
  price(bet: BetTerms): Price;
  /**
   * Checks a quote again before it is executed ("last look"): its user has had time to see where the
   * price goes.
   *
   * @param payout What the quote promises. {@link StrategyContext.riskBeside} counts the bet already.
   * @param isRecorded The execution is recorded: bets that came later must not count against it.
   * @throws {PricingRefusedError} If the same bet must not be executed at that payout any more.
   */
  recheck(bet: BetTerms, payout: bigint, isRecorded?: boolean): void;
}

/** What a strategy may know of a market, as of now. */
export interface MarketView {
  /** The newest price, integer with 6 decimals, and when the exchanges made it; undefined before the first. */
  readonly spot: { price: bigint; lastUpdateMs: number; fresh: boolean } | undefined;
  /** Forecasts by horizon. */
  readonly volatility: VolatilityForecaster;
  /** How often prices stand still, and their smallest move. */
  readonly standing: { readonly probability: number; readonly tick: bigint | undefined };
  /** Prices of the past by slot. */
  readonly history: PriceReader;
  /** The history reaches up to here, Unix milliseconds, this moment not included; 0 for none. */
  readonly historyEndMs: number;
}

/** What a strategy is created with, by the solver and by the backtest alike. */
export interface StrategyContext {
  readonly version: typeof STRATEGY_VERSION;
  clock: Pick<Clock, "now">;
  /** The market that a bet names. */
  market(bet: BetTerms): MarketView;
  marketView(market: Market): MarketView;
  /**
   * What the maker risks already on bets that tend to win together with this one, USDC with 6 decimals:
   * those whose ranges and remaining windows overlap with it, by how much they do. 0 in the backtest.
   */
  riskBeside(bet: BetTerms): number;
  /**
   * Refuses a bet: the caller gets the code and the message.
   *
   * @throws {PricingRefusedError} Always.
   */
  refuse(code: PricingRefusal, message: string): never;
}

/** The context of a strategy that a file exports. */
export function strategyContext(
  { markets = SPEC_MARKETS, ...parts }:
    & Pick<StrategyContext, "clock" | "marketView">
    & Partial<Pick<StrategyContext, "riskBeside">>
    & { markets?: Markets },
): StrategyContext {
  const refuse = (code: PricingRefusal, message: string): never => {
    throw new PricingRefusedError(code, message);
  };
  return {
    version: STRATEGY_VERSION,
    riskBeside: () => 0,
    ...parts,
    market({ base, quote }) {
      const market = markets.find(base, quote);
      if (market === undefined) {
        return refuse("PRICE_UNAVAILABLE", `No market ${base} / ${quote}: GET /pairs lists them`);
      }
      return parts.marketView(market);
    },
    refuse,
  };
}

/**
 * What the file of a strategy exports by default; `docs/examples/strategy.ts` is one. A payout that is
 * not above the bet is refused with `PAYOUT_TOO_LOW`, one above a hundred bets is cut.
 */
export type StrategyFactory = (context: StrategyContext) => PricingStrategy;
