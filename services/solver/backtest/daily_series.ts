/**
 * Sums by day. Boxes of one day overlap and share its market, so standard errors are calculated
 * across days. Boxes may reach into the next day and volatility lasts for days, so days may be
 * correlated (Newey and West, 1987, three lags).
 */
import { DAY_MS } from "../../../lib/time.ts";

/** A mean, with its standard error across days. */
export interface DailyMean {
  mean: number;
  /** Standard error; NaN for fewer than three days. */
  error: number;
  count: number;
  days: number;
}

/** The earnings of a sequence of days. */
export interface DailyPath extends DailyMean {
  /** Standard deviation of one value. */
  deviation: number;
  /** Share of the days with a sum below 0. */
  losingDays: number;
  /** Lowest sum of a day. */
  worstDay: number;
  /** Deepest fall of the running sum from its highest value before. */
  drawdown: number;
}

/** Lags, in days, whose correlation counts. */
const LAGS = 3;

/** Fewer days are too few to estimate their spread. */
const DAYS_MIN = 3;

/** Values summed by UTC day. */
export class DailySeries {
  /** Days since the epoch, in the order of their first value. */
  readonly #days: number[] = [];
  readonly #counts: number[] = [];
  readonly #sums: number[] = [];
  #squares = 0;
  #newest = -1;

  /** Adds a value. */
  add(timeMs: number, value: number): void {
    const day = Math.floor(timeMs / DAY_MS);
    if (this.#days[this.#newest] !== day) {
      this.#newest = this.#days.lastIndexOf(day);
      if (this.#newest < 0) this.#newest = this.#days.push(day) - 1;
    }
    this.#counts[this.#newest] = (this.#counts[this.#newest] ?? 0) + 1;
    this.#sums[this.#newest] = (this.#sums[this.#newest] ?? 0) + value;
    this.#squares += value * value;
  }

  /** The values of several series as one, days in order. */
  static merge(all: readonly DailySeries[]): DailySeries {
    const merged = new DailySeries();
    const days = [...new Set(all.flatMap((series) => series.#days))].sort((a, b) => a - b);
    for (const day of days) {
      const sumOf = (values: (series: DailySeries) => readonly number[]) =>
        all.reduce((sum, series) => sum + (values(series)[series.#days.indexOf(day)] ?? 0), 0);
      merged.#days.push(day);
      merged.#counts.push(sumOf((series) => series.#counts));
      merged.#sums.push(sumOf((series) => series.#sums));
    }
    merged.#squares = all.reduce((sum, series) => sum + series.#squares, 0);
    return merged;
  }

  /** Mean of all values. */
  mean(): DailyMean {
    return meanOfDays(this.#days, this.#counts, this.#sums);
  }

  /** Mean of this series minus that of another one whose values have the same times. */
  meanLess(other: DailySeries): DailyMean {
    const sums = this.#sums.map((sum, index) => sum - (other.#sums[index] ?? 0));
    return meanOfDays(this.#days, this.#counts, sums);
  }

  /** Gains and losses day by day. */
  path(): DailyPath {
    const mean = this.mean();
    const order = this.#days.map((_, index) => index)
      .sort((a, b) => this.#days[a]! - this.#days[b]!); // indices of days
    let total = 0;
    let peak = 0;
    let drawdown = 0;
    for (const index of order) {
      total += this.#sums[index]!; // one per day
      peak = Math.max(peak, total);
      drawdown = Math.max(drawdown, peak - total);
    }
    const { count } = mean;
    return {
      ...mean,
      deviation: Math.sqrt(Math.max(0, this.#squares / count - mean.mean ** 2)),
      losingDays: this.#sums.filter((sum) => sum < 0).length / this.#days.length,
      worstDay: Math.min(...this.#sums),
      drawdown,
    };
  }
}

function meanOfDays(
  days: readonly number[],
  counts: readonly number[],
  sums: readonly number[],
): DailyMean {
  const count = counts.reduce((total, value) => total + value, 0);
  const mean = sums.reduce((total, value) => total + value, 0) / count;
  const length = days.length;
  if (length < DAYS_MIN) return { mean, error: Number.NaN, count, days: length };
  // One sum and one count per day.
  const residuals = new Map(days.map((day, index) => [day, sums[index]! - mean * counts[index]!]));
  let variance = 0;
  for (let lag = 0; lag <= Math.min(LAGS, length - 2); lag++) {
    // Weights of Bartlett; every lag counts in both directions.
    const weight = lag === 0 ? 1 : 2 * (1 - lag / (LAGS + 1));
    for (const [day, residual] of residuals) {
      variance += weight * residual * (residuals.get(day - lag) ?? 0);
    }
  }
  const error = Math.sqrt(Math.max(0, variance) * length / (length - 1)) / count;
  return { mean, error, count, days: length };
}
