import { DAY_MS } from "../../../lib/time.ts";
import { type Candle, rangeOf, unitRange } from "../../../services/solver/pricing/candle.ts";
import { DecayedMean } from "../../../services/solver/pricing/decayed_mean.ts";

/** Memory of ranges and changes. */
const HALF_LIFE_MS = DAY_MS;

/** Weight of the prior, in candles. */
const PRIOR_CANDLES = 60;

/**
 * Estimates the number of moves in a candle's path. With few moves, the range is close to the
 * distance between two closes: equal for one move, twice as much for many.
 */
export class CandleMoves {
  readonly #range = new DecayedMean(HALF_LIFE_MS);
  readonly #change = new DecayedMean(HALF_LIFE_MS);
  readonly #priorRatio: number;

  /** @param priorMoves Moves that are expected without candles. */
  constructor(priorMoves: number) {
    this.#priorRatio = rangeRatio(priorMoves);
  }

  /**
   * Adds a candle that follows directly on the close before.
   *
   * @param spread Distance of bid and ask: it widens the range of a price that bounces.
   */
  add(candle: Candle, closeBefore: number, spread: number): void {
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
}

/** Mean range of a walk of equal steps, divided by the mean distance between its ends. */
function rangeRatio(steps: number): number {
  return unitRange(steps) / Math.sqrt(2 / Math.PI * steps);
}

/** The steps of a walk with a {@link rangeRatio}, at least one and at most 10,000. */
function stepsOfRatio(ratio: number): number {
  // With x = 1/√n the ratio is 2 + ζ(½) x + x²/2.
  const root = ZETA_HALF * ZETA_HALF - 2 * (2 - ratio);
  const x = -ZETA_HALF - Math.sqrt(Math.max(0, root));
  return Math.min(1, Math.max(0.01, x)) ** -2;
}

/** Riemann's zeta at 1/2: for large n, the sum of 1/√i up to n is 2√n plus this. */
const ZETA_HALF = -1.460_354_5;
