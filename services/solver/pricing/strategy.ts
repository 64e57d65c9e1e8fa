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
  /** The explanation of the price; undefined if the strategy has none. */
  details?: PricingDetails;
}

/** How bets are priced. Calls are synchronous: a quote reads no file and asks no service. */
export interface PricingStrategy {
  /** Reported by `GET /info`. */
  readonly name: string;
  /** @throws {PricingRefusedError} If this bet has no price, or has none now. */
  price(bet: BetTerms): Price;
  /**
   * Checks a quote again before it is executed ("last look"): its user has had time to watch the
   * price.
   *
   * @param payout The payout of the quote. {@link StrategyContext.riskBeside} already counts the bet.
   * @param isRecorded The execution is recorded: later bets must not count against it.
   * @throws {PricingRefusedError} If the bet must no longer be executed at that payout.
   */
  recheck(bet: BetTerms, payout: bigint, isRecorded?: boolean): void;
}

/** A strategy's current view of a market. */
export interface MarketView {
  /** The newest price, integer with 6 decimals, and when the exchanges made it; undefined before the first. */
  readonly spot: { price: bigint; lastUpdateMs: number; fresh: boolean } | undefined;
  /** Forecasts by horizon. */
  readonly volatility: VolatilityForecaster;
  /** How often prices are still, and their smallest move. */
  readonly standing: { readonly probability: number; readonly tick: bigint | undefined };
  /** Past prices by slot. */
  readonly history: PriceReader;
  /** The history reaches up to here, Unix milliseconds, this moment not included; 0 for none. */
  readonly historyEndMs: number;
}

/** Dependencies of a strategy, given by the solver and by the backtest. */
export interface StrategyContext {
  readonly version: typeof STRATEGY_VERSION;
  clock: Pick<Clock, "now">;
  /** The market of a bet. */
  market(bet: BetTerms): MarketView;
  marketView(market: Market): MarketView;
  /**
   * The maker's risk on other bets that tend to win together with this one, USDC with 6 decimals:
   * those with overlapping ranges and remaining windows, weighted by the overlap. 0 in the backtest.
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
 * The default export of a strategy's file; `docs/examples/strategy.ts` is an example. A payout that is
 * not above the bet is refused with `PAYOUT_TOO_LOW`, one above a hundred bets is cut.
 */
export type StrategyFactory = (context: StrategyContext) => PricingStrategy;
