import assert from "node:assert/strict";
import { aggTrades } from "../../services/exchanges/api.ts";
import { TradeLog } from "../../services/exchanges/trade_log.ts";

const log = new TradeLog(10_000);
for (let second = 1; second <= 1_200; second++) {
  log.append({
    provider: "provider_a",
    market: "BTC/USDT",
    timeMs: second * 1_000,
    price: BigInt(second) * 1_000_000n,
    amount: "0.5",
    side: second % 2 === 0 ? "sell" : "buy",
  });
}

function ask(query: Record<string, string>) {
  return aggTrades(query, (symbol) => symbol === "BTCUSDT" ? log : undefined);
}

function ids(query: Record<string, string>): number[] {
  const { status, body } = ask(query);
  assert.equal(status, 200);
  assert(Array.isArray(body));
  return body.map((trade) => trade.a);
}

Deno.test("aggTrades: a trade has the fields of Binance's API", () => {
  const { body } = ask({ symbol: "BTCUSDT", fromId: "2", limit: "1" });
  assert.deepEqual(body, [
    { a: 2, p: "2.000000", q: "0.5", f: 2, l: 2, T: 2_000, m: true, M: true },
  ]);
});

Deno.test("aggTrades: selects by trade number, by time range, or the newest", () => {
  assert.deepEqual(ids({ symbol: "BTCUSDT", fromId: "1199" }), [1_199, 1_200]);
  assert.deepEqual(ids({ symbol: "BTCUSDT", startTime: "5000", endTime: "7000" }), [5, 6, 7]);
  assert.deepEqual(ids({ symbol: "BTCUSDT", limit: "2" }), [1_199, 1_200]);
  assert.equal(ids({ symbol: "BTCUSDT" }).length, 500);
  assert.equal(ids({ symbol: "BTCUSDT", startTime: "1", limit: "5000" }).length, 1_000);
});

Deno.test("aggTrades: refuses a query without a symbol, with a wrong number, or with trade number and time, as Binance does", () => {
  assert.deepEqual(ask({}).body, {
    code: -1100,
    msg: "symbol: Expected a symbol: received nothing",
  });
  assert.deepEqual(ask({ symbol: "X" }).body, { code: -1121, msg: "Invalid symbol." });
  const wrong: Record<string, string>[] = [{ fromId: "x" }, { limit: "-1" }, {
    fromId: "1",
    startTime: "1",
  }];
  for (const query of wrong) assert.equal(ask({ symbol: "BTCUSDT", ...query }).status, 400);
});
