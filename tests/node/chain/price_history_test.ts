import assert from "node:assert/strict";
import { PriceRing } from "../../../lib/prices/price_ring.ts";
import {
  BACKFILLED_PAGES_MAX,
  BackfilledPrices,
  MarketHistory,
} from "../../../services/node/chain/price_history.ts";

const PAGE_MS = 25_600;
const START = 1_700_000_000_000 - 1_700_000_000_000 % PAGE_MS;

Deno.test("BackfilledPrices: returns stored prices across pages and gaps", () => {
  const held = new BackfilledPrices();
  for (const offset of [0, 100, PAGE_MS - 100, PAGE_MS, 3 * PAGE_MS]) {
    held.put(START + offset, BigInt(offset + 1));
  }
  assert.equal(held.at(START + 100), 101n);
  assert.equal(held.at(START + 200), undefined);
  const { missing, outside } = held.checkRange(
    START,
    START + 3 * PAGE_MS + 200,
    { lower: 0n, upper: 1_000n },
  );
  assert.deepEqual(outside, { time: START + PAGE_MS - 100, price: BigInt(PAGE_MS - 99) });
  assert.deepEqual(missing, [
    { from: START + 200, to: START + PAGE_MS - 100 },
    { from: START + PAGE_MS + 100, to: START + 3 * PAGE_MS },
    { from: START + 3 * PAGE_MS + 100, to: START + 3 * PAGE_MS + 200 },
  ]);
});

Deno.test("BackfilledPrices: keepOnly keeps the pages of the given spans", () => {
  const held = new BackfilledPrices();
  for (let page = 0; page < 5; page++) held.put(START + page * PAGE_MS, 1n);
  held.keepOnly([
    { from: START + PAGE_MS - 100, to: START + PAGE_MS },
    { from: START + 3 * PAGE_MS, to: START + 3 * PAGE_MS + 1 },
  ]);
  const kept = [0, 1, 2, 3, 4].map((page) => held.at(START + page * PAGE_MS));
  assert.deepEqual(kept, [1n, undefined, undefined, 1n, undefined]);
});

Deno.test("BackfilledPrices: accepts no further page at its limit", () => {
  const held = new BackfilledPrices();
  for (let page = 0; page < BACKFILLED_PAGES_MAX; page++) held.put(START + page * PAGE_MS, 1n);
  assert.equal(held.canStore(START + 100), true);
  assert.equal(held.canStore(START - 100), false);
});

Deno.test("MarketHistory: the earliest price outside is reported, whatever gaps follow", () => {
  const range = { lower: 10n, upper: 20n };
  /** Prices in the ring by slot, then backfilled ones; all others are missing. */
  const breachOf = (inRing: Record<number, bigint>, held: Record<number, bigint>) => {
    const history = new MarketHistory(new PriceRing(16));
    for (const [slot, price] of Object.entries(inRing)) {
      history.ring.append(START + Number(slot) * 100, price);
    }
    for (const [slot, price] of Object.entries(held)) {
      history.backfilled.put(START + Number(slot) * 100, price);
    }
    const { outside } = history.checkRange(START, START + 1_000, range);
    return outside && { slot: (outside.time - START) / 100, price: outside.price };
  };
  assert.deepEqual(breachOf({ 0: 99n, 9: 15n }, { 4: 5n }), { slot: 0, price: 99n });
  assert.deepEqual(breachOf({ 3: 99n, 9: 15n }, { 1: 15n, 5: 15n }), { slot: 3, price: 99n });
  assert.deepEqual(breachOf({ 3: 15n, 9: 15n }, { 1: 5n, 5: 6n }), { slot: 1, price: 5n });
  assert.deepEqual(breachOf({ 3: 15n, 9: 99n }, { 1: 15n, 5: 6n }), { slot: 5, price: 6n });
  assert.equal(breachOf({ 3: 15n, 9: 15n }, { 1: 15n, 5: 10n }), undefined);
});
