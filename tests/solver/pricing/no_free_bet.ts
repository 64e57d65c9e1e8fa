/**
 * Quotes of the whole domain, and their value by a method that shares no code with the strategy:
 * the density carried forward on panels, for up to some hundred checks. Beyond that, the reference
 * is the continuous formula with a constant shift, which is good to 0.05/n there.
 */
import fc from "fast-check";
import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import { YEAR_MS } from "../../../lib/time.ts";
import { barrierShift } from "../../../services/solver/pricing/barrier_shift.ts";
import { noTouchProbability } from "../../../services/solver/pricing/double_no_touch.ts";
import { payoutFor, priceBox } from "../../../services/solver/pricing/box_price.ts";
import { forecastOf } from "../../../services/solver/pricing/volatility_forecast.ts";

const NOW_MS = 1_700_000_000_000;
const SPOT = 10n ** 15n;
const BET = 1_000_000_000n;

/**
 * Up to this many checks, or this many moves where prices stand still, the lattice is the
 * reference.
 */
const LATTICE_CHECKS_MAX = 150;

/** Length of a panel of the lattice, in deviations of a step. */
const PANEL_STEPS = 1;

/** A bet to be quoted, in terms of the model. */
export interface Scenario {
  volatility: number;
  spread: number;
  still: number;
  checks: number;
  /** Distances to the bounds in deviations of the move over the window; 0 is on the bound. */
  toLower: number;
  toUpper: number;
  spotAgeMs: number;
  userLeadMs: number;
  margin: number;
  /** Share of the winnings withheld for similar bets. */
  skew: number;
}

const distance = fc.oneof(
  fc.constant(0),
  fc.double({ min: 0, max: 0.5, noNaN: true }),
  fc.double({ min: 0, max: 4, noNaN: true }),
  fc.constant(50),
);

/** Scenarios of the whole domain: 1 s to a day, at the bound and far from it. */
export const SCENARIOS: fc.Arbitrary<Scenario> = fc.record({
  volatility: fc.double({ min: 0.1, max: 3, noNaN: true }),
  spread: fc.oneof(
    { weight: 4, arbitrary: fc.constant(0) },
    fc.double({ min: 0.25, max: 1, noNaN: true }),
  ),
  still: fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.double({ min: 0.001, max: 0.99, noNaN: true }) },
  ),
  checks: fc.oneof(
    { weight: 12, arbitrary: fc.integer({ min: 1, max: 12 }) },
    { weight: 1, arbitrary: fc.integer({ min: 13, max: LATTICE_CHECKS_MAX }) },
    { weight: 6, arbitrary: fc.integer({ min: LATTICE_CHECKS_MAX + 1, max: 864_000 }) },
  ),
  toLower: distance,
  toUpper: distance,
  spotAgeMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2_000 })),
  userLeadMs: fc.constantFrom(0, 100, 1_000),
  margin: fc.constantFrom(0, 0.001, 0.03, 0.05),
  skew: fc.constantFrom(0, 0, 0.1, 0.5),
});

/** @returns The quote and its worth per bet, if that is above 1 less the margin. */
export function findFreeBet(scenario: Scenario): { worth: number; scenario: Scenario } | undefined {
  const { volatility, spread, still, checks, spotAgeMs, userLeadMs, margin, skew } = scenario;
  const stepDeviation = volatility * Math.sqrt(SLOT_MS / YEAR_MS);
  const move = stepDeviation * Math.sqrt(checks);
  const lower = BigInt(Math.round(1e15 * Math.exp(-scenario.toLower * move)));
  const upper = BigInt(Math.round(1e15 * Math.exp(scenario.toUpper * move)));
  if (lower >= upper) return undefined;
  // A check of now, which the spot passes, and `checks` to come.
  const box = {
    spot: SPOT,
    lower,
    upper,
    nowMs: NOW_MS,
    startMs: NOW_MS,
    endMs: NOW_MS + (checks + 1) * SLOT_MS,
  };
  const model = { forecast: forecastOf(volatility, spread), stillShare: still };
  const { chargedProbability } = priceBox(box, model, spotAgeMs + userLeadMs, margin);
  const payout = payoutFor(BET, chargedProbability, margin, skew);
  if (payout === undefined) return undefined;
  const toLower = Math.log(1e15 / Number(lower));
  const toUpper = Math.log(Number(upper) / 1e15);
  let probability = 0;
  for (const node of model.forecast.nodes) {
    const deviation = node.volatility * Math.sqrt(SLOT_MS / YEAR_MS);
    probability += node.weight * referenceProbability(toLower, toUpper, deviation, checks, still);
  }
  const worth = Number(payout) / Number(BET) * probability;
  return worth > 1 - margin + tolerance(checks, still) ? { worth, scenario } : undefined;
}

/** Whether the continuous formula is the reference: beyond what the lattice can follow. */
function isContinuous(checks: number, still: number): boolean {
  const moves = checks * (1 - still);
  return (still === 0 ? checks : moves + 8 * Math.sqrt(moves * still)) > LATTICE_CHECKS_MAX;
}

/** Error of the references, times the highest payout of 10; rare large moves have fatter tails. */
function tolerance(checks: number, still: number): number {
  if (!isContinuous(checks, still)) return 2e-5;
  return still === 0 ? 1e-6 : 5e-5;
}

function referenceProbability(
  toLower: number,
  toUpper: number,
  deviation: number,
  checks: number,
  still: number,
): number {
  if (isContinuous(checks, still)) {
    const variance = deviation * deviation * checks;
    // Fewer moves are seen less often: without a shift the formula is too low.
    const shift = still === 0 ? barrierShift(deviation * deviation) : 0;
    return noTouchProbability({
      toLower: toLower + shift,
      toUpper: toUpper + shift,
      variance,
      drift: -variance / 2,
    });
  }
  const moving = deviation / Math.sqrt(1 - still);
  return latticeProbability(toLower / moving, toUpper / moving, -moving / 2, checks, still);
}

/**
 * Survival of a number of checks, at each of which the price is still with a probability: that of
 * each number of moves, with its binomial weight. Distances and drift in deviations of a move.
 */
export function latticeProbability(
  toLower: number,
  toUpper: number,
  drift: number,
  checks: number,
  still: number,
): number {
  const moves = still === 0 ? checks : Math.min(checks, LATTICE_CHECKS_MAX);
  const byMoves = latticeSurvival(toLower, toUpper, drift, moves);
  if (still === 0) return byMoves[checks]!; // one per number of moves
  let probability = 0;
  let weight = Math.log(still) * checks;
  for (let count = 0; count <= moves; count++) {
    probability += Math.exp(weight) * byMoves[count]!; // one per number of moves
    weight += Math.log((checks - count) / (count + 1) * (1 - still) / still);
  }
  return probability;
}

/** Nodes of Gauss and Legendre on [-1, 1] for four points. */
const NODES = [-0.861136311594053, -0.339981043584856, 0.339981043584856, 0.861136311594053];
const NODE_WEIGHTS = [0.347854845137454, 0.652145154862546, 0.652145154862546, 0.347854845137454];

/** Moves further than this many deviations are left out: odds below 1e-11. */
const BAND = 7;

/** Survival after 0 to `steps` moves of deviation 1: the density carried forward over panels. */
function latticeSurvival(toLower: number, toUpper: number, drift: number, steps: number): number[] {
  const reach = 7 * Math.sqrt(steps) + 1;
  const lower = -Math.min(toLower, reach);
  const upper = Math.min(toUpper, reach);
  const panels = Math.max(2, Math.ceil((upper - lower) / PANEL_STEPS));
  const half = (upper - lower) / panels / 2;
  const points: number[] = [];
  const weights: number[] = [];
  for (let panel = 0; panel < panels; panel++) {
    NODES.forEach((node, index) => {
      points.push(lower + (2 * panel + 1 + node) * half);
      weights.push(NODE_WEIGHTS[index]! * half); // as many as nodes
    });
  }
  const count = points.length;
  const density = (z: number) => Math.exp(-z * z / 2) / Math.sqrt(2 * Math.PI);
  const reachable = points.map((point) => {
    const from = points.findIndex((other) => point - other - drift <= BAND);
    const past = points.findIndex((other) => point - other - drift < -BAND);
    return { from: from < 0 ? 0 : from, end: past < 0 ? count : past };
  });
  const transitions = reachable.map(({ from, end }, to) =>
    Float64Array.from(
      { length: Math.max(0, end - from) },
      (_, index) => weights[from + index]! * density(points[to]! - points[from + index]! - drift),
    )
  );
  const result = [1];
  let values = Float64Array.from(points, (point) => density(point - drift));
  for (let step = 1; step <= steps; step++) {
    result.push(values.reduce((sum, value, index) => sum + value * weights[index]!, 0));
    if (step === steps) break;
    const before = values;
    values = Float64Array.from(transitions, (row, to) => {
      const { from } = reachable[to]!; // one per point
      let sum = 0;
      for (let index = 0; index < row.length; index++) sum += row[index]! * before[from + index]!;
      return sum;
    });
  }
  return result;
}
