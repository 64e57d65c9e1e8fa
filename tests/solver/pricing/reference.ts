/** Shared by the tests of the model: terms as textbooks give them, and simulated paths. */
import type { Corridor } from "../../../services/solver/pricing/double_no_touch.ts";
import {
  noTouchAtChecks,
  type OpenBox,
  priceChecksOf,
  type PriceMotion,
} from "../../../services/solver/pricing/box_probability.ts";
import type { RandomSource } from "../../../lib/clock.ts";
import { gaussian } from "../../../lib/random.ts";

/** A double no-touch option: it pays `cash` if the price stays between the barriers. */
export interface Option {
  spot: number;
  lower: number;
  upper: number;
  /** A year. */
  volatility: number;
  years: number;
  cash: number;
  rate?: number;
  dividend?: number;
}

/** Variance and drift of the logarithm over a time. */
export function moveOver(option: Option, years: number): { variance: number; drift: number } {
  const { volatility, rate = 0, dividend = 0 } = option;
  return {
    variance: volatility ** 2 * years,
    drift: (rate - dividend - volatility ** 2 / 2) * years,
  };
}

/** The option as a corridor. */
export function corridorOf(option: Option): Corridor {
  const { spot, lower, upper, years } = option;
  return {
    toLower: Math.log(spot / lower),
    toUpper: Math.log(upper / spot),
    ...moveOver(option, years),
  };
}

/** What a probability of staying is worth now. */
export function worth({ cash, rate = 0, years }: Option, probability: number): number {
  return cash * Math.exp(-rate * years) * probability;
}

/** Seconds as a share of a year of 365 days. */
export function seconds(count: number): number {
  return count / (365 * 86_400);
}

/** Probability that a box is not broken until its end, in one scenario. */
export function boxProbability(box: OpenBox & PriceMotion): number {
  const checks = priceChecksOf(box);
  return checks === undefined ? 1 : noTouchAtChecks(checks, box);
}

/** Checks of a path, in logarithms of the price. */
export interface SimulatedChecks {
  toLower: number;
  toUpper: number;
  /** Deviation of the move until the first check. */
  firstDeviation: number;
  /** Deviation over one step on average; with still steps, the other steps are larger. */
  stepDeviation: number;
  steps: number;
  stillShare?: number;
}

/** Share of simulated paths that are inside at every check. */
export function simulateChecks(
  random: RandomSource,
  paths: number,
  checks: SimulatedChecks,
): number {
  const { toLower, toUpper, firstDeviation, stepDeviation, steps, stillShare = 0 } = checks;
  const deviation = stepDeviation / Math.sqrt(1 - stillShare);
  let held = 0;
  for (let path = 0; path < paths; path++) {
    let move = firstDeviation === 0
      ? 0
      : firstDeviation * gaussian(random) - firstDeviation ** 2 / 2;
    let inside = move >= -toLower && move <= toUpper;
    for (let step = 0; step < steps && inside; step++) {
      if (stillShare > 0 && random() < stillShare) continue;
      move += deviation * gaussian(random) - deviation ** 2 / 2;
      inside = move >= -toLower && move <= toUpper;
    }
    if (inside) held += 1;
  }
  return held / paths;
}
