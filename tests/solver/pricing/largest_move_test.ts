import assert from "node:assert/strict";
import { gaussian, seededRandom } from "../../../lib/random.ts";
import {
  deviationFrom,
  largestMoveBelow,
  largestMoveQuantile,
  type LogDeviation,
} from "../../../services/solver/pricing/largest_move.ts";

Deno.test("Largest move: the distribution is that of simulated paths", () => {
  const random = seededRandom(1);
  const deviation = { median: -0.4, lowerVariance: 0.1, upperVariance: 0.2 };
  const [paths, steps] = [4_000, 1_000];
  // Between two checks a path goes further by 0.5826 deviations of a step.
  const shift = 0.5826 / Math.sqrt(steps);
  const logs = Array.from({ length: paths }, () => {
    const scenario = random();
    const log = deviation.median +
      (scenario < 1 / 6
        ? -Math.sqrt(3 * deviation.lowerVariance)
        : scenario < 5 / 6
        ? 0
        : Math.sqrt(3 * deviation.upperVariance));
    let move = 0;
    let largest = 0;
    for (let step = 0; step < steps; step++) {
      move += gaussian(random) / Math.sqrt(steps);
      largest = Math.max(largest, Math.abs(move));
    }
    return log + Math.log(largest + shift);
  });
  for (const log of [-1.2, -0.6, -0.2, 0.2, 0.8]) {
    const expected = largestMoveBelow(log, deviation);
    const found = logs.filter((move) => move <= log).length / paths;
    const error = Math.sqrt(expected * (1 - expected) / paths);
    assert.ok(Math.abs(found - expected) < 5 * error + 0.003, `${log}: ${found}, ${expected}`);
  }
});

Deno.test("Largest move: deviationFrom returns a deviation with the given quantiles", () => {
  for (const lowerVariance of [0, 0.02, 0.3]) {
    for (const upperVariance of [0, 0.1, 0.5]) {
      const quantilesOf = (deviation: LogDeviation) =>
        [0.1, 0.5, 0.9].map((share) => largestMoveQuantile(share, deviation));
      const asked = quantilesOf({ median: 0.7, lowerVariance, upperVariance });
      const found = quantilesOf(deviationFrom(...asked as [number, number, number]));
      found.forEach((quantile, index) =>
        assert.ok(Math.abs(quantile - asked[index]!) < 0.003, `${found} for ${asked}`) // three each
      );
    }
  }
});

Deno.test("deviationFrom: very close quantiles give zero uncertainty", () => {
  const { lowerVariance, upperVariance } = deviationFrom(-0.1, 0, 0.1);
  assert.deepEqual([lowerVariance, upperVariance], [0, 0]);
});
