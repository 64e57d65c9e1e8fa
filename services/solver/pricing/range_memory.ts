/**
 * How far the price goes per minute, with short and long memories, blended by horizon.
 *
 * Ranges are averaged, not squared: a jump counts less, and the forecast is better (Forsberg and
 * Ghysels, "Why do absolute returns predict volatility so well?", 2007). The weights follow from
 * one rule: a memory with half-life τ has the highest weight for a horizon of 2.5 τ, and less for
 * others, w = √u / (1 + u) with u = τ / (0.4 H). Such a mixture approximates the long memory of
 * volatility (Corsi, "A simple approximate long-memory model of realized volatility", 2009;
 * Zumbach, "The RiskMetrics 2006 methodology").
 */
import { z } from "zod";
import { MINUTE_MS } from "../../../lib/time.ts";
import { DecayedMean, decayedMeanSchema } from "./decayed_mean.ts";

/** Half-lives of the memories, each twelve times the one before: 5 minutes to 72 days. */
const HALF_LIVES_MS = [5, 60, 720, 8_640, 103_680].map((minutes) => minutes * MINUTE_MS);

/** The half-life with the highest weight for a horizon, as a share of the horizon. */
const HALF_LIFE_PER_HORIZON = 0.4;

/** A mean of fewer moves than this counts less, since it is mostly chance. */
const RELIABLE_MOVES = 100;

/** A mean range with its half-life. */
export interface DecayedRange {
  halfLifeMs: number;
  /** In logarithms of the price, per minute. */
  mean: number;
  /** Number of moves in the mean. */
  moves: number;
}

/** State of a {@link RangeMemory}. */
export const rangeMemorySchema = z.array(decayedMeanSchema).length(HALF_LIVES_MS.length);

/** Keeps the memories. */
export class RangeMemory {
  readonly #means: readonly DecayedMean[];

  constructor(state?: z.output<typeof rangeMemorySchema>) {
    this.#means = HALF_LIVES_MS.map((ms, index) => new DecayedMean(ms, state?.[index]));
  }

  /** Adds the range of one minute, `elapsedMs` after the one before. */
  add(elapsedMs: number, range: number, weight: number): void {
    for (const mean of this.#means) {
      mean.decay(elapsedMs);
      mean.add(range, weight);
    }
  }

  /**
   * Logarithm of the range per minute that is expected over a horizon.
   *
   * @param fast A memory shorter than any here, if there is one.
   * @returns Undefined without data.
   */
  logRangeOver(horizonMs: number, fast?: DecayedRange): number | undefined {
    let logs = 0;
    let weights = 0;
    const memories: DecayedRange[] = this.#means.map(({ mean = 0, halfLifeMs }) => ({
      mean,
      halfLifeMs,
      moves: Infinity,
    }));
    if (fast !== undefined) memories.push(fast);
    for (const { mean, halfLifeMs, moves } of memories) {
      if (mean === 0) continue;
      const u = halfLifeMs / (HALF_LIFE_PER_HORIZON * horizonMs);
      const weight = Math.sqrt(u) / (1 + u) / (1 + RELIABLE_MOVES / moves);
      logs += weight * Math.log(mean);
      weights += weight;
    }
    return weights === 0 ? undefined : logs / weights;
  }

  toJSON(): z.input<typeof rangeMemorySchema> {
    return this.#means.map((mean) => mean.toJSON());
  }
}
