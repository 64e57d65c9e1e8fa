import assert from "node:assert/strict";
import { type PriceNow, requirePayout } from "../../../services/solver/pricing/recheck.ts";
import { PricingRefusedError } from "../../../services/solver/pricing/strategy.ts";

/** A new quote pays 1.8 times the bet. */
const now: PriceNow = { probability: 0.5, margin: 0.1, skew: 0, withheldAtLeast: 0 };
/** Half of the winnings is withheld: a new quote pays 1.4 times the bet. */
const skewed: PriceNow = { ...now, skew: 0.5, withheldAtLeast: 0.5 };

const cases: readonly [payout: bigint, now: PriceNow, refusal?: string, currentPayout?: string][] =
  [
    [1_800_000n, now],
    // The solver keeps half of its margin, and one and a half times of it at most.
    [1_900_000n, now],
    [1_900_001n, now, "PRICE_MOVED", "1800000"],
    [1_700_000n, now],
    [1_699_999n, now, "PRICE_IMPROVED", "1800000"],
    [1_400_000n, skewed],
    [1_450_000n, skewed],
    [1_450_001n, skewed, "PRICE_MOVED", "1400000"],
    // Small against the payout, though not against the winnings.
    [1_350_000n, skewed],
    [1_330_000n, skewed, "PRICE_IMPROVED", "1400000"],
    // For a recorded quote, the withheld amount is added to its payout.
    [1_800_000n, { ...skewed, withheldAtLeast: 0 }],
    [1_900_001n, { ...skewed, withheldAtLeast: 0 }, "PRICE_MOVED", "1400000"],
    // A new quote would pay nothing: there is no better one, but there is a worse one.
    [1_000_001n, { ...now, probability: 0.94 }],
    [1_100_000n, { ...now, probability: 0.94 }, "PRICE_MOVED"],
    // Both are at the limit of ten bets.
    [10_000_000n, { ...now, probability: 0.01 }],
    [9_400_000n, { ...now, probability: 0.01 }, "PRICE_IMPROVED", "10000000"],
  ];

for (const [payout, priceNow, refusal, currentPayout = null] of cases) {
  const given = Object.entries(priceNow).map((pair) => pair.join(" ")).join(", ");
  Deno.test(`Recheck: a payout of ${payout} is ${refusal ?? "accepted"} with ${given}`, () => {
    const look = () => requirePayout({ betAmount: 1_000_000n, payout }, priceNow);
    if (refusal === undefined) return look();
    assert.throws(look, (thrown) => {
      assert.ok(thrown instanceof PricingRefusedError);
      const { code, details } = thrown;
      const payouts = { signedPayout: payout.toString(), currentPayout };
      assert.deepEqual([code, { ...details, ...payouts }], [refusal, details]);
      return true;
    });
  });
}
