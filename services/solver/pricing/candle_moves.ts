import { z } from "zod";
import { type Candle, rangeOf, rangeRatio, stepsOfRatio } from "./candle.ts";
import { DecayedMean, decayedMeanSchema } from "./decayed_mean.ts";
import { DAY_MS } from "../../../lib/time.ts";

/** Memory of ranges and changes. */
const HALF_LIFE_MS = DAY_MS;

/** Weight of the prior, in candles. */
const PRIOR_CANDLES = 60;

/** State of {@link CandleMoves}. */
export const candleMovesSchema = z.object({ range: decayedMeanSchema, change: decayedMeanSchema });

/**
 * Estimates the number of moves in a candle's path if only candles are known. With few moves, the
 * range is close to the distance between two closes: equal for one move, twice as much for many.
 */
export class CandleMoves {
  readonly #range: DecayedMean;
  readonly #change: DecayedMean;
  readonly #priorRatio: number;

  /** @param priorMoves Moves that are expected without candles. */
  constructor(priorMoves: number, state?: z.output<typeof candleMovesSchema>) {
    this.#priorRatio = rangeRatio(priorMoves);
    this.#range = new DecayedMean(HALF_LIFE_MS, state?.range);
    this.#change = new DecayedMean(HALF_LIFE_MS, state?.change);
  }

  /**
   * Adds a candle that follows directly on the close before.
   *
   * @param spread Distance of bid and ask, if known: it widens the range of a price that bounces.
   */
  add(candle: Candle, closeBefore: number, spread = 0): void {
    const bounce = Math.log(1 + spread / candle.low);
    this.#range.decay(candle.durationMs);
    this.#range.add(Math.max(0, rangeOf(candle, closeBefore) - bounce));
    this.#change.decay(candle.durationMs);
    this.#change.add(Math.abs(Math.log(candle.close / closeBefore)));
  }

  /** Expected moves of a candle. */
  get perCandle(): number {
    const { mean: change = 0, weight } = this.#change;
    const ratio = change === 0 ? this.#priorRatio : (this.#range.mean ?? 0) / change;
    return stepsOfRatio(
      (ratio * weight + this.#priorRatio * PRIOR_CANDLES) / (weight + PRIOR_CANDLES),
    );
  }

  toJSON(): z.input<typeof candleMovesSchema> {
    return { range: this.#range.toJSON(), change: this.#change.toJSON() };
  }
}
