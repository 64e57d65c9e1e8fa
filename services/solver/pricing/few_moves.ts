import { z } from "zod";
import { SLOT_MS } from "../../../lib/prices/price_slots.ts";
import { noTouchAtChecks } from "./box_probability.ts";
import type { Candle } from "./candle.ts";
import { DecayedMean, decayedMeanSchema } from "./decayed_mean.ts";
import { YEAR_MS } from "./units.ts";

/** Checks of a minute. */
const MINUTE_CHECKS = 600;

/** A price this near, in deviations of the minute, shows whether the path is made of few moves. */
const NEAR = 0.15;

/** Memory of the share of minutes. */
const HALF_LIFE_MS = 12 * 3_600_000;

/** Minutes between two estimates, and before the first. */
const MINUTES_PER_ESTIMATE = 60;

/** Fewest moves a minute of an estimate. */
const MOVES_MIN = 2;

/** Halvings of the interval from the fewest to the most moves: to a few moves. */
const HALVINGS = 7;

/** State of {@link FewMoves}. */
export const fewMovesSchema = z.object({
  near: decayedMeanSchema,
  moves: z.number().min(MOVES_MIN).max(MINUTE_CHECKS),
});

/**
 * How many moves a minute's path is made of, where only its candle is known. A path of few large moves
 * crosses a barrier close by less often than one of many small ones: the share of minutes that did not
 * go further than {@link NEAR} to one side tells. Bounces between bid and ask have the same effect, and
 * count the same.
 */
export class FewMoves {
  readonly #near: DecayedMean;
  #moves: number;
  #minutes = 0;

  constructor(state?: z.output<typeof fewMovesSchema>) {
    this.#near = new DecayedMean(HALF_LIFE_MS, state?.near);
    this.#moves = state?.moves ?? MINUTE_CHECKS;
  }

  /** Expected moves of a minute. */
  get perMinute(): number {
    return this.#moves;
  }

  /** Adds a candle, and the deviations that were forecast for it before, with their weights. */
  add(
    { high, low, durationMs }: Candle,
    closeBefore: number,
    deviations: readonly { deviation: number; weight: number }[],
  ): void {
    const middle = deviations[deviations.length >> 1]?.deviation ?? 0;
    if (middle === 0) return;
    const near = NEAR * middle;
    const sides = [Math.log(high / closeBefore), Math.log(closeBefore / low)];
    this.#near.fade(durationMs);
    this.#near.add(sides.filter((side) => side <= near).length / sides.length);
    this.#minutes += 1;
    if (this.#minutes % MINUTES_PER_ESTIMATE === 0) this.#estimate(near, deviations);
  }

  toJSON(): z.input<typeof fewMovesSchema> {
    return { near: this.#near.toJSON(), moves: this.#moves };
  }

  #estimate(near: number, deviations: readonly { deviation: number; weight: number }[]): void {
    const seen = this.#near.mean ?? 0;
    let [fewest, most] = [MOVES_MIN, MINUTE_CHECKS];
    for (let halving = 0; halving < HALVINGS; halving++) {
      const moves = Math.sqrt(fewest * most);
      const checks = { toLower: near, toUpper: 1, waitMs: 0, steps: MINUTE_CHECKS };
      let expected = 0;
      for (const { deviation, weight } of deviations) {
        expected += weight * noTouchAtChecks(checks, {
          volatility: deviation * Math.sqrt(YEAR_MS / (MINUTE_CHECKS * SLOT_MS)),
          stillShare: 1 - moves / MINUTE_CHECKS,
        });
      }
      if (expected > seen) fewest = moves;
      else most = moves;
    }
    this.#moves = Math.sqrt(fewest * most);
  }
}
