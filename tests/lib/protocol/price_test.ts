import assert from "node:assert/strict";
import fc from "fast-check";
import { formatPrice, formatUnits, parsePrice } from "../../../lib/protocol/price.ts";
import { UINT64_MAX } from "../../../lib/protocol/scalars.ts";

const exact: [text: string, price: bigint][] = [
  ["16578.50", 16_578_500_000n],
  ["105944.20", 105_944_200_000n],
  ["1", 1_000_000n],
  ["0.000001", 1n],
  ["0.0000005", 1n],
  ["0.00000638", 6n],
  ["1666.8700004", 1_666_870_000n],
  ["1666.8700005", 1_666_870_001n],
  ["1e-6", 1n],
  ["1.5E+3", 1_500_000_000n],
  ["1.5e3", 1_500_000_000n],
  ["1e10", 10n ** 16n],
  ["5000000000e-12", 5_000n],
  ["9007199254.740993", 9_007_199_254_740_993n],
  ["18446744073709.551615", UINT64_MAX],
];

Deno.test("parsePrice: converts exactly, and rounds half away from zero", () => {
  for (const [text, price] of exact) {
    assert.equal(parsePrice(text), price, text);
  }
});

Deno.test("parsePrice: refuses prices that are not positive or exceed 64 bits", () => {
  const refused = ["", " 1", "1 ", "18446744073709.551616", "1".repeat(31)].concat(
    "0 0.0000004 -1 +1 1. .5 1,5 0x10 NaN 01.5 Infinity 1e999 1e400 1e30 1e".split(" "),
  );
  for (const text of refused) assert.equal(parsePrice(text), undefined, JSON.stringify(text));
});

Deno.test("parsePrice and formatPrice: are inverse for every price", () => {
  fc.assert(fc.property(fc.bigInt({ min: 1n, max: UINT64_MAX }), (price) => {
    assert.equal(parsePrice(formatPrice(price)), price);
  }));
});

Deno.test("formatUnits: writes no zeros at the end", () => {
  assert.equal(formatUnits(0n), "0");
  assert.equal(formatUnits(5n), "0.000005");
  assert.equal(formatUnits(1_000_000_000n), "1000");
  assert.equal(formatUnits(2_650_500_000n), "2650.5");
  assert.equal(formatUnits(2_650_000_001n), "2650.000001");
});

Deno.test("formatPrice: truncates to the given number of decimals", () => {
  assert.equal(formatPrice(1_666_879_999n, 2), "1666.87");
  assert.equal(formatPrice(1_666_879_999n, 0), "1666");
  assert.equal(formatPrice(5n), "0.000005");
  assert.equal(formatPrice(-5n), "-0.000005");
  assert.equal(formatPrice(-1_666_879_999n, 2), "-1666.87");
});
