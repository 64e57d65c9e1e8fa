import type { RandomSource } from "../../../lib/clock.ts";
import { gaussian } from "../../../lib/random.ts";

/** Checks of a path, in logarithms of the price. */
export interface SimulatedChecks {
  toLower: number;
  toUpper: number;
  /** Deviation of the move until the first check. */
  firstDeviation: number;
  /** Deviation over one step on average; with still steps, the other steps are larger. */
  stepDeviation: number;
  steps: number;
  stillShare?: number;
}

/** Share of simulated paths that are inside at every check. */
export function simulateChecks(
  random: RandomSource,
  paths: number,
  checks: SimulatedChecks,
): number {
  const { toLower, toUpper, firstDeviation, stepDeviation, steps, stillShare = 0 } = checks;
  const deviation = stepDeviation / Math.sqrt(1 - stillShare);
  let held = 0;
  for (let path = 0; path < paths; path++) {
    let move = firstDeviation === 0
      ? 0
      : firstDeviation * gaussian(random) - firstDeviation ** 2 / 2;
    let inside = move >= -toLower && move <= toUpper;
    for (let step = 0; step < steps && inside; step++) {
      if (stillShare > 0 && random() < stillShare) continue;
      move += deviation * gaussian(random) - deviation ** 2 / 2;
      inside = move >= -toLower && move <= toUpper;
    }
    if (inside) held += 1;
  }
  return held / paths;
}
