import assert from "node:assert/strict";
import { MarketStream, type TradeOrder } from "../../services/oracle/market_stream.ts";
import type { Provider, ReceivedTrade } from "../../services/oracle/providers/provider.ts";

const T = 1_700_000_000_000;
const MISSED_AFTER_MS = 2_000;
const STUCK_TIME_MS = 10_000;

function trade(sequence: number | undefined, exchangeTimeMs: number): ReceivedTrade {
  return { symbol: "X", price: 1n, exchangeTimeMs, sequence };
}

/** Numbers and times of trades, the times counted from T, and the order that each has. */
const ORDERS: Record<
  string,
  [Provider["sequence"], [sequence: number | undefined, timeMs: number, order: TradeOrder][]]
> = {
  "numbers rising by one are in order, a missing one is a gap": [
    "by_one",
    [[10, 0, "next"], [11, 0, "next"], [13, 0, "gap"], [14, 0, "next"]],
  ],
  "numbers that only rise have no gaps": ["rising", [[10, 0, "next"], [90, 0, "next"]]],
  "a repeated or earlier number is late": [
    "by_one",
    [[10, 0, "next"], [10, 0, "late"], [9, -5, "late"], [9, 0, "late"], [11, 1, "next"]],
  ],
  "the same number is late, even with a newer time": ["by_one", [[10, 0, "next"], [10, 5, "late"]]],
  "the same rising number is late, even with a newer time": [
    "rising",
    [[90, 0, "next"], [90, 5, "late"]],
  ],
  "a lower number with a later time is a restart": [
    "by_one",
    [[1_000, 0, "next"], [1, 1, "restart"], [2, 2, "next"], [1_001, 3, "gap"], [3, 3, "late"]],
  ],
  "without numbers, a trade with an older time is late": [
    "none",
    [[undefined, 0, "next"], [undefined, 0, "next"], [undefined, -1, "late"]],
  ],
};

for (const [name, [sequencing, trades]] of Object.entries(ORDERS)) {
  Deno.test(`MarketStream: ${name}`, () => {
    const stream = new MarketStream("BTC/USDT", sequencing);
    let lastTradeAtMs: number | undefined;
    for (const [index, [sequence, timeMs, order]] of trades.entries()) {
      assert.equal(stream.add(trade(sequence, T + timeMs), T + index), order);
      if (order !== "late") lastTradeAtMs = T + index;
      assert.equal(stream.lastTradeAtMs, lastTradeAtMs, "a late trade shows no life");
    }
  });
}

Deno.test("MarketStream: stuck if the exchange's time does not change while trades arrive, but not after a pause", () => {
  const stream = new MarketStream("BTC/USDT", "by_one");
  stream.add(trade(1, T), T);
  stream.add(trade(2, T), T + 60_000);
  assert(!stream.isStuck(T + 60_000), "one trade after a pause proves nothing");
  stream.add(trade(3, T), T + 60_000 + STUCK_TIME_MS - 1);
  assert(!stream.isStuck(T + 60_000 + STUCK_TIME_MS - 1));
  stream.add(trade(4, T), T + 60_000 + STUCK_TIME_MS);
  assert(stream.isStuck(T + 60_000 + STUCK_TIME_MS));
  stream.add(trade(5, T + 1), T + 60_001 + STUCK_TIME_MS);
  assert(!stream.isStuck(T + 60_001 + STUCK_TIME_MS));
});

Deno.test("MarketStream: a trade that a heartbeat announces and that does not arrive within 2 s is reported lost, once", () => {
  const stream = new MarketStream("BTC/USDT", "rising");
  stream.add(trade(5, T), T);
  assert(!stream.recordNewest(5, T));
  assert(!stream.recordNewest(7, T + 1_000));
  assert(!stream.recordNewest(7, T + 1_000 + MISSED_AFTER_MS - 1));
  assert(stream.recordNewest(7, T + 1_000 + MISSED_AFTER_MS));
  assert(!stream.recordNewest(7, T + 9_000));
  assert(!stream.recordNewest(8, T + 10_000));
  stream.add(trade(8, T + 10_001), T + 10_001);
  assert(!stream.recordNewest(8, T + 20_000), "it came in time");
});

Deno.test("MarketStream: silence is measured from the last trade, or from the subscription", () => {
  const stream = new MarketStream("BTC/USDT", "none");
  assert.equal(stream.silentMs(T), undefined);
  assert(!stream.isAnswered);
  stream.acknowledge(T);
  stream.acknowledge(T + 500);
  assert(stream.isAnswered);
  assert.equal(stream.silentMs(T + 1_000), 1_000);
  stream.add(trade(undefined, T), T + 2_000);
  assert.equal(stream.silentMs(T + 2_500), 500);
});

Deno.test("MarketStream: the lag is that of the last accepted trade", () => {
  const stream = new MarketStream("BTC/USDT", "by_one");
  assert.equal(stream.lagMs, undefined);
  stream.add(trade(1, T), T + 30);
  assert.equal(stream.lagMs, 30);
  stream.add(trade(1, T - 9_000), T + 40);
  assert.equal(stream.lagMs, 30);
  stream.add(trade(2, T + 60), T + 50);
  assert.equal(stream.lagMs, -10, "the exchange's clock may be ahead");
});

Deno.test("MarketStream: a new trade restarts the wait for an announced one", () => {
  const stream = new MarketStream("BTC/USDT", "rising");
  stream.add(trade(5, T), T);
  assert(!stream.recordNewest(7, T));
  stream.add(trade(6, T + 1_000), T + 1_000);
  assert(!stream.recordNewest(7, T + MISSED_AFTER_MS));
  assert(!stream.recordNewest(7, T + 2 * MISSED_AFTER_MS - 1));
  assert(stream.recordNewest(7, T + 2 * MISSED_AFTER_MS));
});
