import assert from "node:assert/strict";
import { Registry } from "prom-client";
import { withDefaults } from "../../lib/cli/options.ts";
import { MARKETS } from "../../lib/protocol/markets.ts";
import { oraclePricesSchema } from "../../lib/protocol/price.ts";
import { options as exchangesOptions, startExchanges } from "../../services/exchanges/mod.ts";
import { createOracleMetrics, observeBoard } from "../../services/oracle/metrics.ts";
import { options as oracleOptions, startOracle } from "../../services/oracle/mod.ts";
import { Oracle } from "../../services/oracle/oracle.ts";
import { PROVIDERS } from "../../services/oracle/providers.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { FakeNetwork } from "../support/fake_socket.ts";

Deno.test("Oracle and exchanges: prices of all pairs from all four venues, over real sockets", async () => {
  await using exchanges = await startExchanges(
    withDefaults(exchangesOptions, { port: 0, seed: 7 }),
  );
  const { providerUrls } = exchanges;
  await using oracle = await startOracle(
    withDefaults(oracleOptions, { port: 0, minSources: 2, providerUrls }),
  );
  const prices = await eventually("four sources for three pairs", async () => {
    const response = await fetch(`${oracle.url}/prices`);
    assert.equal(response.status, 200);
    const body = oraclePricesSchema.parse(await response.json());
    const entries = Object.values(body.prices);
    return entries.length === 3 && entries.every((entry) => entry.sources.length === 4)
      ? body.prices
      : undefined;
  });
  assert.deepEqual(Object.keys(prices), ["BTC/USDT", "ETH/USDT", "SOL/USDT"]);
  assert(Math.abs(Number(prices["BTC/USDT"]?.price) / 60_000_000_000 - 1) < 0.01);
  const health = await fetch(`${oracle.url}/health`);
  assert.equal(health.status, 200);
  assert.equal((await health.json()).status, "healthy");
  const providers = await (await fetch(`${oracle.url}/providers`)).json();
  assert.equal(providers.providers.length, 4);
  assert(providers.providers.every((provider: { ready: boolean }) => provider.ready));
  const metrics = await (await fetch(`${oracle.url}/metrics`)).text();
  assert.match(metrics, /oracle_prints_total\{provider="provider_c"\} [1-9]/);
  assert.match(metrics, /oracle_sources\{pair="SOL\/USDT"\} 4/);
});

Deno.test("Oracle: unhealthy with 503 and no prices while no source is there (oracle spec, GET /health)", async () => {
  await using oracle = await startOracle(withDefaults(oracleOptions, {
    port: 0,
    providers: ["provider_a"],
    // Nothing listens on port 1.
    providerUrls: { provider_a: "ws://127.0.0.1:1/" },
  }));
  const health = await fetch(`${oracle.url}/health`);
  assert.equal(health.status, 503);
  assert.equal((await health.json()).status, "unhealthy");
  const prices = await (await fetch(`${oracle.url}/prices`)).json();
  assert.deepEqual(prices, { timestamp: 0, prices: {} });
  const missing = await fetch(`${oracle.url}/price`);
  assert.equal(missing.status, 404);
  assert.deepEqual(await missing.json(), {
    success: false,
    code: "NOT_FOUND",
    error: "NOT_FOUND: No route GET /price: GET / says where the endpoints are described",
    details: { method: "GET", path: "/price" },
  });
});

Deno.test("Oracle: a venue that disconnects stops contributing at once, and has it again when it is back", async () => {
  await using exchanges = await startExchanges(
    withDefaults(exchangesOptions, { port: 0, rate: 50 }),
  );
  const { providerUrls } = exchanges;
  await using oracle = await startOracle(withDefaults(oracleOptions, { port: 0, providerUrls }));
  const sources = async (): Promise<string[]> => {
    const response = await fetch(`${oracle.url}/prices`);
    return oraclePricesSchema.parse(await response.json()).prices["SOL/USDT"]?.sources ?? [];
  };
  await eventually("four sources", async () => (await sources()).length === 4 || undefined);
  exchanges.inject("provider_d", "close");
  await eventually(
    "three sources",
    async () => !(await sources()).includes("provider_d") || undefined,
  );
  exchanges.clear("provider_d", "close");
  await eventually("four sources again", async () => (await sources()).length === 4 || undefined);
  const { providers } = await (await fetch(`${oracle.url}/providers`)).json();
  assert.match(providers[3].lastError, /closed with /);
  assert(providers[3].reconnects >= 1);
});

Deno.test("Oracle metrics: prints, ages, sources, reconnects, faults, dropped frames and times", async () => {
  const clock = new FakeClock();
  const network = new FakeNetwork();
  const registry = new Registry();
  const oracle = new Oracle({
    providers: [{ provider: PROVIDERS.provider_a, url: "ws://venue" }],
    markets: MARKETS,
    board: { aggregation: "median", minSources: 1, maxSourceAgeMs: 30_000 },
    clock,
    random: () => 1,
    metrics: createOracleMetrics(registry),
    connect: network.connect,
  });
  observeBoard(registry, oracle.board, clock);
  oracle.start();
  network.newest.fail("refused");
  clock.advance(500);
  network.newest.open();
  for (let id = 1; id <= 128; id++) {
    const data = { e: "aggTrade", s: "BTCUSDT", a: id, p: "5", T: clock.now() };
    network.newest.deliver(JSON.stringify({ data }));
  }
  network.newest.deliver("{");
  clock.advance(1_500);
  const text = await registry.metrics();
  for (
    const line of [
      'oracle_prints_total{provider="provider_a"} 128',
      'oracle_reconnects_total{provider="provider_a"} 1',
      'oracle_faults_total{provider="provider_a",fault="not_opened"} 1',
      'oracle_dropped_frames_total{provider="provider_a",reason="not_json"} 1',
      'oracle_sources{pair="BTC/USDT"} 1',
      'oracle_sources{pair="ETH/USDT"} 0',
      'oracle_price_age_seconds{pair="BTC/USDT"} 1.5',
      "oracle_aggregation_seconds_count 2",
    ]
  ) {
    assert(text.includes(line), `${line} is not in\n${text}`);
  }
  assert(!text.includes('oracle_price_age_seconds{pair="ETH/USDT"}'), "no price has no age");
  assert(!text.includes("oracle_source_deviation_ratio{"), "one source has no median");
  for (
    const [provider, price] of [["provider_b", 100n], ["provider_c", 100n], [
      "provider_d",
      90n,
    ]] as const
  ) {
    oracle.board.update(provider, "SOL/USDT", price, clock.now());
  }
  assert.match(
    await registry.metrics(),
    /oracle_source_deviation_ratio\{pair="SOL\/USDT",provider="provider_d"\} -0\.1\n/,
  );
  oracle.stop();
});
