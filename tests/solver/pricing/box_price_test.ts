import assert from "node:assert/strict";
import { checksWithLead } from "../../../services/solver/pricing/box_price.ts";
import { checksOf } from "../../../services/solver/pricing/box_probability.ts";
import { YEAR_MS } from "../../../services/solver/pricing/units.ts";

const NOW_MS = 1_700_000_000_000;
const VOLATILITY = 0.5;
const box = {
  spot: 60_100_000_000n,
  lower: 59_700_000_000n,
  upper: 60_300_000_000n,
  nowMs: NOW_MS,
  startMs: NOW_MS,
  endMs: NOW_MS + 60_000,
};

function withLead(leadMs: number, given: Partial<typeof box> = {}) {
  return checksWithLead({ ...box, ...given }, VOLATILITY, leadMs) ?? assert.fail("Checks are left");
}

Deno.test("Lead: the price is 1.25 deviations nearer to the centre, from either side", () => {
  const plain = checksOf(box)!; // its window lies ahead
  const reach = 1.25 * VOLATILITY * Math.sqrt(1_000 / YEAR_MS);
  const above = withLead(1_000);
  assert.ok(Math.abs(above.toLower - (plain.toLower - reach)) < 1e-12);
  assert.ok(Math.abs(above.toUpper - (plain.toUpper + reach)) < 1e-12);
  const below = withLead(1_000, { spot: 59_900_000_000n });
  const from = checksOf({ ...box, spot: 59_900_000_000n })!; // as above
  assert.ok(Math.abs(below.toLower - (from.toLower + reach)) < 1e-12);
});

Deno.test("Lead: at most to the centre, and the width stays", () => {
  const plain = checksOf(box)!; // its window lies ahead
  const { toLower, toUpper } = withLead(50_000, { spot: 60_001_000_000n });
  assert.ok(Math.abs(toLower - toUpper) < 1e-12);
  assert.ok(Math.abs(toLower + toUpper - plain.toLower - plain.toUpper) < 1e-12);
});

Deno.test("Lead: that much of the window has survived; none is left where all of it is seen", () => {
  const plain = checksOf(box)!; // its window lies ahead
  assert.equal(withLead(10_000).steps, plain.steps - 100);
  assert.equal(checksWithLead(box, VOLATILITY, 60_000), undefined);
  const later = { startMs: NOW_MS + 30_000, endMs: NOW_MS + 90_000 };
  const { steps, waitMs } = withLead(10_000, later);
  assert.deepEqual([steps, waitMs], [599, 20_000]);
});
