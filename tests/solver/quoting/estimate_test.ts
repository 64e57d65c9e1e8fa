import assert from "node:assert/strict";
import { MARKETS, USDT } from "../../../lib/protocol/markets.ts";
import {
  estimateRequestSchema,
  estimateToWire,
} from "../../../services/solver/quoting/estimate.ts";

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

Deno.test("Estimate: without pair and type it is a box on BTC/USDT", () => {
  const bet = { lowerPrice: "1", upperPrice: "2", betAmount: "3", startTime: 10, endTime: 20 };
  const parsed = { ...bet, lowerPrice: 1n, upperPrice: 2n, betAmount: 3n };
  const termsOf = (given: Record<string, unknown>) =>
    estimateRequestSchema.parse({ ...bet, ...given });
  const [btc, eth] = MARKETS;
  assert.deepEqual(termsOf({}), {
    ...parsed,
    thesisType: "box",
    base: btc?.base,
    quote: USDT,
  });
  const { base, deadline } = termsOf({ base: eth?.base, deadline: 7 });
  assert.deepEqual([base, deadline], [eth?.base, 7]);
});
