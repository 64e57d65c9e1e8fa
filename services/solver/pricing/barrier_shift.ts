/**
 * The difference between barriers checked at intervals and barriers checked continuously.
 *
 * A path that is checked n times can cross a barrier and return between two checks. Far from the
 * barrier this is as if the barrier stood 0.5826 σ√Δt further away (Broadie, Glasserman and Kou, "A
 * continuity correction for discrete barrier options", 1997). A path that starts on the barrier
 * survives n checks with probability C(2n, n) / 4ⁿ ≈ 1/√(πn) (Sparre Andersen, 1954), which is a
 * shift of 1/√2. Between the two the shift is interpolated.
 *
 * Measured against the exact recursion, the probability is too high by 0 to 0.12/n and never too
 * low: the error is in the maker's favour.
 */

/** -ζ(1/2)/√(2π): the shift far from the barrier, in deviations of one step. */
const FAR_SHIFT = 0.582_597_157_939_010_6;

/** The addition for a start on the barrier: 1/√2 less {@link FAR_SHIFT}. */
const NEAR_SHIFT = Math.SQRT1_2 - FAR_SHIFT;

/** Beyond this many steps the addition is below 1e-12. */
const NEAR_STEPS = 5;

/**
 * The distance to a barrier that gives a continuously checked path the same survival as a path that
 * is checked once per step.
 *
 * @param distance To the barrier, in logarithms of the price; not negative.
 * @param stepDeviation Standard deviation of the move between two checks.
 */
export function shiftedDistance(distance: number, stepDeviation: number): number {
  const steps = distance / stepDeviation;
  const near = steps < NEAR_STEPS ? NEAR_SHIFT * Math.exp(-2.1 * steps - steps * steps) : 0;
  return distance + (FAR_SHIFT + near) * stepDeviation;
}

/**
 * The constant shift of Broadie, Glasserman and Kou, which ignores how near the barrier is.
 *
 * @param stepVariance Variance of the move between two checks.
 */
export function barrierShift(stepVariance: number): number {
  return FAR_SHIFT * Math.sqrt(stepVariance);
}
