import assert from "node:assert/strict";
import { gaussian, seededRandom } from "../../../lib/random.ts";
import type { SlotSource } from "../../../services/solver/backtest/slots.ts";
import type { Candle } from "../../../services/solver/pricing/candle.ts";
import { bridgedSlots } from "../../bench/pricing/candle_bridge.ts";

const CANDLE_MS = 60_000;
const TICK = 10_000;

function pricesOf(source: SlotSource): number[] {
  return Array.from(source.slots(), ({ price }) => price);
}

/** Prices of slots as candles. */
function candlesOf(prices: readonly number[]): Candle[] {
  const slots = CANDLE_MS / 100;
  return Array.from({ length: Math.floor((prices.length - 1) / slots) }, (_, index) => {
    const part = prices.slice(index * slots, (index + 1) * slots + 1);
    return {
      timeMs: index * CANDLE_MS,
      durationMs: CANDLE_MS,
      open: part[0]!, // a candle has 601 prices
      high: Math.max(...part),
      low: Math.min(...part),
      close: part.at(-1)!,
    };
  });
}

/** A price with the habits of recorded trades. */
function simulatedPrices(minutes: number): number[] {
  const random = seededRandom(7);
  let [log, side] = [Math.log(1.6e9), 0];
  return Array.from({ length: minutes * 600 + 1 }, () => {
    if (random() < 0.0164) log += 0.0001 * gaussian(random);
    else if (random() < 0.1413) side = 1 - side;
    return (Math.round(Math.exp(log) / TICK) + side) * TICK;
  });
}

Deno.test("Candle bridge: the prices of a candle reach its open, high, low and close, and stay within", () => {
  const candles = candlesOf(simulatedPrices(200));
  const prices = pricesOf(bridgedSlots(candles, 1));
  assert.equal(prices.length, candles.length * 600);
  candles.slice(0, -1).forEach(({ open, high, low, close }, index) => {
    const part = prices.slice(index * 600, index * 600 + 601);
    assert.deepEqual([part[0], Math.max(...part), Math.min(...part), part[600]], [
      open,
      high,
      low,
      close,
    ]);
    assert.ok(part.every((price) => price % TICK === 0));
  });
  assert.deepEqual(pricesOf(bridgedSlots(candles, 1)), prices, "the same for the same seed");
  assert.notDeepEqual(pricesOf(bridgedSlots(candles, 2)), prices);
});

Deno.test("Candle bridge: a flat candle is constant, and a candle after a gap starts at its open", () => {
  const flat = { durationMs: CANDLE_MS, open: TICK, high: TICK, low: TICK, close: TICK };
  const later = { ...flat, timeMs: 5 * CANDLE_MS, open: 4 * TICK, high: 9 * TICK, low: 2 * TICK };
  const prices = pricesOf(
    bridgedSlots([{ ...flat, timeMs: CANDLE_MS }, { ...later, close: 3 * TICK }], 1),
  );
  assert.deepEqual(new Set(prices.slice(0, 600)), new Set([TICK]));
  assert.equal(prices[600], 4 * TICK);
});
