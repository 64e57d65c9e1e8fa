/**
 * The probability that a price is inside two barriers at each of a few checks, by exact recursion.
 *
 * With few checks no continuity correction is good enough: at the barrier the constant shift is
 * wrong by 0.03 for 10 checks. The value function is carried backwards from check to check by
 * quadrature (Aitsahlia and Lai, "Valuation of discrete barrier and hindsight options", 1997).
 */
import { gaussLegendre, type Quadrature } from "./quadrature.ts";

/** A normal move, in logarithms of the price. */
export interface Move {
  variance: number;
  drift: number;
}

/** A move with its probability. */
export interface WeightedMove extends Move {
  weight: number;
}

/** Barriers that are checked once after a first move, then once after each further step. */
interface CheckedCorridor {
  /** From the spot down to the lower barrier; negative if the spot is below it. */
  toLower: number;
  toUpper: number;
  /**
   * The move until the first check: one of these, with a variance of 0 for a check of the spot
   * itself. The weights add up to 1.
   */
  first: readonly WeightedMove[];
  /** The move between two checks. */
  step: Move;
}

/** The path is cut this many deviations out: odds below 1e-9. */
const CUT_DEVIATIONS = 6.5;

/** Nodes per deviation of a step, plus {@link NODES_MIN}, give an error below 1e-9. */
const NODES_PER_STEP = 1.4;
const NODES_MIN = 12;
const NODES_BETWEEN_RULES = 8;

/** Widest corridor in deviations of a step: wider ones would need too many nodes. */
const STEPS_WIDE_MAX = 70;

/** Nodes over a first move that is shorter than a step. */
const FIRST_RULE = gaussLegendre(20);

/** Rules by their number of nodes, each made at its first use: all of them would take 45 ms of a start. */
const rules = new Map<number, Quadrature>();

/**
 * Probabilities to be inside at the first check and the next k, for k = 0 to `steps`.
 *
 * @returns Undefined if the corridor in reach is wider than {@link STEPS_WIDE_MAX} steps, or NaN.
 */
export function noTouchByStep(corridor: CheckedCorridor, steps: number): Float64Array | undefined {
  const { first, step } = corridor;
  const stepDeviation = Math.sqrt(step.variance);
  const firstVariance = Math.max(...first.map(({ variance }) => variance));
  const reach = CUT_DEVIATIONS * Math.sqrt(firstVariance + steps * step.variance) +
    Math.max(...first.map(({ drift }) => Math.abs(drift))) + steps * Math.abs(step.drift);
  const lower = -Math.min(corridor.toLower, reach);
  const upper = Math.min(corridor.toUpper, reach);
  const result = new Float64Array(steps + 1);
  if (lower > upper || (firstVariance === 0 && (lower > 0 || upper < 0))) return result;
  if (stepDeviation === 0 || (corridor.toLower >= reach && corridor.toUpper >= reach)) {
    return result.fill(1);
  }
  const width = (upper - lower) / stepDeviation;
  if (!(width <= STEPS_WIDE_MAX)) return undefined; // NaN has no rule
  const nodes = nodesOver(ruleFor(width), lower, upper);
  const kernel = kernelOf(nodes, step.drift, stepDeviation);
  const start = firstWeights(nodes, lower, upper, corridor);
  return carryBack(nodes, kernel, start, result);
}

interface Nodes {
  points: Float64Array;
  weights: Float64Array;
}

/** What the first moves lead to. */
interface StartWeights {
  /** Probability to be inside at the first check. */
  inside: number;
  /** Weights of the values one step later. */
  next: Float64Array;
}

function ruleFor(width: number): Quadrature {
  const spans = Math.ceil((NODES_MIN + NODES_PER_STEP * width) / NODES_BETWEEN_RULES);
  return rules.getOrInsertComputed(NODES_BETWEEN_RULES * spans, gaussLegendre);
}

function nodesOver({ points, weights }: Quadrature, lower: number, upper: number): Nodes {
  const half = (upper - lower) / 2;
  const middle = (upper + lower) / 2;
  const count = points.length;
  const nodes = { points: new Float64Array(count), weights: new Float64Array(count) };
  for (let i = 0; i < count; i++) {
    nodes.points[i] = middle + half * points[i]!; // indices are below the count
    nodes.weights[i] = half * weights[i]!;
  }
  return nodes;
}

/** Adds the weight of the value at each node for a path that is at `from` with a probability. */
function addTransition(
  into: Float64Array,
  { points, weights }: Nodes,
  from: number,
  deviation: number,
  probability: number,
): void {
  const scale = probability / (deviation * Math.sqrt(2 * Math.PI));
  for (let j = 0; j < points.length; j++) {
    const z = (points[j]! - from) / deviation; // one weight per point
    if (Math.abs(z) <= CUT_DEVIATIONS) into[j]! += weights[j]! * scale * Math.exp(-0.5 * z * z);
  }
}

/** Transitions between all nodes. Both directions share one exponential: the drift is a factor. */
function kernelOf({ points, weights }: Nodes, drift: number, deviation: number): Float64Array {
  const count = points.length;
  const kernel = new Float64Array(count * count);
  const variance = deviation * deviation;
  const scale = Math.exp(-0.5 * drift * drift / variance) / (deviation * Math.sqrt(2 * Math.PI));
  const tilts = points.map((point) => Math.exp(point * drift / variance));
  const reach = CUT_DEVIATIONS + Math.abs(drift) / deviation;
  for (let i = 0; i < count; i++) {
    for (let j = i; j < count; j++) {
      const z = (points[j]! - points[i]!) / deviation; // indices below the count, as below
      if (Math.abs(z) > reach) break;
      const density = scale * Math.exp(-0.5 * z * z);
      const tilt = tilts[j]! / tilts[i]!;
      kernel[i * count + j] = weights[j]! * density * tilt;
      kernel[j * count + i] = weights[i]! * density / tilt;
    }
  }
  return kernel;
}

function firstWeights(
  nodes: Nodes,
  lower: number,
  upper: number,
  { first, step }: CheckedCorridor,
): StartWeights {
  const stepDeviation = Math.sqrt(step.variance);
  const next = new Float64Array(nodes.points.length);
  let inside = 0;
  const startAt = (from: number, probability: number) => {
    inside += probability;
    addTransition(next, nodes, from + step.drift, stepDeviation, probability);
  };
  const density = new Float64Array(nodes.points.length);
  for (const { weight, variance, drift } of first) {
    const deviation = Math.sqrt(variance);
    if (deviation >= stepDeviation) {
      addTransition(density, nodes, drift, deviation, weight);
      continue;
    }
    if (variance === 0) {
      if (lower <= 0 && upper >= 0) startAt(0, weight);
      continue;
    }
    // The density of a short first move is narrow: it needs nodes of its own.
    const from = Math.max(lower, drift - CUT_DEVIATIONS * deviation);
    const to = Math.min(upper, drift + CUT_DEVIATIONS * deviation);
    if (from >= to) continue;
    const starts = nodesOver(FIRST_RULE, from, to);
    const narrow = new Float64Array(starts.points.length);
    addTransition(narrow, starts, drift, deviation, weight);
    narrow.forEach((probability, i) => startAt(starts.points[i]!, probability)); // one per point
  }
  density.forEach((probability, i) => startAt(nodes.points[i]!, probability));
  return { inside: Math.min(1, inside), next };
}

function carryBack(
  { points }: Nodes,
  kernel: Float64Array,
  { inside, next }: StartWeights,
  result: Float64Array,
): Float64Array {
  const count = points.length;
  let values = new Float64Array(count).fill(1);
  let carried = new Float64Array(count);
  result[0] = inside;
  for (let step = 1; step < result.length; step++) {
    let probability = 0;
    for (let j = 0; j < count; j++) probability += next[j]! * values[j]!;
    result[step] = Math.min(result[step - 1]!, probability);
    if (step + 1 === result.length) break;
    for (let i = 0, at = 0; i < count; i++) {
      // Four independent sums run in parallel in the processor; rules have a multiple of 4 points.
      let [a, b, c, d] = [0, 0, 0, 0];
      for (let j = 0; j < count; j += 4, at += 4) {
        a += kernel[at]! * values[j]!;
        b += kernel[at + 1]! * values[j + 1]!;
        c += kernel[at + 2]! * values[j + 2]!;
        d += kernel[at + 3]! * values[j + 3]!;
      }
      carried[i] = a + b + (c + d);
    }
    [values, carried] = [carried, values];
  }
  return result;
}
