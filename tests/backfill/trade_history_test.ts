import assert from "node:assert/strict";
import type { z } from "zod";
import { ExchangeHistory } from "../../lib/net/exchange_history.ts";
import { slotPrices } from "../../services/backfill/fill_spans.ts";
import {
  exchangeTrades,
  HISTORY_LAG_MS,
  type PastTrade,
} from "../../services/backfill/trade_history.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { withSeed } from "../support/random.ts";
import { from, START, startFakeHistory, trade } from "./fake_history.ts";

const PAGE_TRADES = 1_000;

Deno.test("slotPrices: agrees with looking up every slot by itself", () =>
  withSeed(async (random) => {
    for (let round = 0; round < 200; round++) {
      const trades: PastTrade[] = [];
      for (let offset = -500; offset < 5_000;) {
        trades.push(trade(offset, BigInt(trades.length + 1)));
        offset += Math.floor(random() * random() * 900);
      }
      const maxCarryMs = Math.floor(random() * 500);
      const span = { from: START, to: START + 4_000 };
      const found = new Map<number, bigint>();
      for (const { startTime, prices } of await slotPrices(from(trades), span, maxCarryMs)) {
        for (const [index, price] of prices.entries()) found.set(startTime + index * 100, price);
      }
      for (let time = span.from; time < span.to; time += 100) {
        const last = trades.findLast((one) => one.time <= time);
        const expected = last && time - last.time <= maxCarryMs ? last.price : undefined;
        assert.equal(found.get(time), expected);
      }
    }
  }));

Deno.test("exchangeTrades: pages by fromId and stops at the end of the span", async () => {
  const trades = Array.from({ length: 2 * PAGE_TRADES + 10 }, (_, index) => trade(index, 7n));
  await using history = startFakeHistory(trades);
  const span = { from: START + 5, to: START + 2 * PAGE_TRADES };
  const clock = new FakeClock(span.to + HISTORY_LAG_MS);
  const read = exchangeTrades(new ExchangeHistory(`${history.url}/`, clock), clock, clock.now());
  assert.deepEqual(await Array.fromAsync(read("ETHUSDT", span)), trades.slice(5, 2 * PAGE_TRADES));
  assert.deepEqual(history.queries.map((query) => Object.fromEntries(query)), [
    {
      symbol: "ETHUSDT",
      startTime: `${span.from}`,
      endTime: `${span.to - 1}`,
      limit: `${PAGE_TRADES}`,
    },
    { symbol: "ETHUSDT", fromId: `${PAGE_TRADES + 6}`, limit: `${PAGE_TRADES}` },
  ]);
});

Deno.test("exchangeTrades: of an endpoint with shorter pages, all trades of the span are read", async () => {
  const trades = Array.from({ length: 25 }, (_, index) => trade(index * 100, BigInt(1 + index)));
  await using history = startFakeHistory(trades);
  history.pageMax = 10;
  const clock = new FakeClock(START + 3_600_000);
  const read = exchangeTrades(new ExchangeHistory(history.url, clock), clock, clock.now());
  for (const count of [20, 25]) {
    const span = { from: START, to: START + count * 100 };
    assert.deepEqual(await Array.fromAsync(read("ETHUSDT", span)), trades.slice(0, count));
  }
});

Deno.test("exchangeTrades: reads a span that has just ended when the exchange lists its last trades", async () => {
  await using history = startFakeHistory([trade(0, 7n)]);
  const span = { from: START, to: START + 1_000 };
  for (const [aheadMs, setByMs] of [[0, 0], [3_600_000, 0], [-5_000, 0], [-5_000, -3_600_000]]) {
    const clock = new FakeClock(span.to - aheadMs!);
    const read = exchangeTrades(new ExchangeHistory(history.url, clock), clock, span.to);
    clock.setBy(setByMs!);
    const trades = Array.fromAsync(read("ETHUSDT", span));
    await clock.untilScheduled();
    clock.advance(HISTORY_LAG_MS - 1);
    assert.deepEqual([history.queries.length, clock.pending], [0, 1]);
    history.trades = [trade(0, 7n), trade(999, 8n)];
    clock.advance(1);
    assert.deepEqual(await trades, history.trades);
    history.queries.length = 0;
  }
});

Deno.test("exchangeTrades: a span with over a million trades fails", async () => {
  const page = Array.from({ length: PAGE_TRADES }, (_, a) => ({ a, p: 7n, T: START }));
  let pages = 0;
  const endless = {
    // This page has the form that the schema of trades returns.
    readPage: <S extends z.core.$ZodType>() => (pages += 1, Promise.resolve(page as z.output<S>)),
  };
  const clock = new FakeClock(START + 100 + HISTORY_LAG_MS);
  const read = exchangeTrades(endless, clock, clock.now());
  const trades = read("ETHUSDT", { from: START, to: START + 100 });
  let count = 0;
  const countAll = async () => {
    for await (const { time } of trades) if (time === START) count += 1;
  };
  await assert.rejects(countAll, /over 1000000 trades in one span/);
  assert.deepEqual([count, pages], [1_000_000, 1_000]);
});
