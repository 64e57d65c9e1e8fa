import type { Clock } from "../../lib/clock.ts";
import type { IntentStore } from "../../lib/intents/store.ts";
import type { CoreClient } from "../../lib/net/core_client.ts";
import { ExchangeHistory } from "../../lib/net/exchange_history.ts";
import type { Markets } from "../../lib/protocol/markets.ts";
import type { Bet } from "../../lib/protocol/bet.ts";
import { createHistoryReader } from "./market/history_reader.ts";
import { MarketData } from "./market/market_data.ts";
import { readSavedVolatility, VolatilityKeeper } from "./market/volatility_keeper.ts";
import type { SolverOptions } from "./options.ts";
import { BarrierStrategy } from "./pricing/barrier_strategy.ts";
import { loadStrategy } from "./pricing/load_strategy.ts";
import { MockStrategy } from "./pricing/mock_strategy.ts";
import { createStrategyContext, type PricingStrategy } from "./pricing/strategy.ts";
import type { ExposureBook } from "./risk/exposure_book.ts";

/** Without --max-exposure, the book counts as full at --max-risk times this. */
const SKEW_CAPACITY_RISKS = 10n;

/** Timeout of one request for past candles. */
const HISTORY_TIMEOUT_MS = 2_000;

interface PricingInputs {
  markets: Markets;
  node: CoreClient;
  clock: Clock;
  exposure: ExposureBook;
  store: IntentStore;
}

/** The strategy, and the tasks that keep its prices up to date. */
export interface Pricing {
  strategy: PricingStrategy;
  /** Undefined if the strategy needs no prices, as `mock`. */
  marketData?: MarketData;
  start(): void;
  stop(): Promise<void>;
}

export async function openPricing(
  options: SolverOptions,
  { markets, node, clock, exposure, store }: PricingInputs,
): Promise<Pricing> {
  if (options.pricing === "mock") {
    const strategy = new MockStrategy(Math.random);
    return { strategy, start() {}, stop: () => Promise.resolve() };
  }
  const { records } = store;
  const saved = await readSavedVolatility({ records, clock }, markets, options);
  const marketData = new MarketData(options, markets, saved);
  const correlatedRisk = (bet: Bet) => exposure.correlatedRisk(bet, clock.now());
  const marketView = marketData.stateOf.bind(marketData);
  const context = createStrategyContext({ marketView, clock, markets, correlatedRisk });
  const { dryRun, historyUrl, maxExposure, maxRisk } = options;
  const capacity = maxExposure ?? maxRisk * SKEW_CAPACITY_RISKS;
  const strategy = options.pricing === "barrier"
    ? new BarrierStrategy({
      ...context,
      ...options,
      skew: { share: options.skew, capacity, correlatedRisk },
    })
    : (await loadStrategy(options.pricing))(context);
  // A start does not wait long for past candles.
  const attempts = { attemptsMax: 2, timeoutMs: HISTORY_TIMEOUT_MS };
  const history = historyUrl === undefined
    ? undefined
    : new ExchangeHistory(historyUrl, clock, attempts);
  const keeper = new VolatilityKeeper({ records, clock, node, history, dryRun, marketData });
  const reader = createHistoryReader(node, marketData, clock);
  let starting: Promise<void> | undefined;
  return {
    strategy,
    marketData,
    start() {
      starting = keeper.start(reader);
    },
    async stop() {
      // A start that failed keeps nothing: another solver may have saved more since.
      if (starting === undefined) return;
      await Promise.all([keeper.stop(), reader.stop(), starting]);
    },
  };
}
