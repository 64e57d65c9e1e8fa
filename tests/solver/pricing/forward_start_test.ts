import assert from "node:assert/strict";
import { shiftedDistance } from "../../../services/solver/pricing/barrier_shift.ts";
import { noTouchProbability } from "../../../services/solver/pricing/double_no_touch.ts";
import {
  type ForwardCorridor,
  forwardNoTouchProbability,
} from "../../../services/solver/pricing/forward_start.ts";
import { gaussLegendre, integrate } from "../../../services/solver/pricing/quadrature.ts";
import { corridorOf, moveOver, worth } from "./reference.ts";

const base = {
  lower: 90,
  upper: 110,
  volatility: 0.2,
  years: 0.25,
  cash: 10,
  rate: 0.05,
  dividend: 0.02,
};

function forward(spot: number, startYears: number): ForwardCorridor {
  const option = { ...base, spot };
  const start = moveOver(option, startYears);
  return {
    ...corridorOf(option),
    ...moveOver(option, base.years - startYears),
    startVariance: start.variance,
    startDrift: start.drift,
    stepDeviation: 0,
  };
}

Deno.test("Forward start: equals a quadrature with 120 nodes, for a spot inside and outside", () => {
  for (const [spot, expected] of [[100, 3.703655], [112, 0.649731]] as const) {
    const value = worth({ ...base, spot }, forwardNoTouchProbability(forward(spot, 0.05)));
    assert.ok(Math.abs(value - expected) < 1e-6, `${value}`);
  }
});

Deno.test("Forward start: equals the plain no-touch price if the window begins now", () => {
  const now = forward(100, 0);
  assert.equal(forwardNoTouchProbability(now), noTouchProbability(now));
  const soon = forward(100, 1e-9);
  assert.ok(Math.abs(forwardNoTouchProbability(soon) - noTouchProbability(now)) < 1e-6);
  for (const spot of [88, 112]) {
    for (const stepDeviation of [0, 1]) {
      assert.equal(forwardNoTouchProbability({ ...forward(spot, 0), stepDeviation }), 0);
    }
  }
  // Both bounds belong to the range: at one of them, few checks leave a chance.
  for (const bounds of [{ toLower: 0, toUpper: 0.3 }, { toLower: 0.3, toUpper: 0 }]) {
    const atBound = { ...forward(100, 0), ...bounds, stepDeviation: 0.05 };
    assert.ok(forwardNoTouchProbability(atBound) > 0.1);
  }
});

Deno.test("Forward start: a finer quadrature gives the same values at every scale", () => {
  const fine = gaussLegendre(20);
  const pieces = 400;
  for (const startDeviation of [1e-4, 1e-3, 1e-2]) {
    for (const [deviation, trend] of [[1e-3, 0], [1e-3, 5e-3], [1e-2, 0], [1e-1, 0]] as const) {
      for (const [toLower, toUpper] of [[-0.01, 0.3], [0.001, 0.001], [0.01, 0.02], [1, 0.0001]]) {
        const corridor = {
          toLower: toLower!,
          toUpper: toUpper!,
          variance: deviation ** 2,
          drift: trend - (deviation ** 2) / 2,
          startVariance: startDeviation ** 2,
          startDrift: -(startDeviation ** 2) / 2,
          stepDeviation: 1e-5,
        };
        const { startDrift, stepDeviation } = corridor;
        const shifted = (distance: number) => shiftedDistance(distance, stepDeviation);
        const from = Math.max(-corridor.toLower, startDrift - 9 * startDeviation);
        const to = Math.min(corridor.toUpper, startDrift + 9 * startDeviation);
        const step = (to - from) / pieces;
        let expected = 0;
        for (let piece = 0; piece < pieces && step > 0; piece++) {
          const begin = from + piece * step;
          expected += integrate(
            fine,
            begin,
            begin + step,
            (move) =>
              Math.exp(-(((move - startDrift) / startDeviation) ** 2) / 2) * noTouchProbability({
                ...corridor,
                toLower: shifted(corridor.toLower + move),
                toUpper: shifted(corridor.toUpper - move),
              }),
          );
        }
        expected /= startDeviation * Math.sqrt(2 * Math.PI);
        const actual = forwardNoTouchProbability(corridor);
        assert.ok(
          // No strategy has a trend so steep: near is enough.
          Math.abs(actual - expected) < (trend === 0 ? 1e-6 : 1e-4),
          `${JSON.stringify(corridor)}: ${actual} against ${expected}`,
        );
      }
    }
  }
});
