import assert from "node:assert/strict";
import fc from "fast-check";
import type { NumberedTrade } from "../../services/exchanges/trades.ts";
import { TradeLog } from "../../services/exchanges/trades.ts";

function append(log: TradeLog, timeMs: number): NumberedTrade {
  return log.append({
    provider: "provider_a",
    market: "BTC/USDT",
    timeMs,
    price: 1n,
    amount: "1",
    side: "buy",
  });
}

Deno.test("TradeLog: numbers trades from 1 and keeps the newest", () => {
  const log = new TradeLog(3);
  assert.deepEqual(log.fromId(1, 10), []);
  for (let timeMs = 10; timeMs <= 60; timeMs += 10) append(log, timeMs);
  assert.equal(log.newest?.id, 6);
  assert.deepEqual(log.fromId(1, 10).map((trade) => trade.id), [4, 5, 6]);
  assert.deepEqual(log.fromId(7, 10), []);
});

Deno.test("TradeLog: finds what a naive list finds", () => {
  const gaps = fc.array(fc.nat(3), { maxLength: 60 });
  const bound = fc.nat(100);
  fc.assert(
    fc.property(gaps, bound, bound, fc.integer({ min: 1, max: 20 }), (gaps, a, b, limit) => {
      const log = new TradeLog(1_000);
      let timeMs = 0;
      const all = gaps.map((gap) => append(log, timeMs += gap));
      assert.deepEqual(
        log.between(a, b, limit),
        all.filter((trade) => trade.timeMs >= a && trade.timeMs <= b).slice(0, limit),
      );
      assert.deepEqual(log.fromId(a, limit), all.filter((trade) => trade.id >= a).slice(0, limit));
    }),
  );
});
