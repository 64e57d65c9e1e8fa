import assert from "node:assert/strict";
import type { z } from "zod";
import { withDefaults } from "../../lib/cli/options.ts";
import { systemClock } from "../../lib/clock.ts";
import { ExchangeHistory } from "../../lib/net/exchange_history.ts";
import { slotPrices } from "../../services/backfill/backfiller.ts";
import {
  HISTORY_LAG_MS,
  type PastTrade,
  TradeHistory,
} from "../../services/backfill/trade_history.ts";
import { options, startExchanges } from "../../services/exchanges/mod.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { withSeed } from "../support/random.ts";
import { from, START, startFakeHistory, trade } from "./fake_history.ts";

const PAGE_TRADES = 1_000;

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

Deno.test("slotPrices: the price of a slot is that of the last trade at or before its start", async () => {
  const trades = [trade(-50, 1n), trade(100, 2n), trade(101, 3n), trade(199, 4n), trade(350, 5n)];
  const runs = await slotPrices(from(trades), { from: START, to: START + 500 }, 3_000);
  assert.deepEqual(runs, [{ startTime: START, prices: [1n, 2n, 4n, 4n, 5n] }]);
});

Deno.test("slotPrices: a trade older than the limit fills no slot", async () => {
  const trades = [trade(0, 1n), trade(450, 2n)];
  const span = { from: START, to: START + 800 };
  assert.deepEqual(await slotPrices(from(trades), span, 200), [
    { startTime: START, prices: [1n, 1n, 1n] },
    { startTime: START + 500, prices: [2n, 2n] },
  ]);
  assert.deepEqual(await slotPrices(from(trades), span, 0), [{ startTime: START, prices: [1n] }]);
  assert.deepEqual(await slotPrices(from([]), span, 200), []);
});

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

Deno.test("TradeHistory: pages by fromId and stops at the end of the span", async () => {
  const trades = Array.from({ length: 2 * PAGE_TRADES + 10 }, (_, index) => trade(index, 7n));
  const history = startFakeHistory(trades);
  const span = { from: START + 5, to: START + 2 * PAGE_TRADES };
  const clock = new FakeClock(span.to + HISTORY_LAG_MS);
  const source = new TradeHistory(new ExchangeHistory(`${history.url}/`, clock), clock);
  assert.deepEqual(
    await collect(source.trades("ETHUSDT", span)),
    trades.slice(5, 2 * PAGE_TRADES),
  );
  assert.deepEqual(history.queries.map((query) => Object.fromEntries(query)), [
    {
      symbol: "ETHUSDT",
      startTime: `${span.from}`,
      endTime: `${span.to - 1}`,
      limit: `${PAGE_TRADES}`,
    },
    { symbol: "ETHUSDT", fromId: `${PAGE_TRADES + 6}`, limit: `${PAGE_TRADES}` },
  ]);
  await history.stop();
});

Deno.test("TradeHistory: reads a span that has just ended when the exchange lists its last trades", async () => {
  const history = startFakeHistory([trade(0, 7n)]);
  const span = { from: START, to: START + 1_000 };
  for (const aheadMs of [0, 3_600_000]) {
    const clock = new FakeClock(span.to - aheadMs);
    const source = new TradeHistory(new ExchangeHistory(history.url, clock), clock);
    const trades = collect(source.trades("ETHUSDT", span));
    await clock.untilScheduled();
    clock.advance(HISTORY_LAG_MS - 1);
    assert.deepEqual([history.queries.length, clock.pending], [0, 1]);
    history.trades = [trade(0, 7n), trade(999, 8n)];
    clock.advance(1);
    assert.deepEqual(await trades, history.trades);
    history.queries.length = 0;
  }
  await history.stop();
});

Deno.test("TradeHistory: a span with over a million trades fails", async () => {
  const page = Array.from({ length: PAGE_TRADES }, (_, a) => ({ a, p: 7n, T: START }));
  let pages = 0;
  const endless = {
    // This page has the form that the schema of trades returns.
    page: <S extends z.core.$ZodType>() => (pages += 1, Promise.resolve(page as z.output<S>)),
  };
  const source = new TradeHistory(endless, new FakeClock(START + 100 + HISTORY_LAG_MS));
  let count = 0;
  const read = async () => {
    for await (const { time } of source.trades("ETHUSDT", { from: START, to: START + 100 })) {
      if (time === START) count += 1;
    }
  };
  await assert.rejects(read, /over 1000000 trades in one span/);
  assert.deepEqual([count, pages], [1_000_000, 1_000]);
});

Deno.test("TradeHistory: reads the trades of the simulated exchange", async () => {
  const startMs = Math.floor(Date.now() / 100) * 100;
  await using exchanges = await startExchanges(withDefaults(options, { port: 0, seed: 7 }));
  // Its trades can be read at once.
  const clock = new FakeClock(startMs + 60_000 + HISTORY_LAG_MS);
  const history = new TradeHistory(new ExchangeHistory(exchanges.url, systemClock), clock);
  const span = { from: startMs, to: startMs + 60_000 };
  const trades = await eventually("some trades", async () => {
    const found: PastTrade[] = [];
    for await (const trade of history.trades("ETHUSDT", span)) found.push(trade);
    return found.length >= 5 ? found : undefined;
  });
  const ordered = trades.toSorted((a, b) => a.time - b.time);
  assert.deepEqual(trades, ordered);
  const until = { from: span.from, to: Math.ceil(trades.at(-1)!.time / 100) * 100 + 100 };
  const runs = await slotPrices(history.trades("ETHUSDT", span), until, 3_000);
  const [run] = runs;
  assert.equal(runs.length, 1);
  assert.equal(run!.startTime + run!.prices.length * 100, until.to);
  assert.ok(run!.prices.every((price) => price > 0n));
});
