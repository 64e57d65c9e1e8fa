import assert from "node:assert/strict";
import fc from "fast-check";
import { lowerBound } from "../../lib/lower_bound.ts";

Deno.test("lowerBound: as many values are below it as before it", () => {
  const ids = fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 20 });
  fc.assert(fc.property(ids, fc.integer({ min: -1, max: 31 }), (given, least) => {
    const values = given.toSorted((a, b) => a - b).map((id) => ({ id }));
    const below = values.filter(({ id }) => id < least).length;
    assert.equal(lowerBound(values, least, ({ id }) => id), below);
  }));
});
