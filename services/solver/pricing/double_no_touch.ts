/**
 * The probability that a price stays between two barriers: what a box thesis is, a double no-touch
 * option. The logarithm of the price is a Brownian motion with drift.
 */
import { normalBetween } from "./normal.ts";

/** A motion between two barriers, all in logarithms of the price over the whole window. */
export interface Corridor {
  /** From the spot down to the lower barrier; Infinity where there is none. */
  toLower: number;
  /** From the spot up to the upper barrier; Infinity where there is none. */
  toUpper: number;
  /** Variance of the move over the window: volatility squared times years. */
  variance: number;
  /** Mean of the move over the window; minus half the variance where the price itself has none. */
  drift: number;
}

/** Reflections to each side: enough for 1e-12 where variance is below {@link SWITCH_RATIO} of w². */
const REFLECTIONS = 2;

/** Fourier terms: enough for 1e-12 where variance is above {@link SWITCH_RATIO} of w². */
const FOURIER_TERMS = 7;

/** Variance over squared width of the corridor at which one sum takes over from the other. */
const SWITCH_RATIO = 0.15;

/** A barrier further than this many deviations from the path is never met: odds below 1e-32. */
const REACH_DEVIATIONS = 12;

/** How far barriers watched at intervals seem to stand off (Broadie, Glasserman and Kou, 1997). */
const DISCRETE_SHIFT = 0.582_597_157_939_010_6;

/**
 * Probability that the path stays inside the corridor to the end, watched at every moment. 0 where
 * the spot is on a barrier or outside.
 */
export function stayProbability(corridor: Corridor): number {
  const { toLower, toUpper, variance, drift } = corridor;
  if (toLower <= 0 || toUpper <= 0) return 0;
  // Nearer barriers that are out of reach change nothing, and keep all that follows finite.
  const reach = REACH_DEVIATIONS * Math.sqrt(variance) + Math.abs(drift);
  if (toLower >= reach && toUpper >= reach) return 1;
  const near = {
    toLower: Math.min(toLower, reach),
    toUpper: Math.min(toUpper, reach),
    variance,
    drift,
  };
  const width = near.toLower + near.toUpper;
  const probability = variance < SWITCH_RATIO * width * width
    ? imageSum(near, REFLECTIONS)
    : fourierSum(near, FOURIER_TERMS);
  return Math.min(1, Math.max(0, probability));
}

/** {@link stayProbability} as a sum over reflections of the path: few are needed for short windows. */
export function imageSum(corridor: Corridor, reflections: number): number {
  const { toLower: x, toUpper, variance, drift } = corridor;
  const width = x + toUpper;
  const tilt = drift / variance;
  const deviation = Math.sqrt(variance);
  let sum = 0;
  for (let n = -reflections; n <= reflections; n++) {
    const shift = 2 * n * width;
    sum += Math.exp(shift * tilt) * normalBetween(
      (-x - shift - drift) / deviation,
      (width - x - shift - drift) / deviation,
    );
    sum -= Math.exp((shift - 2 * x) * tilt) * normalBetween(
      (x - shift - drift) / deviation,
      (width + x - shift - drift) / deviation,
    );
  }
  return sum;
}

/** {@link stayProbability} as a Fourier series: few terms are needed for long windows. */
export function fourierSum(corridor: Corridor, terms: number): number {
  const { toLower: x, toUpper, variance, drift } = corridor;
  const width = x + toUpper;
  const tilt = drift / variance;
  const atUpper = Math.exp(tilt * width);
  let sum = 0;
  for (let n = 1; n <= terms; n++) {
    const k = n * Math.PI / width;
    const sign = n % 2 === 0 ? 1 : -1;
    sum += Math.sin(k * x) * k * (1 - sign * atUpper) / (k * k + tilt * tilt) *
      Math.exp(-0.5 * variance * k * k);
  }
  return 2 / width * Math.exp(-tilt * x - 0.5 * tilt * tilt * variance) * sum;
}

/**
 * How far to move each barrier away from the spot, in logarithms, where the path is watched only
 * every so often.
 *
 * @param stepVariance Variance of the move between two looks.
 */
export function discreteShift(stepVariance: number): number {
  return DISCRETE_SHIFT * Math.sqrt(stepVariance);
}
