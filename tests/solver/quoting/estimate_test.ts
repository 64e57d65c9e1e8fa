import assert from "node:assert/strict";
import { estimateToWire } from "../../../services/solver/quoting/estimate.ts";

Deno.test("Estimate: the multiplier has four decimals, rounded as toFixed(4) rounds", () => {
  const multiplierOf = (payout: bigint, betAmount: bigint) =>
    estimateToWire({ betAmount, payout }).multiplier;
  assert.equal(multiplierOf(16n, 15n), "1.0667");
  assert.equal(multiplierOf(7n, 7n), "1.0000");
  assert.equal(multiplierOf(10_000_000_000_000n, 1_000_000_000_000n), "10.0000");
  assert.equal(multiplierOf(1_099_950_000_000n, 1_000_000_000_000n), (1.09995).toFixed(4));
});

Deno.test("Estimate: the solver's part is what the user wins", () => {
  assert.deepEqual(estimateToWire({ betAmount: 100n, payout: 130n }), {
    betAmount: "100",
    payout: "130",
    multiplier: "1.3000",
    solverCollateral: "30",
  });
});
