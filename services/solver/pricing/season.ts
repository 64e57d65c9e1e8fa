/**
 * The volatility of each hour of the day relative to its day.
 *
 * Crypto volatility peaks between 13 and 17 UTC and is lowest between 3 and 11 ("Intraday patterns on
 * 38 exchanges", Review of Quantitative Finance and Accounting 64, 275).
 */
import { z } from "zod";

const HOUR_MS = 3_600_000;
const HOURS = 24;

/** Weight of the prior (no season), in days: three days of data prove little. */
const PRIOR_DAYS = 5;

/** Days after which older ones lose weight. */
const MEMORY_DAYS = 60;

/** Logarithms of variances: far beyond what prices can do, so that no state overflows. */
const logSchema = z.number().min(-100).max(100);

/** State of a {@link HourlySeason}. */
export const seasonStateSchema = z.object({
  deviations: z.array(z.number().min(-20).max(20)).length(HOURS),
  days: z.array(z.number().min(0).max(MEMORY_DAYS)).length(HOURS),
  /** Logarithm of the mean variance of each of the last hours, oldest first. */
  recent: z.array(logSchema).max(HOURS),
  hour: z.object({
    index: z.number(),
    sum: z.number().nonnegative(),
    weight: z.number().nonnegative(),
  }),
});

/** Learns the variance of each UTC hour relative to the 24 hours that end with it. */
export class HourlySeason {
  /** Per hour of the day: mean logarithm of its variance less that of its day. */
  readonly #deviations: number[];
  /** Days that each hour has seen. */
  readonly #days: number[];
  readonly #recent: number[];
  #factors: number[];
  /** The hour under way, counted from the epoch. */
  #hour: { index: number; sum: number; weight: number };

  constructor(state: z.output<typeof seasonStateSchema> | undefined = undefined) {
    this.#deviations = state?.deviations.slice() ?? new Array<number>(HOURS).fill(0);
    this.#days = state?.days.slice() ?? new Array<number>(HOURS).fill(0);
    this.#recent = state?.recent.slice() ?? [];
    this.#hour = state === undefined ? { index: -1, sum: 0, weight: 0 } : { ...state.hour };
    this.#factors = this.#smoothed();
  }

  /** Adds the variance of a time span within one hour, later than all before. */
  add(timeMs: number, durationMs: number, variance: number): void {
    const index = Math.floor(timeMs / HOUR_MS);
    if (index !== this.#hour.index) {
      this.#closeHour(index);
      this.#hour = { index, sum: 0, weight: 0 };
    }
    this.#hour.sum += variance;
    this.#hour.weight += durationMs;
  }

  /** Variance at a time relative to the mean of its day. */
  factorAt(timeMs: number): number {
    return this.#factors[Math.floor(timeMs / HOUR_MS) % HOURS] ?? 1;
  }

  /** Mean of {@link factorAt} over a window. */
  factorOver(fromMs: number, toMs: number): number {
    if (toMs - fromMs < 1) return this.factorAt(fromMs);
    let sum = 0;
    for (let ms = fromMs; ms < toMs;) {
      const next = Math.min(toMs, (Math.floor(ms / HOUR_MS) + 1) * HOUR_MS);
      sum += (next - ms) * this.factorAt(ms);
      ms = next;
    }
    return sum / (toMs - fromMs);
  }

  toJSON(): z.input<typeof seasonStateSchema> {
    return {
      deviations: this.#deviations.slice(),
      days: this.#days.slice(),
      recent: this.#recent.slice(),
      hour: { ...this.#hour },
    };
  }

  #closeHour(nextIndex: number): void {
    const { index, sum, weight } = this.#hour;
    const recent = this.#recent;
    if (index >= 0 && nextIndex !== index + 1) recent.length = 0;
    // At least a quarter of an hour is needed to represent an hour.
    if (sum <= 0 || weight < HOUR_MS / 4) return;
    const log = Math.log(sum / weight);
    recent.push(log);
    if (recent.length > HOURS) recent.shift();
    if (recent.length < HOURS) return;
    const mean = recent.reduce((total, value) => total + value, 0) / HOURS;
    const place = index % HOURS;
    const days = Math.min(MEMORY_DAYS, this.#days[place]! + 1); // place is below 24
    this.#days[place] = days;
    this.#deviations[place]! += (log - mean - this.#deviations[place]!) / days;
    this.#factors = this.#smoothed();
  }

  /** The deviations, shrunk towards 0 by the prior and averaged ¼ ½ ¼ with the neighbouring hours. */
  #smoothed(): number[] {
    const shrunk = this.#deviations.map((deviation, hour) => {
      const days = this.#days[hour]!; // one per hour
      return deviation * days / (days + PRIOR_DAYS);
    });
    const at = (hour: number) => shrunk[(hour + HOURS) % HOURS]!; // the remainder is below 24
    return shrunk.map((value, hour) => Math.exp(value / 2 + (at(hour - 1) + at(hour + 1)) / 4));
  }
}
