import assert from "node:assert/strict";
import {
  dateOf,
  decimalsOf,
  durationText,
  exactDurationText,
  formatAmount,
  formatCents,
  formatDay,
  formatGain,
  formatLoss,
  formatProfit,
  formatQuotePrice,
  formatRange,
  formatTime,
  fromNumber,
  shortAddress,
  toNumber,
} from "../../../../services/console/page/parts/format.ts";
import { tryParseDuration } from "../../../../services/console/page/trade/input.ts";

Deno.test("formatAmount, formatGain: money of the chain is exact, in cents or with all six digits", () => {
  assert.equal(formatAmount(1_234_567_899_999n), "1,234,567.899999");
  assert.deepEqual([0n, 9_900n, -1n, -510_000n].map(formatAmount), [
    "0.00",
    "0.009900",
    "−0.000001",
    "−0.51",
  ]);
  assert.equal(formatAmount(1_000_000_000_000_001n), "1,000,000,000.000001");
  assert.equal(formatAmount(-8_589_934_592_000_001n), "−8,589,934,592.000001");
  assert.equal(formatAmount(2n ** 64n - 1n), "18,446,744,073,709.551615");
  assert.deepEqual([-10_000_000n, 0n, 1n, 339_000n].map(formatGain), [
    "−10.00",
    "0.00",
    "+0.000001",
    "+0.339000",
  ]);
});

Deno.test("formatCents, formatLoss, formatProfit: gains are rounded down, losses up", () => {
  assert.equal(formatCents(1_234_567_899_999n), "1,234,567.89");
  assert.deepEqual([9_999n, -1n, -510_000n].map(formatCents), ["0.00", "−0.01", "−0.51"]);
  assert.deepEqual([-1n, 0n, 9_999n, 10_000n].map(formatProfit), [
    "−0.01",
    "0.00",
    "0.00",
    "+0.01",
  ]);
  for (const amount of [0n, 1n, 10_000n, 618_125_511n]) {
    assert.equal(formatLoss(amount), formatProfit(-amount).replace("−", ""), `${amount}`);
  }
  assert.equal(formatLoss(618_125_511n), "618.13");
});

Deno.test("formatTime, formatDay: a time beyond all dates, which a node may send, is the latest one", () => {
  const latest = 8_640_000_000_000_000;
  assert.equal(dateOf(latest - 1).getTime(), latest - 1);
  for (const time of [latest + 1, Number.MAX_SAFE_INTEGER]) {
    assert.equal(formatTime(time), formatTime(latest));
    assert.equal(formatDay(time), formatDay(latest));
  }
});

Deno.test("formatQuotePrice: six significant digits, for prices of any size", () => {
  const range = { lowerPrice: 2_997_370_000n, upperPrice: 3_000_160_000n };
  assert.equal(formatRange(range), "2,997.37 – 3,000.16");
  const low = { lowerPrice: 159_968n, upperPrice: 160_032n };
  assert.equal(formatRange(low), "0.159968 – 0.160032", "a box that is signed can be seen");
  const stable = { lowerPrice: 999_950n, upperPrice: 1_000_050n };
  assert.equal(formatRange(stable), "0.999950 – 1.00005");
  assert.equal(formatQuotePrice(60_009.68), "60,009.7");
  assert.equal(formatQuotePrice(2_999.5), "2,999.50");
  assert.equal(formatQuotePrice(149.9), "149.900");
  assert.equal(formatQuotePrice(0.5), "0.500000");
  assert.equal(formatQuotePrice(0.012345), "0.012345");
  assert.deepEqual([0, 1e-9, 1e9].map(decimalsOf), [6, 6, 0]);
});

Deno.test("formatTime, shortAddress: examples of each format", () => {
  assert.match(formatDay(1_700_000_000_000), /^\d+ Nov, \d\d:\d\d$/);
  assert.match(formatTime(1_700_000_000_000), /^\d\d:\d\d:\d\d$/);
  assert.equal(shortAddress("0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A"), "0x19E7…ff2A");
  assert.equal(toNumber(2_999_500_000n), 2_999.5);
  assert.equal(fromNumber(-2.0000004), -2_000_000n);
});

Deno.test("exactDurationText: in all units, and read again as the same duration", () => {
  const texts = {
    "0 s": -5,
    "1 min": 60_000,
    "1 min 1.5 s": 61_500,
    "1 h 10 min 30 s": 4_230_000,
    "1 d 45 min 0.1 s": 89_100_100,
  };
  for (const [text, ms] of Object.entries(texts)) {
    assert.equal(exactDurationText(ms), text);
    assert.equal(tryParseDuration(text), Math.max(0, ms));
  }
});

Deno.test("durationText: one or two units, without a zero unit", () => {
  const texts = {
    "0 s": -5,
    "0.1 s": 100,
    "15 s": 15_000,
    "1 min": 59_960,
    "2 min 5 s": 125_000,
    "1 h 11 min": 4_250_000,
    "2 h": 7_185_000,
    "1 d": 86_399_000,
    "1 d 2 h": 93_600_000,
  };
  for (const [text, ms] of Object.entries(texts)) assert.equal(durationText(ms), text);
});
