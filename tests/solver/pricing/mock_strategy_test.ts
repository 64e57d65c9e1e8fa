import assert from "node:assert/strict";
import fc from "fast-check";
import { MockStrategy } from "../../../services/solver/pricing/mock_strategy.ts";

Deno.test("MockStrategy: quote solver spec, payout rule: 1.05 to 1.10 times the bet if an integer is there", () => {
  fc.assert(fc.property(
    fc.bigInt({ min: 1n, max: 1_000_000_000_000n }),
    fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    (betAmount, r) => {
      const { payout, details } = new MockStrategy(() => r).price({ betAmount });
      assert.equal(details, undefined);
      const holdsInteger = (betAmount * 105n + 99n) / 100n <= betAmount * 110n / 100n;
      if (!holdsInteger) return assert.equal(payout, betAmount);
      assert.ok(payout * 100n >= betAmount * 105n && payout * 100n <= betAmount * 110n);
    },
  ));
});

Deno.test("MockStrategy: the random number selects the payout between both ends", () => {
  const payoutAt = (r: number) => new MockStrategy(() => r).price({ betAmount: 1_000_000n }).payout;
  assert.equal(payoutAt(0), 1_050_000n);
  assert.equal(payoutAt(0.5), 1_075_000n);
  assert.equal(payoutAt(1 - 2 ** -53), 1_100_000n);
});
