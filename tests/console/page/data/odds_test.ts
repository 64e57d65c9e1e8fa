import assert from "node:assert/strict";
import {
  breakEvenOf,
  chanceText,
  isWithinTolerance,
  multiplierOf,
  warningOf,
} from "../../../../services/console/page/data/odds.ts";

Deno.test("multiplierOf, breakEvenOf, chanceText: multiplier, chance and break-even chance", () => {
  const estimate = { betAmount: 100n, payout: 250n };
  assert.deepEqual([multiplierOf(estimate), breakEvenOf(estimate)], ["× 2.50", "40.0 %"]);
  assert.deepEqual([0.0004, 0.3333, 0.9995].map(chanceText), [
    "under 0.1 %",
    "33.3 %",
    "over 99.9 %",
  ]);
  // Shown beside "100.00" of "10.00", and "57.31" of "29.00".
  const cases = [
    [10_000_000n, 99_995_000n, "× 10.00"],
    [29_000_000n, 57_310_000n, "× 1.98"],
    [25_000_000n, 25_025_611n, "× 1.001"],
  ] as const;
  for (const [betAmount, payout, multiplier] of cases) {
    assert.equal(multiplierOf({ betAmount, payout }), multiplier);
  }
});

Deno.test("warningOf: of a capped, a small and a random payout, and of a chance far below break-even", () => {
  const cases: [payout: bigint, probability: number | undefined, warning: RegExp | undefined][] = [
    [25_000_000n, 0.3333, undefined],
    [99_900_000n, 0.09, /capped at × 10/], // the maker rounds down
    [98_000_000n, 0.09, undefined],
    [100_000_000n, 0.075, /capped/],
    [
      100_000_000n,
      0.012,
      /capped at × 10, far below break-even: .* pays back 1\.20 of 10\.00 USDC\.$/,
    ],
    [25_000_000n, 0.2, /^The chance is far below break-even: .* pays back 5\.00 of 10\.00 USDC\.$/],
    [25_000_000n, undefined, /prices at random/],
    [10_060_000n, 0.99, /you risk 10\.00 USDC to win 0\.06\.$/],
    [10_999_999n, 0.99, /^It barely pays more than you bet/],
    [11_000_000n, 0.99, undefined],
  ];
  for (const [payout, probability, expected] of cases) {
    const warning = warningOf({ betAmount: 10_000_000n, payout, probability }, 10);
    if (expected === undefined) assert.equal(warning, undefined, `${payout}`);
    else assert.match(warning ?? "", expected);
  }
});

Deno.test("isWithinTolerance: limits a change of the payout in both directions, and never pays less than the stake", () => {
  const accepted = (first: bigint, percent: number, payouts: bigint[]) =>
    payouts.map((payout) =>
      isWithinTolerance({ betAmount: 100n, payout }, { payout: first }, percent)
    );
  assert.deepEqual(accepted(200n, 5, [189n, 190n, 210n, 211n]), [false, true, true, false]);
  assert.deepEqual(accepted(200n, 0, [199n, 200n, 201n]), [false, true, false]);
  assert.deepEqual(accepted(110n, 50, [99n, 100n]), [false, true]);
});
