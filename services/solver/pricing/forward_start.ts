import { type Corridor, stayProbability } from "./double_no_touch.ts";
import { gaussLegendre, integrate } from "./gauss_legendre.ts";
import { normalBetween } from "./normal.ts";

/** A corridor whose window begins later; until then the price may go where it likes. */
export interface ForwardCorridor extends Corridor {
  /** Variance of the move until the window begins. */
  startVariance: number;
  /** Mean of the move until the window begins. */
  startDrift: number;
  /** How far the barriers seem to stand off once the window runs; the start itself is exact. */
  watchShift: number;
}

/** Where the price is when the window begins: further out than this the odds are below 1e-18. */
const START_DEVIATIONS = 9;

/** Further than this from both barriers at the start, the path stays inside: odds of less 1e-15. */
const EDGE_DEVIATIONS = 8.5;

/** Points on each stretch: within 1e-9 of a rule with ten times as many. */
const QUADRATURE = gaussLegendre(48);

/**
 * Probability that the price is inside when the window begins, and stays inside. The barriers are as
 * seen from the spot of now, which may lie outside of them (a negative distance).
 */
export function forwardStayProbability(corridor: ForwardCorridor): number {
  const { toLower, toUpper, variance, drift, startVariance, startDrift, watchShift } = corridor;
  const stayFrom = (move: number) =>
    stayProbability({
      toLower: toLower + move + watchShift,
      toUpper: toUpper - move + watchShift,
      variance,
      drift,
    });
  if (startVariance <= 0) return toLower < 0 || toUpper < 0 ? 0 : stayFrom(0);
  const deviation = Math.sqrt(startVariance);
  const scaled = (move: number) => (move - startDrift) / deviation;
  const between = (from: number, to: number) =>
    from < to
      ? integrate(
        QUADRATURE,
        from,
        to,
        (move) => Math.exp(-(scaled(move) ** 2) / 2) * stayFrom(move),
      ) / (deviation * Math.sqrt(2 * Math.PI))
      : 0;
  const lowest = Math.max(-toLower, startDrift - START_DEVIATIONS * deviation);
  const highest = Math.min(toUpper, startDrift + START_DEVIATIONS * deviation);
  if (lowest >= highest) return 0;
  // Where no barrier is in reach the path stays inside, and only the start has to be counted.
  const edge = EDGE_DEVIATIONS * Math.sqrt(variance) + Math.abs(drift);
  const safeFrom = Math.max(lowest, edge - toLower);
  const safeTo = Math.min(highest, toUpper - edge);
  const probability = safeFrom < safeTo
    ? between(lowest, safeFrom) + normalBetween(scaled(safeFrom), scaled(safeTo)) +
      between(safeTo, highest)
    : between(lowest, highest);
  return Math.min(1, probability);
}
