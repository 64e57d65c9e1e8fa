import { slotAtOrAfter } from "../../../lib/prices/price_slots.ts";
import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import { YEAR_MS } from "../../../lib/time.ts";
import { shiftedDistance } from "./barrier_shift.ts";
import { noTouchByStep, type WeightedMove } from "./discrete_no_touch.ts";
import { noTouchProbability } from "./double_no_touch.ts";
import { forwardNoTouchProbability } from "./forward_start.ts";
import { CENTRE_WEIGHT, OUTER_DEVIATIONS, OUTER_WEIGHT } from "./quadrature.ts";

/** A box at one moment, not broken so far, in the numbers that decide its price. */
export interface BoxToPrice {
  /** Current price; prices may have any unit as long as all have the same. */
  spot: bigint;
  lower: bigint;
  upper: bigint;
  nowMs: number;
  startMs: number;
  endMs: number;
}

/** The checks of a box that are still to come, in logarithms of the price. */
interface Checks {
  /** From the spot down to the lower bound; negative if the spot is below it. */
  toLower: number;
  toUpper: number;
  /** Time until the first check. */
  waitMs: number;
  /** Checks after the first one, {@link SLOT_MS} apart. */
  steps: number;
}

/** The moves of the price in one scenario. */
export interface PriceMotion {
  /** Annualised. */
  volatility: number;
  /** Share of slots in which the price does not move, 0 to below 1. */
  stillShare?: number | undefined;
  /** Volatility until the start of a later window, as a share of `volatility`; 1 by default. */
  startFactor?: number | undefined;
}

/**
 * Most expected moves for the exact recursion; beyond, shifted barriers are wrong by under 0.005, or
 * too high by up to 0.05 for a price at a bound whose next check is sooner than a slot away.
 */
const EXACT_MOVES_MAX = 25;

/** Up to this many expected moves, their number is so uncertain that three numbers are averaged. */
const COUNTED_MOVES_MAX = 300;

/** Below this share of still slots, the effect is too small to see. */
const STILL_SHARE_MIN = 1e-6;

/**
 * The highest share of still slots that is used: a price that never moves would never lose a bet.
 */
const STILL_SHARE_MAX = 0.9999;

/**
 * The checks to come (protocol, "Settlement of a box thesis": one per 100 ms slot of the window).
 *
 * @returns Undefined if no check is left.
 */
export function priceChecksOf(
  { spot, lower, upper, nowMs, startMs, endMs }: BoxToPrice,
): Checks | undefined {
  const firstSlot = Math.max(slotAtOrAfter(startMs), slotAtOrAfter(nowMs));
  const lastSlot = slotAtOrAfter(endMs) - 1;
  if (lastSlot < firstSlot) return undefined;
  const price = Number(spot);
  return {
    toLower: Math.log(price / Number(lower)),
    toUpper: Math.log(Number(upper) / price),
    waitMs: firstSlot * SLOT_MS - nowMs,
    steps: lastSlot - firstSlot,
  };
}

/**
 * Probability that the price lies inside the box at every check that is still to come, if it moves
 * without a trend.
 */
export function noTouchAtChecks(checks: Checks, motion: PriceMotion): number {
  return createNoTouch(checks, motion)(checks.steps);
}

/**
 * {@link noTouchAtChecks} of the first check and some of the steps after it. For speed, ask for the
 * most steps first: their recursion also has the results of fewer steps.
 */
export function createNoTouch(checks: Checks, motion: PriceMotion): (steps: number) => number {
  const { toLower, toUpper, waitMs } = checks;
  const hasBegun = waitMs < SLOT_MS;
  if (hasBegun && (toLower < 0 || toUpper < 0)) return () => 0;
  const stillShare = clampedStillShare(motion.stillShare ?? 0);
  const variancePerMs = motion.volatility * motion.volatility / YEAR_MS;
  const waitVariance = variancePerMs * waitMs * (hasBegun ? 1 : (motion.startFactor ?? 1) ** 2);
  // Rarer moves are larger, so that the variance over time stays the same.
  const stepVariance = variancePerMs * SLOT_MS / (1 - stillShare);
  // Until a later window begins, still prices may all stay where they are.
  const stayProbability = hasBegun ? 0 : stillShare ** Math.ceil(waitMs / SLOT_MS);
  const noTouchAfter = hasBegun
    ? (moves: number) => noTouchOfBegun(checks, waitVariance, stepVariance, moves)
    : (moves: number) =>
      stayProbability * noTouchOfFuture(checks, 0, stepVariance, moves) +
      (1 - stayProbability) *
        noTouchOfFuture(checks, waitVariance / (1 - stayProbability), stepVariance, moves);
  let recursion: Recursion | undefined;
  return (steps) => {
    const moves = steps * (1 - stillShare);
    if (moves <= EXACT_MOVES_MAX) {
      if (recursion === undefined || recursion.steps < steps) {
        recursion = recursionOf({ ...checks, steps }, waitVariance, stepVariance, stillShare);
      }
      const exact = afterSteps(recursion, steps, stillShare);
      if (exact !== undefined) return exact;
    }
    // The number of moves is binomial, with mean `moves` and variance `moves * stillShare`. With
    // many moves one count stands for all: the mean less `stillShare`. Exact would be 0.75 of it,
    // since near a barrier survival falls like count^-1/2; the rest makes no difference.
    if (moves > COUNTED_MOVES_MAX || stillShare === 0) return noTouchAfter(moves - stillShare);
    // Otherwise three counts have its mean and variance.
    const reach = OUTER_DEVIATIONS * Math.sqrt(moves * stillShare);
    return CENTRE_WEIGHT * noTouchAfter(moves) +
      OUTER_WEIGHT * (noTouchAfter(Math.max(0, moves - reach)) + noTouchAfter(moves + reach));
  };
}

/** Survival of a window that has begun: the rest of the current slot may contain a move as well. */
function noTouchOfBegun(
  { toLower, toUpper }: Checks,
  waitVariance: number,
  stepVariance: number,
  moves: number,
): number {
  const stepDeviation = Math.sqrt(stepVariance);
  const variance = stepVariance * moves + waitVariance;
  return noTouchProbability({
    toLower: shiftedDistance(toLower, stepDeviation),
    toUpper: shiftedDistance(toUpper, stepDeviation),
    variance,
    // The logarithm of a price without a trend falls by half the variance.
    drift: -variance / 2,
  });
}

/** Survival of a window that begins after the wait, wherever the price is then. */
function noTouchOfFuture(
  { toLower, toUpper }: Checks,
  waitVariance: number,
  stepVariance: number,
  moves: number,
): number {
  const variance = stepVariance * moves;
  return forwardNoTouchProbability({
    toLower,
    toUpper,
    variance,
    drift: -variance / 2,
    startVariance: waitVariance,
    startDrift: -waitVariance / 2,
    stepDeviation: Math.sqrt(stepVariance),
  });
}

function clampedStillShare(probability: number): number {
  return probability < STILL_SHARE_MIN ? 0 : Math.min(STILL_SHARE_MAX, probability);
}

/** Survival by the number of moves. */
interface Recursion {
  steps: number;
  /** The current slot may be still like any other: its check counts as one more step. */
  extraSteps: number;
  /** "certain" if both bounds are out of reach, undefined if they are too far apart. */
  byMoves: Float64Array | "certain" | undefined;
}

/** Survival for each number of moves, up to the largest likely number within the steps. */
function recursionOf(
  { toLower, toUpper, waitMs, steps }: Checks,
  firstVariance: number,
  stepVariance: number,
  stillShare: number,
): Recursion {
  const hasBegun = waitMs < SLOT_MS;
  const extraSteps = stillShare > 0 && hasBegun && waitMs > 0 ? 1 : 0;
  const slots = steps + extraSteps;
  const variance = stillShare > 0 && hasBegun ? 0 : firstVariance;
  const expected = slots * (1 - stillShare);
  const moves = movesMax(slots, stillShare);
  // A bound out of reach is moved to the reach, so that fewer nodes are needed.
  const reach = variance > 0 ? Infinity : reachOfMoves(expected) * Math.sqrt(stepVariance);
  if (toLower >= reach && toUpper >= reach) return { steps, extraSteps, byMoves: "certain" };
  const byMoves = noTouchByStep({
    toLower: Math.min(toLower, reach),
    toUpper: Math.min(toUpper, reach),
    first: hasBegun
      ? [{ variance, drift: -variance / 2, weight: 1 }]
      : movesUntilStart(waitMs, variance, stillShare),
    step: { variance: stepVariance, drift: -stepVariance / 2 },
  }, moves);
  return { steps, extraSteps, byMoves };
}

/** The move until a later window: if moves are rare, one for each number of them. */
function movesUntilStart(waitMs: number, variance: number, stillShare: number): WeightedMove[] {
  const slots = Math.ceil(waitMs / SLOT_MS);
  const expected = slots * (1 - stillShare);
  if (stillShare === 0 || expected > EXACT_MOVES_MAX) {
    return [{ variance, drift: -variance / 2, weight: 1 }];
  }
  return movesWeights(slots, stillShare).map((weight, count) => {
    const part = count / expected * variance;
    return { variance: part, drift: -part / 2, weight };
  });
}

/** The probability of more moves than this is below 1e-9. */
function movesMax(slots: number, stillShare: number): number {
  const expected = slots * (1 - stillShare);
  return Math.min(slots, Math.ceil(expected + 6 * Math.sqrt(expected * stillShare) + 5));
}

/** Survival averaged over the number of steps that are moves. */
function afterSteps(
  { byMoves, extraSteps }: Recursion,
  steps: number,
  stillShare: number,
): number | undefined {
  if (byMoves === undefined) return undefined;
  if (byMoves === "certain") return 1;
  if (stillShare === 0) return byMoves[steps];
  const weights = movesWeights(steps + extraSteps, stillShare);
  const sum = weights.reduce((sum, weight, count) => sum + weight * byMoves[count]!, 0); // one each
  return Math.min(1, sum);
}

/** Probability of each number of moves. */
function movesWeights(slots: number, stillShare: number): number[] {
  // Logarithms: with many slots, the probability of no move is below the smallest double.
  let log = slots * Math.log(stillShare);
  return Array.from({ length: movesMax(slots, stillShare) + 1 }, (_, count) => {
    const weight = Math.exp(log);
    log += Math.log((slots - count) / (count + 1) * (1 - stillShare) / stillShare);
    return weight;
  });
}

/** A bound is out of reach below these odds: the logarithm of 1e-6. */
const OUT_OF_REACH = Math.log(1e-6);

/** Halvings of an interval of five: to 1e-5. */
const REACH_HALVINGS = 20;

/**
 * How far a random number of moves gets, in deviations of a move, if the number is at most as
 * uncertain as Poisson's. Chernoff's bound, min over t of exp(λ (e^(t²/2) − 1) − t d), applied to
 * the largest sum by Doob's inequality.
 */
function reachOfMoves(expected: number): number {
  if (expected === 0) return 0;
  let [from, to] = [0, 8];
  for (let halving = 0; halving < REACH_HALVINGS; halving++) {
    const t = (from + to) / 2;
    const growth = Math.exp(t * t / 2);
    if (expected * (growth * (1 - t * t) - 1) > OUT_OF_REACH) from = t;
    else to = t;
  }
  return expected * to * Math.exp(to * to / 2);
}
