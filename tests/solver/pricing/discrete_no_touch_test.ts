import assert from "node:assert/strict";
import { shiftedDistance } from "../../../services/solver/pricing/barrier_shift.ts";

import {
  type Move,
  noTouchByStep,
  type WeightedMove,
} from "../../../services/solver/pricing/discrete_no_touch.ts";
import { noTouchProbability } from "../../../services/solver/pricing/double_no_touch.ts";

const unit = { variance: 1, drift: 0 };
const atOnce = { variance: 0, drift: 0 };

function surely(move: Move): WeightedMove[] {
  return [{ ...move, weight: 1 }];
}

function survival(toLower: number, toUpper: number, steps: number, first = atOnce): number {
  const byStep = noTouchByStep({ toLower, toUpper, first: surely(first), step: unit }, steps);
  return byStep?.[steps] ?? assert.fail("The corridor is narrow enough");
}

Deno.test("Discrete no-touch: at the barrier the probability is C(2n, n) / 4^n, to 7 digits", () => {
  let exact = 1;
  for (let steps = 1; steps <= 20; steps++) {
    exact *= (2 * steps - 1) / (2 * steps);
    assert.ok(Math.abs(survival(0, 60, steps) - exact) < 1e-7, `${steps} steps`);
  }
});

Deno.test("Discrete no-touch: the result is continuous in the length of the first move", () => {
  // A first move of k steps' variance is checked once: less often than k steps, more often than
  // none.
  for (const variance of [1e-12, 0.04, 0.9, 1, 1.1, 9]) {
    const first = { variance, drift: 0 };
    const probability = survival(2, 3, 4, first);
    if (variance === 1) assert.ok(Math.abs(probability - survival(2, 3, 5)) < 1e-6);
    if (variance < 1e-6) assert.ok(Math.abs(probability - survival(2, 3, 4)) < 1e-6);
    assert.ok(probability > 0 && probability < 1);
  }
  const shorter = survival(2, 3, 4, { variance: 0.99, drift: 0 });
  const longer = survival(2, 3, 4, { variance: 1.01, drift: 0 });
  assert.ok(shorter > longer && shorter - longer < 0.01);
});

Deno.test("Discrete no-touch: 0 if outside at the first check, 1 if out of reach, undefined if too wide", () => {
  const outside = { toLower: -1, toUpper: 5, first: surely(atOnce), step: unit };
  assert.deepEqual([...noTouchByStep(outside, 2)!], [0, 0, 0]);
  assert.equal(survival(100, 100, 3), 1);
  const wide = { toLower: 1, toUpper: 70, first: surely({ variance: 900, drift: 0 }) };
  assert.equal(noTouchByStep({ ...wide, step: unit }, 1), undefined);
});

/** The same by carrying the density of the paths forward over a fine lattice. */
function byLattice(
  { toLower, toUpper, first, step }: Record<"first" | "step", Move> & {
    toLower: number;
    toUpper: number;
  },
  steps: number,
): number[] {
  const points = 800;
  const cell = (toUpper + toLower) / points;
  const places = Array.from({ length: points }, (_, index) => -toLower + (index + 0.5) * cell);
  const densityAt = (place: number, { variance, drift }: Move) =>
    Math.exp(-((place - drift) ** 2) / (2 * variance)) / Math.sqrt(2 * Math.PI * variance);
  const isAtOnce = first.variance === 0;
  let paths = places.map((place) => isAtOnce ? 0 : densityAt(place, first));
  const total = () => cell * paths.reduce((sum, density) => sum + density, 0);
  const inside = [isAtOnce ? 1 : total()];
  while (inside.length <= steps) {
    paths = places.map((place) =>
      isAtOnce && inside.length === 1
        ? densityAt(place, step)
        : cell * places.reduce((sum, from, i) => sum + paths[i]! * densityAt(place - from, step), 0)
    );
    inside.push(total());
  }
  return inside;
}

Deno.test("Discrete no-touch: equals a lattice with trends and steps of any size", () => {
  const up = { variance: 0.25, drift: 0.2 };
  const down = { variance: 0.25, drift: -0.3 };
  const still = { variance: 0.04, drift: 0 };
  const cases: [toLower: number, toUpper: number, first: Move, step: Move][] = [
    [1, 1.5, atOnce, up],
    [1, 1.5, atOnce, down],
    [1, 1.5, { variance: 0.04, drift: 0.3 }, down],
    [1, 1.5, { variance: 1, drift: -0.4 }, up],
    [-0.2, 1.5, { variance: 0.09, drift: 0.5 }, up],
    // The trend alone moves the price to a barrier that is out of reach without it.
    [8, 4.5, atOnce, { variance: 0.04, drift: 1 }],
    [2, 2.9, { variance: 0.01, drift: 3 }, still],
    [2.9, 2, { variance: 0.01, drift: -3 }, still],
    [1, 1, { variance: 0.01, drift: 5 }, still],
  ];
  for (const [toLower, toUpper, first, step] of cases) {
    const corridor = { toLower, toUpper, first, step };
    const actual = noTouchByStep({ ...corridor, first: surely(first) }, 5) ??
      assert.fail("The corridor is narrow enough");
    for (const [index, expected] of byLattice(corridor, 5).entries()) {
      const error = Math.abs(actual[index]! - expected);
      assert.ok(
        error < 1e-4,
        `${JSON.stringify(corridor)}, ${index}: ${actual[index]}, ${expected}`,
      );
    }
  }
});

Deno.test("Barrier shift: at most 0.12 / n above the exact recursion, never below", () => {
  for (let steps = 1; steps <= 40; steps += 3) {
    for (const width of [0.5, 1, 2, 4, 8, 16, 32]) {
      for (let place = 0; place <= 0.5; place += 0.05) {
        const [toLower, toUpper] = [place * width, (1 - place) * width];
        const shifted = noTouchProbability({
          toLower: shiftedDistance(toLower, 1),
          toUpper: shiftedDistance(toUpper, 1),
          variance: steps,
          drift: 0,
        });
        const above = (shifted - survival(toLower, toUpper, steps)) * steps;
        assert.ok(above > -2e-5 && above < 0.13, `${steps}, ${width}, ${place}: ${above}`);
      }
    }
  }
});
