import { gaussian, type RandomSource } from "../../../lib/random.ts";
import type { TapeRow } from "../../../lib/prices/tape.ts";
import { DAY_MS, YEAR_MS } from "../../../lib/time.ts";
import type { SlotPrice, SlotSource } from "../../../services/solver/backtest/slots.ts";
import {
  type BacktestPlan,
  ReturnVolatility,
  runBacktest,
} from "../../../services/solver/backtest/engine.ts";
import type {
  Maker,
  TrialBox,
  TrialKind,
  TrialQuote,
} from "../../../services/solver/backtest/maker.ts";
import type { Results } from "../../../services/solver/backtest/results.ts";
import { StrategyMaker, TapeMarket } from "../../../services/solver/backtest/strategy_maker.ts";
import { BarrierStrategy } from "../../../services/solver/pricing/barrier_strategy.ts";
import {
  forecastOf,
  type VolatilityForecast,
} from "../../../services/solver/pricing/volatility_forecast.ts";
import { MarketVolatility } from "../../../services/solver/pricing/volatility.ts";
import { LIMITS } from "../../../services/solver/shared/limits.ts";
import { MockStrategy } from "../../../services/solver/pricing/mock_strategy.ts";
import { boxProbability } from "../pricing/reference.ts";

/** A midnight. */
export const START_MS = 1_699_920_000_000;

/** Trades every 100 ms of a price without jumps, trend or noise, and with a known volatility. */
export function simulatedTape(
  random: RandomSource,
  { volatility, durationMs }: { volatility: number; durationMs: number },
): TapeRow[] {
  const rows: TapeRow[] = [];
  const deviation = volatility * Math.sqrt(100 / YEAR_MS);
  let log = Math.log(3e9);
  for (let timeMs = 0; timeMs < durationMs; timeMs += 100) {
    const price = BigInt(Math.round(Math.exp(log)));
    rows.push({ timeMs: START_MS + timeMs, side: "buy", price, amount: "1" });
    log += deviation * gaussian(random) - deviation ** 2 / 2;
  }
  return rows;
}

/** The tape as its file. */
export function tapeText(rows: readonly TapeRow[]): string {
  const lines = rows.map(({ timeMs, side, price, amount }, index) => {
    const digits = price.toString().padStart(7, "0");
    return `${timeMs},${index + 1},${side},${digits.slice(0, -6)}.${digits.slice(-6)},${amount}`;
  });
  return ["time_ms,trade_id,side,price,amount", ...lines, ""].join("\n");
}

/** Boxes that do not overlap in time, so that each is a draw of its own for its width. */
export const plan: BacktestPlan = {
  stepMs: 20_000,
  durationsMs: [20_000],
  widths: [0.6, 0.8, 1, 1.25, 1.5, 2, 2.5, 3],
  offsets: [0],
  startAheadMs: [0],
  reportFromMs: START_MS + 1_200_000,
  blockMs: DAY_MS,
  leadMs: 0,
  waitMs: 0,
};

/** A model that only has probabilities, as a maker with a margin. */
export abstract class ModelMaker implements Maker {
  abstract readonly name: string;
  readonly #margin: number;

  constructor(margin: number) {
    this.#margin = margin;
  }

  abstract observe(slot: SlotPrice): void;

  /** Probability that the box holds; undefined if the model has too little data. */
  abstract probability(box: TrialBox, kind: TrialKind, nowMs: number): number | undefined;

  quote(box: TrialBox, kind: TrialKind, nowMs: number): TrialQuote | undefined {
    const probability = this.probability(box, kind, nowMs);
    if (probability === undefined) return undefined;
    const ratio = Math.min(Number(LIMITS.maxPayoutRatio), (1 - this.#margin) / probability);
    return { probability, ratio: ratio > 1 ? ratio : undefined };
  }

  /** Accepts until its margin is gone, without a recheck of its own. */
  accepts(box: TrialBox, kind: TrialKind, ratio: number, nowMs: number): boolean {
    const probability = this.probability(box, kind, nowMs);
    return probability !== undefined && probability * ratio <= 1;
  }
}

/** A correct model without a last look or a charge for users who see prices earlier. */
class PlainMaker extends ModelMaker {
  readonly name = "plain";
  readonly #known: number | undefined;
  readonly #estimate = new ReturnVolatility();
  #spot: number | undefined;

  constructor(margin: number, known: number | undefined) {
    super(margin);
    this.#known = known;
  }

  observe(slot: SlotPrice): void {
    this.#spot = slot.price;
    this.#estimate.observe(slot);
  }

  probability({ lower, upper, startMs, endMs }: TrialBox, _kind: TrialKind, nowMs: number) {
    const volatility = this.#known ?? this.#estimate.volatility;
    if (this.#spot === undefined || volatility === undefined) return undefined;
    return boxProbability({
      spot: BigInt(this.#spot),
      lower: BigInt(lower),
      upper: BigInt(upper),
      nowMs,
      startMs,
      endMs,
      volatility,
    });
  }
}

/** An annualised volatility that is known. */
class KnownVolatility extends MarketVolatility {
  readonly #known: VolatilityForecast;

  constructor(volatility: number) {
    super({ volatilityFloor: 0.05, volatilityHistoryMs: 0 });
    this.#known = forecastOf(volatility, 0);
  }

  override forecast(): VolatilityForecast {
    return this.#known;
  }
}

/** The names of the makers of {@link runMakers}. */
export const MAKERS = ["barrier", "plain", "mock"];

/** Runs the solver's strategy beside a plain maker and the mock. */
export function runMakers(
  source: SlotSource,
  random: RandomSource,
  overrides: Partial<BacktestPlan> & { userLeadMs?: number; volatility?: number } = {},
): Results {
  const { volatility, userLeadMs = 0 } = overrides;
  const margin = 0.03;
  const market = new TapeMarket(
    volatility === undefined
      ? new MarketVolatility({ volatilityFloor: 0.05, volatilityHistoryMs: 60_000 })
      : new KnownVolatility(volatility),
  );
  const barrier = new StrategyMaker(
    (context) =>
      new BarrierStrategy({
        ...context,
        margin,
        userLeadMs,
        maxPriceAgeMs: 60_000,
        minDurationMs: 0,
        minWidthTicks: 0,
      }),
    market,
  );
  const mock = new StrategyMaker(() => new MockStrategy(random), market);
  const makers: Maker[] = [barrier, new PlainMaker(margin, volatility), mock];
  return runBacktest(source, { ...plan, ...overrides }, {
    market,
    makers,
    // The users of the plain maker know the solver's model, all others know the plain one.
    rivals: [1, 0, 1],
  });
}
