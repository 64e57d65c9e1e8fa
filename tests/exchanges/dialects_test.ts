/** The simulated exchanges send frames that the oracle's own parsers read. */
import assert from "node:assert/strict";
import { exchangeSymbol } from "../../lib/protocol/markets.ts";
import { DIALECTS } from "../../services/exchanges/dialects/mod.ts";
import type { NumberedTrade } from "../../services/exchanges/dialects/dialect.ts";
import { PROVIDERS } from "../../services/oracle/providers/mod.ts";

const trade: Omit<NumberedTrade, "provider"> = {
  id: 41,
  market: "ETH/USDT",
  timeMs: 1_675_329_600_138,
  price: 1_666_800_001n,
  amount: "26.062",
  side: "buy",
};

for (const dialect of DIALECTS) {
  const provider = PROVIDERS[dialect.provider];
  const symbol = exchangeSymbol({ symbol: "ETH/USDT" }, dialect.provider);

  Deno.test(`DIALECTS, ${dialect.provider}: the provider reads all of its frames`, () => {
    assert.deepEqual(provider.parse(dialect.trade(symbol, { ...trade, provider: provider.name })), {
      kind: "trades",
      trades: [{
        symbol,
        price: trade.price,
        exchangeTimeMs: trade.timeMs,
        ...provider.name === "provider_d" ? {} : { sequence: trade.id },
      }],
    });
    for (const frame of dialect.acknowledge([symbol], [symbol], 1)) {
      const parsed = provider.parse(frame);
      assert.equal(parsed.kind, "acknowledged", frame);
    }
    for (const frame of dialect.refuse([symbol], "no such market", 1)) {
      const parsed = provider.parse(frame);
      assert(parsed.kind === "refused" && parsed.reason.includes("no such market"), frame);
    }
    const newest = { ...trade, provider: provider.name };
    for (const frame of dialect.heartbeat?.frames([{ symbol, newest }], trade.timeMs) ?? []) {
      assert.equal(provider.parse(frame).kind, "alive", frame);
    }
    if (dialect.shutdownNotice !== undefined) {
      assert.equal(provider.parse(dialect.shutdownNotice).kind, "closing");
    }
  });

  Deno.test(`DIALECTS, ${dialect.provider}: reads the provider's subscribe and ping frames`, () => {
    for (const frame of provider.subscribeFrames([symbol])) {
      const read = dialect.read(frame);
      assert(read.kind === "subscribe");
      assert.deepEqual(read.symbols, [symbol]);
    }
    const { ping } = provider.liveness;
    if (ping !== undefined) {
      assert.deepEqual(dialect.read(ping.text), { kind: "ping" });
      assert.deepEqual(provider.parse(dialect.pong ?? ""), { kind: "alive" });
    }
  });

  Deno.test(`DIALECTS, ${dialect.provider}: rejects invalid frames`, () => {
    for (const frame of ["", "{", "null", "[1]", "{}", '{"op":"subscribe","args":[]}']) {
      assert.equal(dialect.read(frame).kind, "invalid", frame);
    }
  });
}
