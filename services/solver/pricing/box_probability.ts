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
  return new NoTouch(checks, motion).after(checks.steps);
}

/**
 * {@link noTouchAtChecks} of the first check and some of the steps after it. For speed, ask for the
 * most steps first: their recursion also has the results of fewer steps.
 */
export class NoTouch {
  readonly #checks: Checks;
  readonly #hasBegun: boolean;
  readonly #stillShare: number;
  /** Variance of the move until the first check, and of a move between two checks. */
  readonly #waitVariance: number;
  readonly #stepVariance: number;
  /** The current slot may be still like any other: its check counts as one more step. */
  readonly #extraSteps: number;
  #recursion: Recursion | undefined;

  constructor(checks: Checks, { volatility, stillShare = 0, startFactor = 1 }: PriceMotion) {
    const { waitMs } = checks;
    const variancePerMs = volatility * volatility / YEAR_MS;
    this.#checks = checks;
    this.#hasBegun = waitMs < SLOT_MS;
    this.#stillShare = stillShare < STILL_SHARE_MIN ? 0 : Math.min(STILL_SHARE_MAX, stillShare);
    this.#waitVariance = variancePerMs * waitMs * (this.#hasBegun ? 1 : startFactor ** 2);
    // Rarer moves are larger, so that the variance over time stays the same.
    this.#stepVariance = variancePerMs * SLOT_MS / (1 - this.#stillShare);
    this.#extraSteps = this.#stillShare > 0 && this.#hasBegun && waitMs > 0 ? 1 : 0;
  }

  after(steps: number): number {
    const { toLower, toUpper } = this.#checks;
    if (this.#hasBegun && (toLower < 0 || toUpper < 0)) return 0;
    const stillShare = this.#stillShare;
    const moves = steps * (1 - stillShare);
    const exact = moves <= EXACT_MOVES_MAX ? this.#afterExactly(steps) : undefined;
    if (exact !== undefined) return exact;
    // The number of moves is binomial, with mean `moves` and variance `moves * stillShare`. With
    // many moves one count stands for all: the mean less `stillShare`. Exact would be 0.75 of it,
    // since near a barrier survival falls like count^-1/2; the rest makes no difference.
    if (moves > COUNTED_MOVES_MAX || stillShare === 0) return this.#afterMoves(moves - stillShare);
    // Otherwise three counts have its mean and variance.
    const reach = OUTER_DEVIATIONS * Math.sqrt(moves * stillShare);
    return CENTRE_WEIGHT * this.#afterMoves(moves) +
      OUTER_WEIGHT *
        (this.#afterMoves(Math.max(0, moves - reach)) + this.#afterMoves(moves + reach));
  }

  /** Survival of a number of moves, by shifted barriers. */
  #afterMoves(moves: number): number {
    if (this.#hasBegun) return this.#afterMovesOfBegun(moves);
    // Until a later window begins, still prices may all stay where they are.
    const stay = this.#stillShare ** Math.ceil(this.#checks.waitMs / SLOT_MS);
    return stay * this.#afterMovesOfFuture(0, moves) +
      (1 - stay) * this.#afterMovesOfFuture(this.#waitVariance / (1 - stay), moves);
  }

  /** For a window that has begun: the rest of the current slot may contain a move as well. */
  #afterMovesOfBegun(moves: number): number {
    const { toLower, toUpper } = this.#checks;
    const stepDeviation = Math.sqrt(this.#stepVariance);
    const variance = this.#stepVariance * moves + this.#waitVariance;
    return noTouchProbability({
      toLower: shiftedDistance(toLower, stepDeviation),
      toUpper: shiftedDistance(toUpper, stepDeviation),
      variance,
      // The logarithm of a price without a trend falls by half the variance.
      drift: -variance / 2,
    });
  }

  /** For a window that begins after the wait, wherever the price is then. */
  #afterMovesOfFuture(waitVariance: number, moves: number): number {
    const { toLower, toUpper } = this.#checks;
    const variance = this.#stepVariance * moves;
    return forwardNoTouchProbability({
      toLower,
      toUpper,
      variance,
      drift: -variance / 2,
      startVariance: waitVariance,
      startDrift: -waitVariance / 2,
      stepDeviation: Math.sqrt(this.#stepVariance),
    });
  }

  /** Survival averaged over the number of steps that are moves; undefined without a recursion. */
  #afterExactly(steps: number): number | undefined {
    if (this.#recursion === undefined || this.#recursion.steps < steps) {
      this.#recursion = { steps, byMoves: this.#byMoves(steps + this.#extraSteps) };
    }
    const { byMoves } = this.#recursion;
    if (byMoves === undefined) return undefined;
    if (byMoves === "certain") return 1;
    if (this.#stillShare === 0) return byMoves[steps];
    const weights = movesWeights(steps + this.#extraSteps, this.#stillShare);
    const sum = weights.reduce((sum, weight, count) => sum + weight * byMoves[count]!, 0); // one each
    return Math.min(1, sum);
  }

  /** Survival for each number of moves, up to the largest likely number within the slots. */
  #byMoves(slots: number): Recursion["byMoves"] {
    const { toLower, toUpper, waitMs } = this.#checks;
    const stillShare = this.#stillShare;
    const variance = stillShare > 0 && this.#hasBegun ? 0 : this.#waitVariance;
    // A bound out of reach is moved to the reach, so that fewer nodes are needed.
    const expected = slots * (1 - stillShare);
    const reach = variance > 0 ? Infinity : reachOfMoves(expected) * Math.sqrt(this.#stepVariance);
    if (toLower >= reach && toUpper >= reach) return "certain";
    return noTouchByStep({
      toLower: Math.min(toLower, reach),
      toUpper: Math.min(toUpper, reach),
      first: this.#hasBegun
        ? [{ variance, drift: -variance / 2, weight: 1 }]
        : movesUntilStart(waitMs, variance, stillShare),
      step: { variance: this.#stepVariance, drift: -this.#stepVariance / 2 },
    }, movesMax(slots, stillShare));
  }
}

/** Survival by the number of moves. */
interface Recursion {
  steps: number;
  /** "certain" if both bounds are out of reach, undefined if they are too far apart. */
  byMoves: Float64Array | "certain" | undefined;
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
