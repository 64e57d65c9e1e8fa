import { shiftedDistance } from "./barrier_shift.ts";
import { type Corridor, noTouchProbability } from "./double_no_touch.ts";
import { gaussLegendre, integrate } from "./quadrature.ts";
import { normalBetween } from "./normal.ts";

/** A corridor whose window begins later; until then the price moves freely. */
export interface ForwardCorridor extends Corridor {
  /** Variance of the move until the window begins. */
  startVariance: number;
  /** Mean of the move until the window begins. */
  startDrift: number;
  /** Deviation of the move between two checks of the running window; 0 for continuous checks. */
  stepDeviation: number;
}

/** The price at the start lies within this many deviations: odds below 1e-11. */
const START_DEVIATIONS = 7;

/** A start this many deviations from both barriers is safe: odds below 1e-10. */
const EDGE_DEVIATIONS = 6.5;

/** Points on each stretch: within 1e-6 of a rule with many more. */
const QUADRATURE = gaussLegendre(32);

/**
 * Probability that the price is inside when the window begins, and stays inside. The barriers are
 * measured from the current spot, which may lie outside of them (a negative distance).
 */
export function forwardNoTouchProbability(corridor: ForwardCorridor): number {
  const { toLower, toUpper, variance, drift, startVariance, startDrift, stepDeviation } = corridor;
  const deviation = Math.sqrt(Math.max(0, startVariance));
  /** Survival of the running window by the move until its start, for starts inside the corridor. */
  const noTouchFrom = (move: number) =>
    noTouchProbability({
      toLower: shiftedDistance(toLower + move, stepDeviation),
      toUpper: shiftedDistance(toUpper - move, stepDeviation),
      variance,
      drift,
    });
  if (deviation === 0) return toLower < 0 || toUpper < 0 ? 0 : noTouchFrom(0);
  const scaled = (move: number) => (move - startDrift) / deviation;
  const over = (from: number, to: number) =>
    from < to
      ? integrate(
        QUADRATURE,
        from,
        to,
        (move) => Math.exp(-(scaled(move) ** 2) / 2) * noTouchFrom(move),
      ) / (deviation * Math.sqrt(2 * Math.PI))
      : 0;
  const lowest = Math.max(-toLower, startDrift - START_DEVIATIONS * deviation);
  const highest = Math.min(toUpper, startDrift + START_DEVIATIONS * deviation);
  if (lowest >= highest) return 0;
  // If no barrier is in reach, the path stays inside: only the start has to be integrated.
  const edge = EDGE_DEVIATIONS * Math.sqrt(variance) + Math.abs(drift);
  const safeFrom = Math.max(lowest, edge - toLower);
  const safeTo = Math.min(highest, toUpper - edge);
  const probability = safeFrom < safeTo
    ? over(lowest, safeFrom) + normalBetween(scaled(safeFrom), scaled(safeTo)) +
      over(safeTo, highest)
    : over(lowest, highest);
  return Math.min(1, probability);
}
