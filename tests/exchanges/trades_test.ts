import assert from "node:assert/strict";
import fc from "fast-check";
import { parseTape, TAPE_HEADER } from "../../lib/prices/tape.ts";
import { seededRandom } from "../../lib/random.ts";
import type { Trade } from "../../services/exchanges/dialects/dialect.ts";
import { tapeTrades, TradePlayer, type TradeStream } from "../../services/exchanges/playback.ts";
import { simulatedTrades } from "../../services/exchanges/simulation.ts";
import { TradeLog } from "../../services/exchanges/trade_log.ts";
import { FakeClock } from "../support/fake_clock.ts";

function tradeAt(timeMs: number, market = "BTC/USDT"): Trade {
  return { provider: "provider_a", market, timeMs, price: 1n, amount: "1", side: "buy" };
}

Deno.test("TradeLog: numbers trades from 1 and keeps the newest", () => {
  const log = new TradeLog(3);
  assert.deepEqual(log.fromId(1, 10), []);
  for (let timeMs = 10; timeMs <= 60; timeMs += 10) log.append(tradeAt(timeMs));
  assert.equal(log.newest?.id, 6);
  assert.deepEqual(log.fromId(1, 10).map((trade) => trade.id), [4, 5, 6]);
  assert.deepEqual(log.fromId(7, 10), []);
});

Deno.test("TradeLog: finds the same trades as a naive list", () => {
  const gaps = fc.array(fc.nat(3), { maxLength: 60 });
  const bound = fc.nat(100);
  fc.assert(
    fc.property(gaps, bound, bound, fc.integer({ min: 1, max: 20 }), (gaps, a, b, limit) => {
      const log = new TradeLog(1_000);
      let timeMs = 0;
      const all = gaps.map((gap) => log.append(tradeAt(timeMs += gap)));
      assert.deepEqual(
        log.between(a, b, limit),
        all.filter((trade) => trade.timeMs >= a && trade.timeMs <= b).slice(0, limit),
      );
      assert.deepEqual(log.fromId(a, limit), all.filter((trade) => trade.id >= a).slice(0, limit));
    }),
  );
});

const ROWS = [
  "1675329600138,1206419187,buy,1666.8,26.062",
  "1675329600214,1206419188,sell,1666.79,0.152",
  "1675329600214,1206419189,buy,1666.8,0.226",
];

const text = [TAPE_HEADER, ...ROWS, ""].join("\n");

Deno.test("tapeTrades: plays repeatedly, at every exchange", () => {
  const rows = parseTape(text);
  const trades = tapeTrades(rows, "ETH/USDT", 5_000_000).take(2 * 4 * rows.length).toArray();
  assert.deepEqual(trades.slice(0, 4).map((trade) => [trade.provider, trade.timeMs]), [
    ["provider_a", 5_000_000],
    ["provider_b", 5_000_000],
    ["provider_c", 5_000_000],
    ["provider_d", 5_000_000],
  ]);
  const atBinance = trades.filter((trade) => trade.provider === "provider_a");
  // The second round begins one mean gap, 38 ms, after the last trade of the first.
  assert.deepEqual(atBinance.map((trade) => trade.timeMs - 5_000_000), [0, 76, 76, 114, 190, 190]);
  assert.deepEqual(atBinance.map((trade) => trade.price).slice(3), rows.map((row) => row.price));
});

const MARKETS = ["BTC/USDT", "ETH/USDT"];

function trades(seed: number, count: number, startMs = 1_000): Trade[] {
  const options = { markets: MARKETS, random: seededRandom(seed), startMs, tradesPerSecond: 5 };
  return simulatedTrades(options).take(count).toArray();
}

Deno.test("simulatedTrades: the same seed gives the same trades, another seed others", () => {
  assert.deepEqual(trades(7, 200), trades(7, 200));
  assert.notDeepEqual(trades(7, 200), trades(8, 200));
  const prices = (startMs: number) => trades(7, 200, startMs).map((trade) => trade.price);
  assert.deepEqual(prices(1_000), prices(1_700_000_000_123), "whenever it runs");
});

Deno.test("simulatedTrades: trades are ordered by time, at the given rate for each market and exchange", () => {
  const list = trades(7, 40_000);
  const seconds = ((list.at(-1)?.timeMs ?? 0) - 1_000) / 1_000;
  const counts = new Map<string, number>();
  let lastMs = 0;
  for (const { provider, market, timeMs } of list) {
    assert(timeMs >= lastMs);
    lastMs = timeMs;
    const key = `${provider} ${market}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  assert.equal(counts.size, 8);
  for (const [key, count] of counts) {
    assert(Math.abs(count / seconds - 5) < 0.5, `${key}: ${count / seconds} a second`);
  }
});

Deno.test("simulatedTrades: prices of the exchanges differ by less than 2 %", () => {
  const newest = new Map<string, number>();
  for (const { provider, market, price } of trades(7, 40_000)) {
    if (market !== "BTC/USDT") continue;
    newest.set(provider, Number(price) / 1e6);
    if (newest.size < 4) continue;
    const prices = [...newest.values()];
    assert((Math.max(...prices) - Math.min(...prices)) / Math.min(...prices) < 0.02);
  }
  assert(new Set(newest.values()).size > 1);
});

/** A source with a trade every few milliseconds. */
function* every(ms: number, market: string): TradeStream {
  for (let timeMs = ms;; timeMs += ms) yield tradeAt(timeMs, market);
}

function startPlayer(periods: number[]) {
  const clock = new FakeClock(0);
  const played: string[] = [];
  const sources = periods.map((ms) => every(ms, String(ms)));
  const player = new TradePlayer(sources, clock, (trade) => {
    played.push(`${trade.market}@${trade.timeMs}`);
  });
  player.start();
  return { clock, player, played };
}

Deno.test("TradePlayer: plays the trades of all sources when their time comes, in order", () => {
  const { clock, player, played } = startPlayer([30, 50]);
  clock.advance(29);
  assert.deepEqual(played, []);
  clock.advance(71);
  assert.deepEqual(played, ["30@30", "50@50", "30@60", "30@90", "50@100"]);
  player.stop();
  clock.advance(1_000);
  assert.equal(played.length, 5);
});

Deno.test("TradePlayer: after a sleep it goes on where it was, and makes up no trades", () => {
  const { clock, player, played } = startPlayer([1_000]);
  clock.advance(1_000);
  clock.jump(30 * 86_400_000);
  clock.advance(1_000);
  const atMs = 30 * 86_400_000 + 1_000;
  assert.deepEqual(played, [1_000, atMs, atMs + 1_000].map((ms) => `1000@${ms}`));
  player.stop();
});

Deno.test("TradePlayer: after the clock was set back it goes on", () => {
  const { clock, player, played } = startPlayer([1_000]);
  clock.advance(2_000);
  clock.setBy(-3_600_000);
  clock.advance(3_000);
  const atMs = clock.now();
  assert.deepEqual(played, [1_000, 2_000, atMs - 1_000, atMs].map((ms) => `1000@${ms}`));
  player.stop();
});
