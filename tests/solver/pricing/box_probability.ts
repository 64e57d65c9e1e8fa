import {
  noTouchAtChecks,
  type OpenBox,
  priceChecksOf,
  type PriceMotion,
} from "../../../services/solver/pricing/box_probability.ts";

/** Probability that a box is not broken until its end, in one scenario. */
export function boxProbability(box: OpenBox & PriceMotion): number {
  const checks = priceChecksOf(box);
  return checks === undefined ? 1 : noTouchAtChecks(checks, box);
}
