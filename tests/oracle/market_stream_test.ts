import assert from "node:assert/strict";
import { MarketStream } from "../../services/oracle/market_stream.ts";
import type { ReceivedTrade } from "../../services/oracle/providers/provider.ts";

const T = 1_700_000_000_000;
const STUCK_TIME_MS = 10_000;

function trade(sequence: number | undefined, exchangeTimeMs: number): ReceivedTrade {
  return { symbol: "X", price: 1n, exchangeTimeMs, sequence };
}

/** Numbers and times of trades, the times counted from T, and whether the price of each is new. */
const TRADES: Record<
  string,
  [sequence: number | undefined, timeMs: number, isNew: boolean][]
> = {
  "rising numbers are new, also after a lost trade": [[10, 0, true], [11, 0, true], [90, 0, true]],
  "a repeated or earlier number is late": [
    [10, 0, true],
    [10, 0, false],
    [9, -5, false],
    [9, 0, false],
    [11, 1, true],
  ],
  "the same number is late, even with a newer time": [[10, 0, true], [10, 5, false]],
  "a lower number with a later time is new: the numbering has restarted": [
    [1_000, 0, true],
    [1, 1, true],
    [2, 2, true],
    [1_001, 3, true],
    [3, 3, false],
  ],
  "without numbers, a trade with an older time is late": [
    [undefined, 0, true],
    [undefined, 0, true],
    [undefined, -1, false],
  ],
};

for (const [name, trades] of Object.entries(TRADES)) {
  Deno.test(`MarketStream: ${name}`, () => {
    const stream = new MarketStream("BTC/USDT");
    let lastTradeAtMs: number | undefined;
    for (const [index, [sequence, timeMs, isNew]] of trades.entries()) {
      assert.equal(stream.add(trade(sequence, T + timeMs), T + index), isNew);
      if (isNew) lastTradeAtMs = T + index;
      assert.equal(stream.lastTradeAtMs, lastTradeAtMs, "a late trade shows no life");
    }
  });
}

Deno.test("MarketStream: stuck if the exchange's time does not change while trades arrive, but not after a pause", () => {
  const stream = new MarketStream("BTC/USDT");
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

Deno.test("MarketStream: a clock set back by an hour does not hide a stuck or silent market", () => {
  const stream = new MarketStream("BTC/USDT");
  const backMs = T - 3_600_000;
  stream.acknowledge(T);
  assert.equal(stream.silentMs(backMs), 3_600_000);
  stream.add(trade(1, T), T);
  stream.add(trade(2, T), T);
  assert(stream.isStuck(backMs));
});

Deno.test("MarketStream: the lag is that of the last accepted trade", () => {
  const stream = new MarketStream("BTC/USDT");
  assert.equal(stream.lagMs, undefined);
  stream.add(trade(1, T), T + 30);
  assert.equal(stream.lagMs, 30);
  stream.add(trade(1, T - 9_000), T + 40);
  assert.equal(stream.lagMs, 30);
  stream.add(trade(2, T + 60), T + 50);
  assert.equal(stream.lagMs, -10, "the exchange's clock may be ahead");
});
