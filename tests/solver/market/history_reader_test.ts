import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import {
  type HistoryPage,
  type HistoryQuery,
  NodeUnreachableError,
} from "../../../lib/net/core_client.ts";
import { MARKETS } from "../../../lib/protocol/markets.ts";
import { historyReader } from "../../../services/solver/market/history_reader.ts";
import { MarketData } from "../../../services/solver/market/market_data.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { market } from "../support.ts";

/** A node whose history is what the test put there, given in pages. */
class FakeHistory {
  readonly slots = new Map<number, bigint>();
  readonly queries: HistoryQuery[] = [];
  away = false;
  #pageSlots: number;

  constructor(pageSlots = 6_000) {
    this.#pageSlots = pageSlots;
  }

  getPriceHistory(query: HistoryQuery): Promise<HistoryPage> {
    if (this.away) return Promise.reject(new NodeUnreachableError("http://node", "away"));
    if (query.base !== market.base) {
      return Promise.resolve({ prices: [], missing: [], nextCursor: null });
    }
    this.queries.push(query);
    const from = Number(query.cursor ?? query.from);
    const to = Math.min(query.to, from + this.#pageSlots * 100);
    const prices = [...this.slots].filter(([time]) => time >= from && time < to)
      .sort(([a], [b]) => a - b).map(([time, price]) => ({ time, price }));
    return Promise.resolve({ prices, missing: [], nextCursor: to < query.to ? String(to) : null });
  }
}

function reader(node: FakeHistory) {
  const clock = new FakeClock();
  const book = new MarketData({ floor: 0.1, minHistoryMs: 60_000 });
  const prices = book.of(market);
  return { reader: historyReader({ node, book, clock }), clock, prices };
}

/** Lets everything that is ready happen. */
function settled(): Promise<void> {
  return setImmediate();
}

Deno.test("History: the first look takes all that the node holds, page by page", async () => {
  const node = new FakeHistory();
  const { reader: history, clock, prices } = reader(node);
  const nowMs = clock.now();
  for (let n = 1; n <= 20_000; n++) node.slots.set(nowMs - n * 100, BigInt(n));
  history.start();
  await settled();
  assert.equal(node.queries.length, 11, "65,536 slots in pages of 6,000");
  assert.equal(prices.historyEndMs, nowMs);
  const outsideOf = (lower: bigint, upper: bigint) =>
    prices.history.checkRange(nowMs - 2_000_000, nowMs, { lower, upper });
  assert.deepEqual({ ...outsideOf(1n, 20_000n) }, { missing: [], outside: undefined });
  assert.equal(outsideOf(2n, 20_000n).outside?.price, 1n);
  assert.equal(outsideOf(1n, 19_999n).outside?.price, 20_000n);
  assert.ok(prices.volatility.historyMs >= 60_000);
  await history.stop();
});

Deno.test("History: later looks take what is new, and wait a while for slots that are late", async () => {
  const node = new FakeHistory();
  const { reader: history, clock, prices } = reader(node);
  const nowMs = clock.now();
  node.slots.set(nowMs - 100, 5n);
  history.start();
  await settled();
  node.queries.length = 0;
  node.slots.set(nowMs + 200, 6n);
  clock.advance(1_000);
  await settled();
  assert.equal(prices.historyEndMs, nowMs + 300);
  assert.deepEqual(node.queries.map(({ from, to }) => [from, to]), [[nowMs, nowMs + 1_000]]);
  assert.deepEqual(prices.history.checkRange(nowMs, nowMs + 300).missing, [
    { from: nowMs, to: nowMs + 200 },
  ]);
  clock.advance(5_000);
  await settled();
  assert.equal(node.queries.at(-1)?.from, nowMs + 300);
  clock.advance(1_000);
  await settled();
  assert.equal(node.queries.at(-1)?.from, nowMs + 3_000, "3 s before the last look");
  await history.stop();
});

Deno.test("History: a node that is away is asked again, and nothing is lost", async () => {
  const node = new FakeHistory();
  const { reader: history, clock, prices } = reader(node);
  node.away = true;
  history.start();
  await settled();
  assert.equal(prices.historyEndMs, 0);
  node.away = false;
  node.slots.set(clock.now() - 100, 5n);
  clock.advance(1_000);
  await settled();
  assert.equal(prices.history.newest, clock.now() - 1_100);
  await history.stop();
  assert.equal(clock.pending, 0);
});

Deno.test("Market book: prices go to their markets; an update from the future counts as now", () => {
  const book = new MarketData({ floor: 0.1, minHistoryMs: 60_000 });
  const { base, quote, symbol } = market;
  const entry = { base, quote, decimals: 6 as const, ageMs: 0, state: "stale" as const };
  const price = { ...entry, price: 7n, lastUpdate: 1_500 };
  book.takeSpots({ [symbol]: price, "DOGE/USDT": { ...price, price: 1n } }, 1_000);
  assert.deepEqual(book.of(market).spot, { price: 7n, lastUpdateMs: 1_000, fresh: false });
  for (const other of MARKETS.filter((one) => one.symbol !== symbol)) {
    assert.equal(book.of(other).spot, undefined);
  }
});

Deno.test("Market book: what is no price of a slot is left out", () => {
  const book = new MarketData({ floor: 0.1, minHistoryMs: 60_000 });
  const prices = book.of(market);
  const slots = [[100, 5n], [150, 6n], [200, 0n], [300, 7n], [300, 8n], [200, 9n]] as const;
  prices.takeHistory(slots.map(([time, price]) => ({ time, price })), 400);
  const found = [100, 200, 300].map((time) => prices.history.at(time));
  assert.deepEqual(found, [5n, undefined, 7n]);
  const { base, quote } = market;
  const entry = { base, quote, decimals: 6 as const, ageMs: 0, state: "fresh" as const };
  prices.takeSpot({ ...entry, price: 0n, lastUpdate: 1 }, 1);
  assert.equal(prices.spot, undefined);
});
