import assert from "node:assert/strict";
import { ExchangeHistory } from "../../lib/net/exchange_history.ts";
import { systemClock } from "../../lib/clock.ts";
import { withDefaults } from "../../lib/cli/options.ts";
import { options, startExchanges } from "../../services/exchanges/mod.ts";
import { slotPrices } from "../../services/backfill/backfiller.ts";
import { BinanceTradeHistory, type Trade } from "../../services/backfill/trade_history.ts";
import { eventually } from "../support/eventually.ts";

Deno.test("BinanceTradeHistory: reads what the stand-in exchange has traded", async () => {
  const startMs = Math.floor(Date.now() / 100) * 100;
  const exchanges = await startExchanges(withDefaults(options, { port: 0, seed: 7 }));
  try {
    const history = new BinanceTradeHistory(new ExchangeHistory(exchanges.historyUrl, systemClock));
    const span = { from: startMs, to: startMs + 60_000 };
    const trades = await eventually("some trades", async () => {
      const found: Trade[] = [];
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
  } finally {
    await exchanges.stop();
  }
});
