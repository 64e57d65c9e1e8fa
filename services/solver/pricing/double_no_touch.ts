/**
 * The probability that a price stays between two barriers. A box thesis is a double no-touch
 * option; the logarithm of the price is a Brownian motion with drift.
 *
 * Formulas: Hui, "One-touch double barrier binary option values", 1996; Haug, "The complete guide
 * to option pricing formulas", 2007, p. 180.
 */
import { normalBetween } from "./normal.ts";

/** A motion between two barriers, in logarithms of the price over the whole window. */
export interface Corridor {
  /** From the spot down to the lower barrier; Infinity if there is none. */
  toLower: number;
  /** From the spot up to the upper barrier; Infinity if there is none. */
  toUpper: number;
  /** Variance of the move over the window: volatility squared times years. */
  variance: number;
  /** Mean of the move over the window; minus half the variance if the price itself has no trend. */
  drift: number;
}

/** Fourier terms: enough for 1e-12 where variance is above {@link SWITCH_RATIO} of w². */
const FOURIER_TERMS = 7;

/** Ratio of variance to the corridor's squared width at which one sum replaces the other. */
const SWITCH_RATIO = 0.15;

/** A barrier further away than this many deviations is never reached: odds below 1e-16. */
const REACH_DEVIATIONS = 8.5;

/** Terms of the Fourier series below e to this power are left out. */
const EXPONENT_MAX = 36;

/**
 * Probability that a continuously checked path stays inside the corridor to the end. 0 if the spot
 * is on a barrier or outside.
 */
export function noTouchProbability(corridor: Corridor): number {
  const { toLower, toUpper, variance, drift } = corridor;
  if (toLower <= 0 || toUpper <= 0) return 0;
  // Moving unreachable barriers closer changes nothing and keeps the sums finite.
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
    ? imageSum(near)
    : fourierSum(near, FOURIER_TERMS);
  return Math.min(1, Math.max(0, probability));
}

/**
 * {@link noTouchProbability} as a sum over reflections of the path: where variance is below
 * {@link SWITCH_RATIO} of w², all other terms are below 1e-13.
 */
function imageSum({ toLower: x, toUpper, variance, drift }: Corridor): number {
  const width = x + toUpper;
  const tilt = drift / variance;
  const scale = 1 / Math.sqrt(variance);
  const between = (from: number, to: number) => {
    const lower = (from - drift) * scale;
    const upper = (to - drift) * scale;
    return lower > REACH_DEVIATIONS || upper < -REACH_DEVIATIONS ? 0 : normalBetween(lower, upper);
  };
  const lap = Math.exp(2 * width * tilt);
  const back = Math.exp(-2 * x * tilt);
  return between(-x, toUpper) - back * between(x, width + x) +
    lap * (between(-x - 2 * width, -x - width) - back * between(x - 2 * width, x - width)) +
    (between(2 * width - x, 3 * width - x) - back * between(x + 2 * width, x + 3 * width)) / lap -
    lap * lap * back * between(x - 4 * width, x - 3 * width);
}

/** {@link noTouchProbability} as a Fourier series: long windows need few terms. */
export function fourierSum(corridor: Corridor, terms: number): number {
  const { toLower: x, toUpper, variance, drift } = corridor;
  const width = x + toUpper;
  const tilt = drift / variance;
  const atUpper = Math.exp(tilt * width);
  let sum = 0;
  for (let n = 1; n <= terms; n++) {
    const k = n * Math.PI / width;
    const exponent = 0.5 * variance * k * k;
    if (exponent > EXPONENT_MAX) break;
    const sign = n % 2 === 0 ? 1 : -1;
    sum += Math.sin(k * x) * k * (1 - sign * atUpper) / (k * k + tilt * tilt) *
      Math.exp(-exponent);
  }
  return 2 / width * Math.exp(-tilt * x - 0.5 * tilt * tilt * variance) * sum;
}
