import assert from "node:assert/strict";
import { gaussLegendre, integrate } from "../../../services/solver/pricing/quadrature.ts";
import { normalBelow, normalBetween } from "../../../services/solver/pricing/normal.ts";
import { assertWithinShare } from "../../support/assert_within.ts";

Deno.test("Gauss and Legendre: n points integrate every polynomial below degree 2n", () => {
  for (const count of [1, 2, 3, 8, 20, 33]) {
    const rule = gaussLegendre(count);
    assert.deepEqual([rule.points.length, rule.weights.length], [count, count]);
    for (let degree = 0; degree < 2 * count; degree++) {
      const integral = (2 ** (degree + 1) - 1) / (degree + 1);
      assertWithinShare(
        integrate(rule, 1, 2, (x) => x ** degree),
        integral,
        1e-8,
        `${count}, x^${degree}`,
      );
    }
  }
});

/** The tail above `z` by quadrature of the density. */
function tailAbove(z: number): number {
  const rule = gaussLegendre(60);
  const width = 9 / Math.max(1, z);
  let sum = 0;
  for (let part = 0; part < 4; part++) {
    const from = z + part * width;
    sum += integrate(rule, from, from + width, (x) => Math.exp(-x * x / 2));
  }
  return sum / Math.sqrt(2 * Math.PI);
}

Deno.test("Normal: agrees with the integral of the density in both tails", () => {
  for (let z = 0; z <= 36; z += 0.37) {
    const tail = tailAbove(z);
    assertWithinShare(normalBelow(-z), tail, 1e-8, `below ${-z}`);
    assertWithinShare(normalBelow(z), 1 - tail, 1e-8, `below ${z}`);
    assertWithinShare(normalBetween(z, z + 1), tail - tailAbove(z + 1), 1e-8, `above ${z}`);
    assertWithinShare(
      normalBetween(-z, z + 1),
      1 - tail - tailAbove(z + 1),
      1e-8,
      `around 0, ${z}`,
    );
    assertWithinShare(normalBetween(z + 1, z), tailAbove(z + 1) - tail, 1e-8, `swapped at ${z}`);
  }
  assert.deepEqual([normalBelow(40), normalBelow(-40), normalBelow(0)], [1, 0, 0.5]);
  for (const [z, known] of [[1, 0.8413447460685429], [-1.96, 0.024997895148220435]] as const) {
    assert.ok(Math.abs(normalBelow(z) - known) < 1e-15, `${z}`);
  }
  assert.equal(normalBetween(-Infinity, Infinity), 1);
});
