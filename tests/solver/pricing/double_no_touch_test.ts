import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type Corridor,
  fourierSum,
  noTouchProbability,
} from "../../../services/solver/pricing/double_no_touch.ts";
import { corridorOf, type Option, worth } from "./reference.ts";
import { assertWithin } from "../../support/assert_within.ts";

const haug = { spot: 100, years: 0.25, cash: 10, rate: 0.05, dividend: 0.02 };

Deno.test("Double no-touch: equals Haug's table of 2007, p. 181", () => {
  const table: [lower: number, upper: number, quiet: number, lively: number][] = [
    [80, 120, 9.8716, 6.3272],
    [85, 115, 9.7961, 3.71],
    [90, 110, 8.9054, 0.796],
    [95, 105, 3.6323, 0.0002],
  ];
  for (const [lower, upper, quiet, lively] of table) {
    for (const [volatility, expected] of [[0.1, quiet], [0.3, lively]] as const) {
      const option = { ...haug, lower, upper, volatility };
      const value = worth(option, noTouchProbability(corridorOf(option)));
      assertWithin(value, expected, 1e-4, `${lower} to ${upper} at ${volatility}`);
    }
  }
});

Deno.test("Double no-touch: 0 for a spot on a barrier or outside", () => {
  for (const spot of [80, 95, 105, 110]) {
    const option = { ...haug, spot, lower: 95, upper: 105, volatility: 0.1 };
    assert.equal(noTouchProbability(corridorOf(option)), 0);
  }
});

Deno.test("Double no-touch: with one barrier at infinity it equals a single no-touch", () => {
  const option: Option = {
    spot: 105,
    lower: 100,
    upper: Infinity,
    volatility: 0.2,
    years: 0.5,
    cash: 15,
    rate: 0.1,
  };
  assertWithin(worth(option, noTouchProbability(corridorOf(option))), 4.9081, 1e-4, "one barrier");
});

Deno.test("Double no-touch: agrees within 1e-10 with sixty Fourier terms on a grid", () => {
  for (let ratio = 0.03; ratio < 3; ratio *= 1.1) {
    for (let place = 0.02; place < 1; place += 0.07) {
      for (const width of [0.001, 0.02, 0.5, 2]) {
        for (const tilt of [-0.5, 0, 1.5]) {
          const variance = ratio * width * width;
          const corridor: Corridor = {
            toLower: place * width,
            toUpper: (1 - place) * width,
            variance,
            drift: tilt * variance,
          };
          const long = fourierSum(corridor, 60);
          assertWithin(noTouchProbability(corridor), long, 1e-10, JSON.stringify(corridor));
        }
      }
    }
  }
});

const deviations = fc.double({ min: 0.01, max: 20, noNaN: true });

/** Distances in deviations of the move, so that most corridors are neither safe nor hopeless. */
const corridors = fc.record({
  toLower: deviations,
  toUpper: deviations,
  deviation: fc.double({ min: 1e-7, max: 0.6, noNaN: true }),
}).map(({ toLower, toUpper, deviation }): Corridor => ({
  toLower: toLower * deviation,
  toUpper: toUpper * deviation,
  variance: deviation ** 2,
  drift: -(deviation ** 2) / 2,
}));

Deno.test("Double no-touch: a probability for every corridor, higher for a wider one", () => {
  fc.assert(
    fc.property(corridors, fc.double({ min: 1, max: 3, noNaN: true }), (corridor, factor) => {
      const probability = noTouchProbability(corridor);
      assert.ok(probability >= 0 && probability <= 1, `${probability}`);
      const wider = { ...corridor, toUpper: corridor.toUpper * factor };
      assert.ok(noTouchProbability(wider) >= probability - 1e-12);
    }),
    { numRuns: 2_000 },
  );
});
