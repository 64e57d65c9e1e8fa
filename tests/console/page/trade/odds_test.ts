import assert from "node:assert/strict";
import {
  breakEvenOf,
  chanceText,
  isNear,
  multiplierOf,
  warningOf,
} from "../../../../services/console/page/trade/odds.ts";

Deno.test("multiplierOf, breakEvenOf, chanceText: multiplier, chance and break-even chance", () => {
  const estimate = { betAmount: 100n, payout: 250n };
  assert.deepEqual([multiplierOf(estimate), breakEvenOf(estimate)], ["× 2.50", "40.0 %"]);
  assert.deepEqual([0.0004, 0.3333, 0.9995].map(chanceText), [
    "under 0.1 %",
    "33.3 %",
    "over 99.9 %",
  ]);
  // Shown beside "100.00" of "10.00", and "57.31" of "29.00".
  for (
    const [betAmount, payout, multiplier] of [
      [10_000_000n, 99_995_000n, "× 10.00"],
      [29_000_000n, 57_310_000n, "× 1.98"],
      [25_000_000n, 25_025_611n, "× 1.001"],
    ] as const
  ) {
    assert.equal(multiplierOf({ betAmount, payout }), multiplier);
  }
});

Deno.test("warningOf: warns if the payout is capped, or says nothing about the chance", () => {
  const warning = (payout: bigint, probability?: number) =>
    warningOf({ betAmount: 100n, payout, probability }, 10);
  assert.equal(warning(250n, 0.3333), undefined);
  assert.match(warning(999n, 0.09) ?? "", /capped at × 10/, "the maker rounds down");
  assert.equal(warning(980n, 0.09), undefined);
  assert.match(warning(250n) ?? "", /prices at random/);
});

Deno.test("warningOf: warns if the chance is far below break-even, with the average return", () => {
  const terms = { betAmount: 10_000_000n, payout: 100_000_000n };
  const warning = (probability: number) => warningOf({ ...terms, probability }, 10) ?? "";
  assert.match(warning(0.012), /far below break-even: .* pays back 1\.20 of 10\.00 USDC\.$/);
  assert.match(warning(0.075), /capped/);
});

Deno.test("warningOf: warns with stake and gain if the payout is less than a tenth above the stake", () => {
  const warning = (payout: bigint) =>
    warningOf({ betAmount: 10_000_000n, payout, probability: 0.99 }, 10);
  assert.match(warning(10_060_000n) ?? "", /you risk 10\.00 USDC to win 0\.06\.$/);
  assert.match(warning(10_999_999n) ?? "", /^It barely pays more than you bet/);
  assert.equal(warning(11_000_000n), undefined);
});

Deno.test("isNear: limits a change of the payout in both directions, and never pays less than the stake", () => {
  const accepted = (first: bigint, percent: number, payouts: bigint[]) =>
    payouts.map((payout) => isNear({ betAmount: 100n, payout }, { payout: first }, percent));
  assert.deepEqual(accepted(200n, 5, [189n, 190n, 210n, 211n]), [false, true, true, false]);
  assert.deepEqual(accepted(200n, 0, [199n, 200n, 201n]), [false, true, false]);
  assert.deepEqual(accepted(110n, 50, [99n, 100n]), [false, true]);
});
