import assert from "node:assert/strict";
import fc from "fast-check";
import { MARKETS } from "../../lib/protocol/markets.ts";
import { average, deviations, median } from "../../services/oracle/aggregation.ts";
import { PriceBoard } from "../../services/oracle/price_board.ts";

const T = 1_700_000_000_000;

const prices = fc.array(fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }), {
  minLength: 1,
  maxLength: 9,
});

Deno.test("median: the middle price, or the mean of the two in the middle (oracle spec, Aggregation)", () => {
  assert.equal(median([5n]), 5n);
  assert.equal(median([3n, 1n, 2n]), 2n);
  assert.equal(median([10n, 20n]), 15n);
  assert.equal(median([1n, 4n, 100n, 2n]), 3n);
  assert.equal(median([100n, 101n, 102n, 1_000_000n]), 102n, "101.5 rounds away from zero");
});

Deno.test("average: the arithmetic mean, rounded half away from zero (oracle spec, Aggregation)", () => {
  assert.equal(average([1n, 2n]), 2n);
  assert.equal(average([1n, 1n, 2n]), 1n);
  assert.equal(average([1n, 2n, 2n]), 2n);
  assert.equal(average([7n]), 7n);
});

Deno.test("median: one source of three or more cannot move it past the others", () => {
  fc.assert(
    fc.property(
      prices.filter((list) => list.length >= 3),
      fc.bigInt(1n, 2n ** 64n),
      (list, wild) => {
        const others = list.slice(1);
        const result = median([wild, ...others]);
        const sorted = [...others].sort((a, b) => a < b ? -1 : 1);
        assert(result >= (sorted[0] ?? 0n) && result <= (sorted.at(-1) ?? 0n));
      },
    ),
  );
});

Deno.test("median and average: exact, and blind to the order of the sources", () => {
  fc.assert(fc.property(prices, (list) => {
    const sum = list.reduce((a, b) => a + b);
    const count = BigInt(list.length);
    // Twice the error of the mean is at most one unit either way; a half goes up.
    const error = 2n * (average(list) * count - sum);
    assert(error > -count && error <= count);
    assert.equal(median([...list].reverse()), median(list));
    assert.equal(average([...list].reverse()), average(list));
  }));
});

Deno.test("deviations: in basis points from the median, once three sources can outvote one", () => {
  const prices = new PriceBoard({
    markets: MARKETS,
    aggregation: "median",
    minSources: 1,
    maxSourceAgeMs: 10_000,
  });
  prices.update("provider_a", "BTC/USDT", 60_000_000_000n, T);
  prices.update("provider_b", "BTC/USDT", 60_006_000_000n, T);
  assert.equal(deviations(prices.sources("BTC/USDT")), undefined);
  prices.update("provider_d", "BTC/USDT", 54_000_000_000n, T);
  assert.deepEqual(
    deviations(prices.sources("BTC/USDT")),
    new Map([
      ["provider_a", 0],
      ["provider_b", 1],
      ["provider_d", -1000],
    ]),
  );
});
