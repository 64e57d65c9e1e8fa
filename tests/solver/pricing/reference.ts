/** Shared by the tests of the model: terms as textbooks give them. */
import type { Corridor } from "../../../services/solver/pricing/double_no_touch.ts";
import {
  type BoxToPrice,
  noTouchAtChecks,
  priceChecksOf,
  type PriceMotion,
} from "../../../services/solver/pricing/box_probability.ts";

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
export function boxProbability(box: BoxToPrice & PriceMotion): number {
  const checks = priceChecksOf(box);
  return checks === undefined ? 1 : noTouchAtChecks(checks, box);
}
