import { z } from "zod";
import { SLOT_MS } from "../../../lib/protocol/constants.ts";
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
import { type Calibration, outcomesStateSchema, WindowOutcomes } from "./window_outcomes.ts";

export interface VolatilityOptions {
  /** Lowest annualised volatility of a forecast: a still price does not prove a low one. */
  floor: number;
  /** Prices must cover this much time before the first forecast, in milliseconds. */
  minHistoryMs: number;
}

/**
 * Lengths of the windows that forecasts are compared with; the shortest windows are made of slots.
 */
const HORIZONS_MS = [
  ...[1, 4, 15].map((seconds) => seconds * 1_000),
  ...[1, 4, 16, 64, 256, 1_024].map((minutes) => minutes * CANDLE_MS),
];

/** Index of the horizon of a minute, the first one made of candles, and the prior of the others. */
const MINUTE_INDEX = HORIZONS_MS.indexOf(CANDLE_MS);

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
  /** By horizon. */
  readonly #outcomes: readonly WindowOutcomes[];
  readonly #candles = new CandleBuilder();
  readonly #recent: RecentRange;
  /** Moves per minute by the newest slots; undefined while there are only candles. */
  #slotMoves: number | undefined;
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
    this.#outcomes = HORIZONS_MS.map((ms, index) =>
      new WindowOutcomes(ms, index < MINUTE_INDEX ? 1_000 : CANDLE_MS, state?.outcomes[index])
    );
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
    this.#slotMoves = CANDLE_MS / SLOT_MS * moving;
    this.#recent.addSlot(timeMs, value, moving);
    const candle = this.#candles.add(timeMs, value);
    if (candle !== undefined) this.#addMinute(candle, candle.firstMs);
    // The state for a restart contains the windows of these slots, but not their recent range.
    if (timeMs <= this.#slotMs) return;
    const bar = { endMs: timeMs, high: value, low: value, close: value };
    for (let index = 0; index < MINUTE_INDEX; index++) {
      const outcomes = this.#outcomes[index]!; // one of the horizons
      if (timeMs !== this.#slotMs + SLOT_MS) outcomes.discardOpen();
      outcomes.observe(bar);
      const moves = this.#movesPerMinute * outcomes.horizonMs / CANDLE_MS;
      if (moves >= SLOT_WINDOW_MOVES_MIN) this.#beginWindowIfDue(index, timeMs, SLOT_MS, value);
    }
    this.#slotMs = timeMs;
  }

  /** Adds a candle of a minute; one that is not later than all before is ignored. */
  addCandle(candle: Candle): void {
    this.#slotMoves = undefined;
    this.#addMinute(candle);
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
    return Math.max(0, Math.ceil(this.#options.minHistoryMs - this.historyMs));
  }

  /** Shares of hypothetical boxes that held, by horizon. */
  get calibrations(): readonly Calibration[] {
    return this.#outcomes.map(({ calibration }) => calibration);
  }

  forecast(nowMs: number, endMs: number, startMs: number = nowMs): VolatilityForecast | undefined {
    const { historyMs } = this;
    if (historyMs === 0 || historyMs < this.#options.minHistoryMs) return undefined;
    const horizonMs = Math.max(HORIZON_MIN_MS, endMs - nowMs);
    const extraSpread = SPREAD_PER_MISSING_HISTORY * Math.max(0, Math.log(horizonMs / historyMs));
    const { median, lowerVariance, upperVariance, endToRangeRatio } = this.#correctionAt(horizonMs);
    const lower = Math.sqrt(lowerVariance) + extraSpread;
    const upper = Math.sqrt(upperVariance) + extraSpread;
    const base = this.#logDeviation(nowMs, horizonMs, Math.max(nowMs, startMs)) ?? -Infinity;
    const deviation = Math.exp(base + median);
    const volatility = Math.max(this.#options.floor, deviation * Math.sqrt(YEAR_MS / horizonMs));
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

  /** @param firstMs First known price of the minute. */
  #addMinute(candle: Candle, firstMs = candle.timeMs): void {
    const { timeMs, durationMs, high, low, close } = candle;
    if (timeMs < this.#endMs) return;
    const endMs = timeMs + durationMs;
    const before = timeMs === this.#endMs ? this.#close : undefined;
    const share = (endMs - firstMs) / durationMs;
    const range = this.#rangeOfMinute(candle, before, share);
    const usual = range / this.#season.factorAt(timeMs);
    this.#memory.add(this.#endMs === 0 ? 0 : endMs - this.#endMs, usual, share);
    this.#season.add(timeMs, share * durationMs, range);
    this.#historyMs += share * durationMs;
    this.#endMs = endMs;
    this.#close = close;
    this.#outcomes.forEach((outcomes, index) => {
      if (index < MINUTE_INDEX) return;
      if (before === undefined) outcomes.discardOpen();
      outcomes.observe({ endMs, high, low, close });
      this.#beginWindowIfDue(index, endMs, durationMs, close);
    });
  }

  /** @param share How much of the minute is known; its range is extrapolated. */
  #rangeOfMinute(candle: Candle, before: number | undefined, share: number): number {
    const moves = this.#movesPerMinute;
    const whole = rangeOf(candle, before) * unitRange(moves) / unitRange(share * moves);
    const recent = this.#historyMs < EARLY_MS ? this.#recent.meanRange?.value : undefined;
    return Math.min(whole, EARLY_RAISE_MAX * (recent ?? Infinity));
  }

  /** Begins a window if a step has begun since the previous price. */
  #beginWindowIfDue(index: number, nowMs: number, elapsedMs: number, price: number): void {
    const outcomes = this.#outcomes[index]!; // one of the horizons
    const step = (timeMs: number) => Math.floor(timeMs / outcomes.stepMs);
    if (step(nowMs) === step(nowMs - elapsedMs)) return;
    const base = this.#logDeviation(nowMs, outcomes.horizonMs);
    if (base === undefined) return;
    const { median } = this.#correctionsByHorizon()[index]!; // one per horizon
    const deviation = Math.exp(base + median);
    const moves = this.#movesPerMinute * outcomes.horizonMs / CANDLE_MS;
    outcomes.begin(nowMs, price, base, { deviation, moves });
  }

  get #movesPerMinute(): number {
    return this.#slotMoves ?? CANDLE_MOVES;
  }

  /**
   * Logarithm of the deviation over a horizon, before the learned correction.
   *
   * @param seasonFromMs The seasons are those from then to the end of the horizon.
   */
  #logDeviation(nowMs: number, horizonMs: number, seasonFromMs = nowMs): number | undefined {
    const recent = this.#slotMoves === undefined ? undefined : this.#recent.meanRange;
    const fast = recent && {
      halfLifeMs: recent.halfLifeMs,
      mean: recent.value,
      moves: this.#movesPerMinute * recent.knownMs / CANDLE_MS,
    };
    const perMinute = this.#memory.logRangeOver(horizonMs, fast);
    if (perMinute === undefined) return undefined;
    const square = this.#season.meanSquareFactor(seasonFromMs, nowMs + horizonMs);
    return perMinute + Math.log(square * horizonMs / CANDLE_MS) / 2;
  }

  /** Learned correction per horizon. The prior of each is its neighbour nearer to one minute. */
  #correctionsByHorizon(): readonly LogDeviation[] {
    const learned: LogDeviation[] = [];
    let prior = PRIOR;
    for (let index = MINUTE_INDEX; index < HORIZONS_MS.length; index++) {
      prior = this.#outcomes[index]!.deviation(prior); // one per horizon
      learned[index] = prior;
    }
    prior = learned[MINUTE_INDEX]!;
    for (let index = MINUTE_INDEX - 1; index >= 0; index--) {
      prior = this.#outcomes[index]!.deviation(prior);
      learned[index] = prior;
    }
    return learned;
  }

  /**
   * {@link #correctionsByHorizon} at any horizon: interpolated by the horizon's logarithm, constant
   * beyond the ends.
   */
  #correctionAt(horizonMs: number): LogDeviation & { endToRangeRatio: number } {
    const learned = this.#correctionsByHorizon();
    const at = (index: number) => {
      const { endToRangeRatio } = this.#outcomes[index]!; // one per horizon, like `learned`
      return { ...learned[index]!, endToRangeRatio };
    };
    const next = HORIZONS_MS.findIndex((ms) => ms > horizonMs);
    if (next === 0) return at(0);
    if (next === -1) return at(HORIZONS_MS.length - 1);
    const [from, to] = [HORIZONS_MS[next - 1]!, HORIZONS_MS[next]!];
    const share = Math.log(horizonMs / from) / Math.log(to / from);
    const [shorter, longer] = [at(next - 1), at(next)];
    const between = (a: number, b: number) => a + (b - a) * share;
    return {
      median: between(shorter.median, longer.median),
      lowerVariance: between(shorter.lowerVariance, longer.lowerVariance),
      upperVariance: between(shorter.upperVariance, longer.upperVariance),
      endToRangeRatio: between(shorter.endToRangeRatio, longer.endToRangeRatio),
    };
  }
}
