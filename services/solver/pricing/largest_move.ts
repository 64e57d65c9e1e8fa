/**
 * The largest move of a price within a window, as a mixture of three Brownian motions.
 *
 * The largest move of one motion is its deviation times a known random variable. If the deviation
 * is uncertain, the logarithm of the largest move spreads further, by a different amount on each
 * side. Three observed quantiles of windows therefore determine the three deviations of a
 * quadrature. A single bet sees one of these deviations, so averaging prices over them is
 * consistent (Piterbarg, "Mixture of models: a simple recipe for a … hangover?", 2003).
 */
import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import { YEAR_MS } from "../../../lib/time.ts";
import { barrierShift } from "./barrier_shift.ts";
import { noTouchAtChecks } from "./box_probability.ts";
import { noTouchProbability } from "./double_no_touch.ts";
import { CENTRE_WEIGHT, OUTER_DEVIATIONS, OUTER_WEIGHT } from "./quadrature.ts";

/** The logarithm of an uncertain deviation. */
export interface LogDeviation {
  median: number;
  /** Variance of the logarithm towards lower deviations. */
  lowerVariance: number;
  /** Variance of the logarithm towards higher deviations. */
  upperVariance: number;
}

/**
 * Median of the logarithm of the largest absolute value of a Brownian motion at time 1, and the
 * variances of normal distributions with its 10 and 90 % quantiles.
 */
const LOG_MEDIAN = 0.139;
const BELOW_VARIANCE = 0.153;
const ABOVE_VARIANCE = 0.174;

/** Deviations from the median to the 10 and 90 % quantiles of a normal distribution. */
const NORMAL_QUANTILE = 1.281_551_565_5;

/** Rounds until the quantiles agree to two thousandths. */
const ROUNDS = 8;

/** Halvings of an interval of about ten: to a thousandth. */
const HALVINGS = 14;

/** Probability that the largest absolute value has at most a logarithm, from -2.5 to 2. */
const TABLE_FROM = -2.5;
const TABLE_STEP = 0.02;
const TABLE = Float64Array.from({ length: 226 }, (_, index) => {
  const distance = Math.exp(TABLE_FROM + index * TABLE_STEP);
  return noTouchProbability({ toLower: distance, toUpper: distance, variance: 1, drift: 0 });
});

function unitMoveBelow(log: number): number {
  const position = (log - TABLE_FROM) / TABLE_STEP;
  if (position <= 0) return 0;
  if (position >= TABLE.length - 1) return 1;
  const index = Math.floor(position);
  const low = TABLE[index]!; // index and the next are within the table
  return low + (TABLE[index + 1]! - low) * (position - index);
}

/** Probability that the logarithm of the largest move is at most `log`. */
export function largestMoveBelow(
  log: number,
  { median, lowerVariance, upperVariance }: LogDeviation,
): number {
  const relative = log - median;
  return OUTER_WEIGHT * unitMoveBelow(relative + OUTER_DEVIATIONS * Math.sqrt(lowerVariance)) +
    CENTRE_WEIGHT * unitMoveBelow(relative) +
    OUTER_WEIGHT * unitMoveBelow(relative - OUTER_DEVIATIONS * Math.sqrt(upperVariance));
}

/** The logarithm that the largest move stays below with a probability. */
export function largestMoveQuantile(probability: number, deviation: LogDeviation): number {
  const reach = 3 +
    OUTER_DEVIATIONS * Math.sqrt(Math.max(deviation.lowerVariance, deviation.upperVariance));
  let [from, to] = [deviation.median - reach, deviation.median + reach];
  for (let halving = 0; halving < HALVINGS; halving++) {
    const centre = (from + to) / 2;
    if (largestMoveBelow(centre, deviation) < probability) from = centre;
    else to = centre;
  }
  return (from + to) / 2;
}

/** Deviation 1. */
const CERTAIN: LogDeviation = { median: 0, lowerVariance: 0, upperVariance: 0 };

/** Probabilities above this determine no quantile: the table is too coarse. */
const PROBABILITY_MAX = 0.9999;

/** The parameters of a window's path between its checks. */
interface CheckedPath {
  /** Deviation of the path's end. */
  deviation: number;
  /** Expected moves. */
  moves: number;
  /** Checks after the first one. */
  steps: number;
}

/**
 * Converts a window's largest move to that of a path without pauses: the logarithm of the move that
 * such a path stays below as often as this path stays below `move`. So even windows with few moves
 * teach the volatility that boxes are priced with.
 */
export function logOfEquivalentContinuousMove(
  move: number,
  { deviation, moves, steps }: CheckedPath,
): number {
  const stillShare = Math.max(0, 1 - moves / steps);
  const checks = { toLower: move, toUpper: move, waitMs: 0, steps };
  const volatility = deviation * Math.sqrt(YEAR_MS / (steps * SLOT_MS));
  const below = noTouchAtChecks(checks, { volatility, stillShare });
  if (below > PROBABILITY_MAX) return Math.log(move + barrierShift(deviation * deviation / moves));
  return Math.log(deviation) + largestMoveQuantile(below, CERTAIN);
}

/** The deviation whose largest moves have these quantiles at 10, 50 and 90 %. */
export function deviationFrom(low: number, median: number, high: number): LogDeviation {
  const variance = (distance: number) => (distance / NORMAL_QUANTILE) ** 2;
  const found: LogDeviation = {
    median: median - LOG_MEDIAN,
    lowerVariance: Math.max(0, variance(median - low) - BELOW_VARIANCE),
    upperVariance: Math.max(0, variance(high - median) - ABOVE_VARIANCE),
  };
  for (let round = 0; round < ROUNDS; round++) {
    const foundMedian = largestMoveQuantile(0.5, found);
    const belowMedian = foundMedian - largestMoveQuantile(0.1, found);
    const aboveMedian = largestMoveQuantile(0.9, found) - foundMedian;
    found.median += median - foundMedian;
    found.lowerVariance = Math.max(
      0,
      found.lowerVariance + variance(median - low) - variance(belowMedian),
    );
    found.upperVariance = Math.max(
      0,
      found.upperVariance + variance(high - median) - variance(aboveMedian),
    );
  }
  return found;
}
