import { z } from "zod";
import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import type { HorizonCalibration } from "../../../lib/protocol/answers.ts";
import { DAY_MS, MINUTE_MS } from "../../../lib/time.ts";
import {
  deviationFrom,
  largestMoveBelow,
  largestMoveQuantile,
  type LogDeviation,
  logOfEquivalentContinuousMove,
} from "./largest_move.ts";

/** The histogram of logarithms: from -3 to 3 in tenths. */
const BIN = 0.1;
const BINS = 61;
const LOWEST = -3;

/**
 * Memory of the histogram: a day for windows of up to a minute, and as the root of the length for
 * longer ones. Short windows differ from day to day; long ones are too few for a short memory.
 */
function memoryOf(horizonMs: number): number {
  return DAY_MS * Math.sqrt(Math.max(1, horizonMs / MINUTE_MS));
}

/** Weight of the prior, in windows. */
const PRIOR_WINDOWS = 20;

/** Mean of |W₁| / max |W| of a Brownian motion. */
const END_SHARE = 0.5845;

/** Windows between two fits: one window hardly moves a quantile. */
const WINDOWS_PER_FIT = 20;

/** Open windows that overlap. */
const OVERLAPPING_WINDOWS = 8;

/** The forecast's probabilities of the hypothetical boxes that are counted. */
const CHECKED_PROBABILITIES = [0.25, 0.5, 0.75] as const;

/** State of {@link WindowOutcomes}. */
export const outcomesStateSchema = z.object({
  counts: z.array(z.number().nonnegative()).length(BINS),
  windows: z.number().nonnegative(),
  /** Sum over windows of the distance between start and end, as a share of the largest move. */
  ends: z.number().nonnegative(),
  /** Hypothetical boxes that held, in the order of {@link CHECKED_PROBABILITIES}. */
  held: z.array(z.number().nonnegative()).length(CHECKED_PROBABILITIES.length),
  open: z.array(z.object({
    endMs: z.number(),
    price: z.number().positive(),
    high: z.number().positive(),
    low: z.number().positive(),
    base: z.number(),
    deviation: z.number().positive(),
    moves: z.number().positive(),
    bounds: z.array(z.number()).length(CHECKED_PROBABILITIES.length),
  })).max(OVERLAPPING_WINDOWS),
});

type State = z.output<typeof outcomesStateSchema>;

/** Prices from the bar before to `endMs`. */
interface WindowBar {
  endMs: number;
  high: number;
  low: number;
  close: number;
}

interface WindowOutcomesOptions {
  horizonMs: number;
  /** Has the deviation that is expected before there are windows. */
  prior: Pick<WindowOutcomes, "deviation">;
  state?: State | undefined;
}

/**
 * The outcomes of windows of one length, compared with the forecast at their start: the logarithm
 * of the largest move, relative to a base that follows the present volatility.
 */
export class WindowOutcomes {
  readonly horizonMs: number;
  /** Time from one window's start to the next. */
  readonly stepMs: number;
  readonly #prior: WindowOutcomesOptions["prior"];
  readonly #state: State;
  #fit: { deviation: LogDeviation; bounds: number[]; prior: LogDeviation } | undefined;
  #windowsSinceFit = 0;

  constructor({ horizonMs, prior, state }: WindowOutcomesOptions) {
    this.horizonMs = horizonMs;
    this.#prior = prior;
    // Windows below a minute are made of slots, others of candles.
    const unitMs = horizonMs < MINUTE_MS ? 1_000 : MINUTE_MS;
    this.stepMs = Math.max(unitMs, Math.ceil(horizonMs / OVERLAPPING_WINDOWS / unitMs) * unitMs);
    this.#state = structuredClone(state) ?? {
      counts: new Array<number>(BINS).fill(0),
      windows: 0,
      ends: 0,
      held: CHECKED_PROBABILITIES.map(() => 0),
      open: [],
    };
  }

  /** Discards the open windows: prices are missing. */
  discardOpen(): void {
    this.#state.open.length = 0;
  }

  /** Adds a bar to the open windows, and completes those that end with it. */
  observe({ endMs, high, low, close }: WindowBar): void {
    const { open } = this.#state;
    for (const window of open) {
      // Most slots change neither, and writing a number costs an allocation.
      if (high > window.high) window.high = high;
      if (low < window.low) window.low = low;
    }
    for (let first = open[0]; first !== undefined && first.endMs <= endMs; first = open[0]) {
      open.shift();
      this.#complete(first, close);
    }
  }

  /**
   * Begins a window.
   *
   * @param base Logarithm of the expected deviation, before the correction learned here.
   * @param moves Expected moves of the window.
   */
  begin(
    { nowMs, price, base, moves }: { nowMs: number; price: number; base: number; moves: number },
  ): void {
    const { deviation: { median }, bounds } = this.#currentFit();
    const deviation = Math.exp(base + median);
    const endMs = nowMs + this.horizonMs;
    this.#state.open.push({
      endMs,
      price,
      high: price,
      low: price,
      base,
      deviation,
      moves,
      bounds,
    });
  }

  /** Logarithm of the deviation of a window, relative to its base. */
  get deviation(): LogDeviation {
    return this.#currentFit().deviation;
  }

  /**
   * Deviation of the ends of windows, as a share of the deviation that their largest moves imply:
   * below 1 if prices bounce or return, above 1 if they trend.
   */
  get endToRangeRatio(): number {
    const { ends, windows } = this.#state;
    return (ends / END_SHARE + PRIOR_WINDOWS) / (windows + PRIOR_WINDOWS);
  }

  /**
   * Predicted and observed shares of hypothetical boxes that held, by {@link CHECKED_PROBABILITIES}.
   * The standard errors are those of windows that are independent unless they overlap.
   */
  get calibration(): HorizonCalibration {
    const { windows, held } = this.#state;
    const boxes = windows === 0 ? [] : CHECKED_PROBABILITIES.map((predicted, index) => ({
      predicted,
      held: held[index]! / windows, // one for each
      error: Math.sqrt(predicted * (1 - predicted) / windows),
    }));
    return { horizonMs: this.horizonMs, windows, boxes };
  }

  toJSON(): State {
    return this.#state;
  }

  #complete(
    { price, high, low, base, deviation, moves, bounds }: State["open"][number],
    close: number,
  ): void {
    const state = this.#state;
    const weight = this.stepMs / this.horizonMs;
    const move = Math.log(Math.max(Math.max(high / price, price / low), 1));
    const steps = this.horizonMs / SLOT_MS;
    const logLargest = logOfEquivalentContinuousMove(move, { deviation, moves, steps });
    const logOverBase = logLargest - base;
    const logEnd = Math.abs(Math.log(close / price));
    this.#decay();
    if (logEnd > 0) state.ends += weight * logEnd / Math.exp(logLargest);
    const bin = Math.round((logOverBase - LOWEST) / BIN);
    state.counts[Math.max(0, Math.min(BINS - 1, bin))]! += weight; // within the bins
    state.windows += weight;
    bounds.forEach((bound, index) => {
      if (logOverBase <= bound) state.held[index]! += weight; // one per bound
    });
    this.#windowsSinceFit += 1;
  }

  /** The windows so far count less with each new one. */
  #decay(): void {
    const state = this.#state;
    const factor = 2 ** (-this.stepMs / memoryOf(this.horizonMs));
    state.ends *= factor;
    state.windows *= factor;
    state.counts.forEach((count, bin) => state.counts[bin] = count * factor);
    state.held.forEach((held, index) => state.held[index] = held * factor);
  }

  #currentFit() {
    const prior = this.#prior.deviation;
    if (this.#fit?.prior === prior && this.#windowsSinceFit < WINDOWS_PER_FIT) return this.#fit;
    this.#windowsSinceFit = 0;
    const deviation = this.#matchDeviation(prior);
    const bounds = CHECKED_PROBABILITIES.map((share) => largestMoveQuantile(share, deviation));
    return this.#fit = { deviation, bounds, prior };
  }

  #matchDeviation(prior: LogDeviation): LogDeviation {
    const { counts, windows } = this.#state;
    const below = counts.map((_, bin) =>
      bin === BINS - 1 ? 1 : largestMoveBelow(LOWEST + (bin + 0.5) * BIN, prior)
    );
    const weights = below.map((share, bin) =>
      (counts[bin] ?? 0) + PRIOR_WINDOWS * (share - (below[bin - 1] ?? 0))
    );
    const quantile = (share: number) => {
      let left = share * (windows + PRIOR_WINDOWS);
      for (const [bin, weight] of weights.entries()) {
        // The lower edge of the bin, and the share of the bin below the quantile.
        if (left <= weight) return LOWEST + (bin - 0.5 + left / weight) * BIN;
        left -= weight;
      }
      throw new TypeError("The weights add up to less than the share");
    };
    return deviationFrom(quantile(0.1), quantile(0.5), quantile(0.9));
  }
}
