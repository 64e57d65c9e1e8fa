/**
 * Volatility over a horizon as a weighted geometric mean of variances with short and long memory.
 *
 * The weights follow from one rule instead of a fit: a variance with half-life τ has the highest
 * weight for a horizon of 2.5 τ, and less for others, w = √u / (1 + u) with u = τ / (0.4 H). Such
 * a mixture of time scales approximates the long memory of volatility: Corsi, "A simple approximate
 * long-memory model of realized volatility", 2009; Zumbach, "The RiskMetrics 2006 methodology".
 */
import { z } from "zod";
import { DecayedMean, decayedMeanSchema } from "./decayed_mean.ts";

const MINUTE_MS = 60_000;

/** Half-lives of the variances, from short to long. */
const HALF_LIVES_MS = [5 * MINUTE_MS, 60 * MINUTE_MS, 720 * MINUTE_MS];

/** The half-life with the highest weight for a horizon, as a share of the horizon. */
const HALF_LIFE_PER_HORIZON = 0.4;

/** A variance below this share of the next slower one is more likely from a still price. */
const FLOOR_OF_SLOWER = 0.1;

/**
 * One candle raises the shortest memory at most by this factor, so a jump in a candle of a minute counts
 * as a candle of ten times the usual variance, and as less after a start.
 */
const RAISE_MAX = 2;

/** From this much time on, the usual variance is known from the candles themselves. */
const USUAL_HISTORY_MS = 5 * MINUTE_MS;

/** A variance per millisecond with its half-life. */
export interface DecayedVariance {
  halfLifeMs: number;
  perMs: number;
}

/** State of a {@link VolatilityKernel}. */
export const kernelStateSchema = z.object({
  means: z.array(decayedMeanSchema).length(HALF_LIVES_MS.length),
  historyMs: z.number().nonnegative(),
  endMs: z.number().nonnegative(),
});

/** Keeps the variances and blends them by horizon. */
export class VolatilityKernel {
  readonly #means: readonly DecayedMean[];
  #historyMs = 0;
  #endMs = 0;

  constructor(state: z.output<typeof kernelStateSchema> | undefined = undefined) {
    this.#means = HALF_LIVES_MS.map((ms, index) => new DecayedMean(ms, state?.means[index]));
    this.#historyMs = state?.historyMs ?? 0;
    this.#endMs = state?.endMs ?? 0;
  }

  /** Time covered by all spans added. */
  get historyMs(): number {
    return this.#historyMs;
  }

  /** End of the newest time span added, Unix milliseconds; 0 before the first. */
  get endMs(): number {
    return this.#endMs;
  }

  /**
   * Adds the variance of a time span that is later than all before.
   *
   * @param expectedPerMs Variance without jumps, if known from elsewhere: used while there is little
   * history.
   */
  add(endMs: number, durationMs: number, variance: number, expectedPerMs?: number): void {
    const elapsedMs = this.#endMs === 0 ? 0 : endMs - this.#endMs;
    for (const mean of this.#means) mean.fade(elapsedMs);
    const perMs = Math.min(variance / durationMs, this.#highest(durationMs, expectedPerMs));
    for (const mean of this.#means) mean.add(perMs, durationMs);
    this.#historyMs += durationMs;
    this.#endMs = endMs;
  }

  /**
   * Variance per millisecond over a horizon.
   *
   * @param fast A variance with a shorter memory than any here, if one is known.
   * @returns Undefined without data.
   */
  over(horizonMs: number, fast?: DecayedVariance): number | undefined {
    let slower: number | undefined;
    let logs = 0;
    let weights = 0;
    const include = (perMs: number | undefined, halfLifeMs: number) => {
      if (perMs === undefined) return;
      const floored = Math.max(perMs, FLOOR_OF_SLOWER * (slower ?? 0));
      if (floored <= 0) return;
      slower = floored;
      const u = halfLifeMs / (HALF_LIFE_PER_HORIZON * horizonMs);
      const weight = Math.sqrt(u) / (1 + u);
      logs += weight * Math.log(floored);
      weights += weight;
    };
    for (let index = this.#means.length - 1; index >= 0; index--) {
      const mean = this.#means[index]!; // index is below the length
      include(mean.mean, mean.halfLifeMs);
    }
    if (fast !== undefined) include(fast.perMs, fast.halfLifeMs);
    return weights === 0 ? undefined : Math.exp(logs / weights);
  }

  /** The variance per millisecond that raises the shortest memory by {@link RAISE_MAX}. */
  #highest(durationMs: number, expectedPerMs: number | undefined): number {
    const shortest = this.#means[0]!; // there are several
    const usual = this.#historyMs < USUAL_HISTORY_MS ? expectedPerMs : shortest.mean;
    // A price that was still so far may start to move.
    if (usual === undefined || usual <= 0) return Infinity;
    return usual * (RAISE_MAX + (RAISE_MAX - 1) * shortest.weight / durationMs);
  }

  toJSON(): z.input<typeof kernelStateSchema> {
    return {
      means: this.#means.map((mean) => mean.toJSON()),
      historyMs: this.#historyMs,
      endMs: this.#endMs,
    };
  }
}
