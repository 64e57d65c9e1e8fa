import assert from "node:assert/strict";
import { labelIndices } from "../../services/console/page/maker/profit_chart.tsx";

Deno.test("labelIndices: the second label is far from the first, which begins at its point, and later ones less far", () => {
  for (let length = 1; length < 200; length++) {
    const [first, ...others] = labelIndices(length).map((index) => index / length);
    assert.equal(first, 0);
    const gaps = others.map((at, index) => at - (others[index - 1] ?? 0));
    assert.ok(gaps.every((gap, index) => gap >= (index === 0 ? 0.4 : 0.2)), `${length}: ${gaps}`);
  }
  assert.deepEqual(labelIndices(20), [0, 8, 14]);
});
