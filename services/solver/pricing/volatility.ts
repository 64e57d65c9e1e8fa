import { z } from "zod";
import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import type { HorizonCalibration } from "../../../lib/protocol/answers.ts";
import { YEAR_MS } from "../../../lib/time.ts";
import { type Candle, CANDLE_MS, CandleBuilder, rangeOf, unitRange } from "./candle.ts";
import type { LogDeviation } from "./largest_move.ts";
import { RangeMemory, rangeMemorySchema } from "./range_memory.ts";
import { RecentRange } from "./recent_range.ts";
import { Season, seasonStateSchema } from "./season.ts";
import {
  forecastOf,
  type VolatilityForecast,
  type VolatilityForecaster,
} from "./volatility_forecast.ts";
import { outcomesStateSchema, WindowOutcomes } from "./window_outcomes.ts";

export interface VolatilityOptions {
  /** Lowest annualised volatility of a forecast: a still price does not prove a low one. */
  volatilityFloor: number;
  /** Prices must cover this much time before the first forecast, in milliseconds. */
  volatilityHistoryMs: number;
}

/** Lengths of the windows that forecasts are compared with: those made of slots, and of candles. */
const SLOT_HORIZONS_MS = [1, 4, 15].map((seconds) => seconds * 1_000);
const CANDLE_HORIZONS_MS = [1, 4, 16, 64, 256, 1_024].map((minutes) => minutes * CANDLE_MS);
const HORIZONS_MS = [...SLOT_HORIZONS_MS, ...CANDLE_HORIZONS_MS];

/** Windows with fewer moves say little about the size of a move. */
const SLOT_WINDOW_MOVES_MIN = 8;

/** Moves of a minute that is only known as a candle, about as many as in bitcoin's. */
const CANDLE_MOVES = 60;

/** The lowest share of slots that move: a price that has not moved yet may still do so. */
const MOVING_MIN = 1e-4;

/**
 * Prior of the logarithm of a minute's deviation over its mean range. For Brownian motion it is
 * -0.47 if its path is continuous, and -0.37 with 60 moves a minute: chosen between these, and soon
 * replaced by what is learned. So is the uncertainty.
 */
const PRIOR: LogDeviation = { median: -0.43, lowerVariance: 0.35 ** 2, upperVariance: 0.35 ** 2 };

/**
 * Additional deviation of the logarithm if the history is shorter than the horizon, per factor e.
 * Chosen: 0.35 of the prior becomes 0.6 for an hour that is forecast from five minutes.
 */
const SPREAD_PER_MISSING_HISTORY = 0.1;

/** A history below this is short: one jump could dominate it. */
const EARLY_MS = 300_000;

/**
 * In a short history, a minute's range counts as at most this many times the range by its slots.
 * Chosen: `volatility_test.ts` checks that one jump at most doubles the forecast.
 */
const EARLY_RAISE_MAX = 1.5;

/** Shortest horizon: shorter ones are forecast like this one, since checks are 100 ms apart. */
const HORIZON_MIN_MS = 1_000;

/** State of a {@link MarketVolatility}; a change of meaning gets a new version. */
export const volatilityStateSchema = z.object({
  version: z.literal(6, { error: "Expected a volatility state of version 6" }),
  memory: rangeMemorySchema,
  season: seasonStateSchema,
  outcomes: z.array(outcomesStateSchema).length(HORIZONS_MS.length),
  historyMs: z.number().nonnegative(),
  /** Newest slot whose windows are counted. */
  slotMs: z.number().nonnegative(),
  endMs: z.number().nonnegative(),
  close: z.number().positive().optional(),
});

type VolatilityState = z.output<typeof volatilityStateSchema>;

/**
 * Volatility of one market for every horizon, from prices 100 ms apart, from candles, or from both:
 * past candles may be added first, then slots as they arrive.
 *
 * The ranges of minutes give a base for each horizon. The class learns from all ended windows of
 * that horizon how far they went relative to their base, and how reliably, so that no constant has
 * to fit every market.
 *
 * For example, after five minutes of range 0.1 %, with nothing learned, 15 minutes have a base of
 * 0.1 % · √15 = 0.39 %. The prior makes it a deviation of 0.25 %, or 47 % a year. Because so little is
 * known, probabilities are averaged over 21, 47 and 107 %.
 */
export class MarketVolatility implements VolatilityForecaster {
  readonly #options: VolatilityOptions;
  readonly #memory: RangeMemory;
  readonly #season: Season;
  /** From the shortest windows on: those made of slots, and of candles. */
  readonly #slotOutcomes: readonly WindowOutcomes[];
  readonly #candleOutcomes: readonly WindowOutcomes[];
  readonly #candles = new CandleBuilder();
  readonly #recent: RecentRange;
  /** Counted in the newest slots, once there are any. */
  #movesPerMinute = CANDLE_MOVES;
  #slotMs: number;
  #historyMs: number;
  #endMs: number;
  #close: number | undefined;

  /** @param state Continues from a stored state; prices since then may be missing. */
  constructor(options: VolatilityOptions, state?: VolatilityState) {
    this.#options = options;
    this.#memory = new RangeMemory(state?.memory);
    this.#season = new Season(state?.season);
    this.#recent = new RecentRange(this.#season);
    // The prior of each is its neighbour nearer to one minute.
    let prior: Pick<WindowOutcomes, "deviation"> = { deviation: PRIOR };
    const createNext = (horizonMs: number) => {
      const restored = state?.outcomes[HORIZONS_MS.indexOf(horizonMs)];
      return prior = new WindowOutcomes({ horizonMs, prior, state: restored });
    };
    this.#candleOutcomes = CANDLE_HORIZONS_MS.map(createNext);
    prior = this.#candleOutcomes[0]!; // that of a minute
    this.#slotOutcomes = SLOT_HORIZONS_MS.toReversed().map(createNext).toReversed();
    this.#historyMs = state?.historyMs ?? 0;
    this.#slotMs = state?.slotMs ?? 0;
    this.#endMs = state?.endMs ?? 0;
    this.#close = state?.close;
  }

  /**
   * Adds the price of a slot that is later than all before; slots may be left out.
   *
   * @param stillShare Share of slots in which the price does not move.
   */
  addSlot(timeMs: number, price: bigint, stillShare = 0): void {
    const value = Number(price);
    const moving = Math.max(MOVING_MIN, 1 - stillShare);
    this.#movesPerMinute = CANDLE_MS / SLOT_MS * moving;
    this.#recent.addSlot(timeMs, value, moving);
    const candle = this.#candles.add(timeMs, value);
    if (candle !== undefined) this.addCandle(candle, candle.firstMs);
    // The state for a restart contains the windows of these slots, but not their recent range.
    if (timeMs <= this.#slotMs) return;
    const bar = { endMs: timeMs, high: value, low: value, close: value };
    for (const outcomes of this.#slotOutcomes) {
      if (timeMs !== this.#slotMs + SLOT_MS) outcomes.discardOpen();
      outcomes.observe(bar);
      if (this.#movesIn(outcomes.horizonMs) < SLOT_WINDOW_MOVES_MIN) continue;
      this.#beginWindowIfDue(outcomes, timeMs, SLOT_MS, value);
    }
    this.#slotMs = timeMs;
  }

  /**
   * Adds a candle of a minute; one that is not later than all before is ignored.
   *
   * @param firstMs First known price of the minute.
   */
  addCandle(candle: Candle, firstMs = candle.timeMs): void {
    const { timeMs, durationMs, high, low, close } = candle;
    if (timeMs < this.#endMs) return;
    const endMs = timeMs + durationMs;
    const before = timeMs === this.#endMs ? this.#close : undefined;
    const share = (endMs - firstMs) / durationMs;
    const range = this.#rangeOfMinute(candle, before, share);
    const usual = range / this.#season.factorAt(timeMs);
    this.#memory.add(endMs - this.#endMs, usual, share);
    this.#season.add(timeMs, share * durationMs, range);
    this.#historyMs += share * durationMs;
    this.#endMs = endMs;
    this.#close = close;
    for (const outcomes of this.#candleOutcomes) {
      if (before === undefined) outcomes.discardOpen();
      outcomes.observe({ endMs, high, low, close });
      this.#beginWindowIfDue(outcomes, endMs, durationMs, close);
    }
  }

  /** End of the newest candle, Unix milliseconds; 0 before the first. */
  get candlesEndMs(): number {
    return this.#endMs;
  }

  /** Time covered by prices so far, in milliseconds. */
  get historyMs(): number {
    return Math.max(this.#historyMs, this.#recent.historyMs);
  }

  get missingMs(): number {
    return Math.max(0, Math.ceil(this.#options.volatilityHistoryMs - this.historyMs));
  }

  /** Shares of hypothetical boxes that held, by horizon. */
  get calibrations(): HorizonCalibration[] {
    return this.#outcomes.map(({ calibration }) => calibration);
  }

  forecast(nowMs: number, endMs: number, startMs: number = nowMs): VolatilityForecast | undefined {
    const { historyMs } = this;
    if (historyMs === 0 || historyMs < this.#options.volatilityHistoryMs) return undefined;
    const horizonMs = Math.max(HORIZON_MIN_MS, endMs - nowMs);
    const extraSpread = SPREAD_PER_MISSING_HISTORY * Math.max(0, Math.log(horizonMs / historyMs));
    const { median, lowerVariance, upperVariance, endToRangeRatio } = this.#correctionAt(horizonMs);
    const lower = Math.sqrt(lowerVariance) + extraSpread;
    const upper = Math.sqrt(upperVariance) + extraSpread;
    const base = this.#logDeviation(nowMs, horizonMs, Math.max(nowMs, startMs)) ?? -Infinity;
    const deviation = Math.exp(base + median);
    const volatility = Math.max(
      this.#options.volatilityFloor,
      deviation * Math.sqrt(YEAR_MS / horizonMs),
    );
    return { ...forecastOf(volatility, lower, upper), endToRangeRatio };
  }

  /**
   * The state for a restart. The range of the last minute is not part of it, and is learned again.
   */
  toJSON(): VolatilityState {
    return {
      version: 6,
      memory: this.#memory.toJSON(),
      season: this.#season.toJSON(),
      outcomes: this.#outcomes.map((outcomes) => outcomes.toJSON()),
      historyMs: this.#historyMs,
      slotMs: this.#slotMs,
      endMs: this.#endMs,
      close: this.#close,
    };
  }

  /** @param share How much of the minute is known; its range is extrapolated. */
  #rangeOfMinute(candle: Candle, before: number | undefined, share: number): number {
    const moves = this.#movesPerMinute;
    const whole = rangeOf(candle, before) * unitRange(moves) / unitRange(share * moves);
    const recent = this.#historyMs < EARLY_MS ? this.#recent.meanRange?.mean : undefined;
    return Math.min(whole, EARLY_RAISE_MAX * (recent ?? Infinity));
  }

  /** Begins a window if a step has begun since the previous price. */
  #beginWindowIfDue(
    outcomes: WindowOutcomes,
    nowMs: number,
    elapsedMs: number,
    price: number,
  ): void {
    const step = (timeMs: number) => Math.floor(timeMs / outcomes.stepMs);
    if (step(nowMs) === step(nowMs - elapsedMs)) return;
    const base = this.#logDeviation(nowMs, outcomes.horizonMs);
    if (base === undefined) return;
    outcomes.begin({ nowMs, price, base, moves: this.#movesIn(outcomes.horizonMs) });
  }

  #movesIn(durationMs: number): number {
    return this.#movesPerMinute * durationMs / CANDLE_MS;
  }

  /**
   * Logarithm of the deviation over a horizon, before the learned correction.
   *
   * @param seasonFromMs The seasons are those from then to the end of the horizon.
   */
  #logDeviation(nowMs: number, horizonMs: number, seasonFromMs = nowMs): number | undefined {
    const perMinute = this.#memory.logRangeOver(horizonMs, this.#recent.meanRange);
    if (perMinute === undefined) return undefined;
    const square = this.#season.meanSquareFactor(seasonFromMs, nowMs + horizonMs);
    return perMinute + Math.log(square * horizonMs / CANDLE_MS) / 2;
  }

  get #outcomes(): WindowOutcomes[] {
    return [...this.#slotOutcomes, ...this.#candleOutcomes];
  }

  /**
   * The correction that is learned for a horizon: interpolated by the horizon's logarithm, constant
   * beyond the shortest and the longest windows.
   */
  #correctionAt(horizonMs: number): LogDeviation & { endToRangeRatio: number } {
    const outcomes = this.#outcomes;
    const next = outcomes.findIndex((one) => one.horizonMs > horizonMs);
    // Without a next one, these are the last two; no horizon is below the shortest.
    const [shorter, longer] = [outcomes.at(next - 1)!, outcomes.at(next)!];
    const share = Math.log(horizonMs / shorter.horizonMs) /
      Math.log(longer.horizonMs / shorter.horizonMs);
    const between = (a: number, b: number) => a + (b - a) * Math.min(1, share);
    const [from, to] = [shorter.deviation, longer.deviation];
    return {
      median: between(from.median, to.median),
      lowerVariance: between(from.lowerVariance, to.lowerVariance),
      upperVariance: between(from.upperVariance, to.upperVariance),
      endToRangeRatio: between(shorter.endToRangeRatio, longer.endToRangeRatio),
    };
  }
}
