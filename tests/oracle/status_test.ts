import assert from "node:assert/strict";
import { Registry } from "prom-client";
import { MARKETS } from "../../lib/protocol/markets.ts";
import type { ProviderName } from "../../lib/protocol/providers.ts";
import { createOracleMetrics, registerSourceMetrics } from "../../services/oracle/metrics.ts";
import { PriceOracle } from "../../services/oracle/price_oracle.ts";
import { PROVIDERS } from "../../services/oracle/providers/mod.ts";
import { checkReadiness, viewHealth, viewProviders } from "../../services/oracle/status.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { FakeNetwork } from "../support/fake_socket.ts";
import { logOf } from "../support/recorded_logs.ts";
import { aggTrade } from "./frames.ts";

function setUp(
  names: ProviderName[] = ["provider_a", "provider_d"],
  maxSourceAgeMs = 30_000,
  minSources = 1,
) {
  const clock = new FakeClock();
  const network = new FakeNetwork();
  const registry = new Registry();
  const oracle = new PriceOracle({
    providers: names.map((name) => ({ provider: PROVIDERS[name], url: PROVIDERS[name].url })),
    markets: MARKETS,
    board: { aggregation: "median", minSources, maxSourceAgeMs },
    clock,
    random: () => 1,
    metrics: createOracleMetrics(registry),
    connect: network.connect,
  });
  oracle.start();
  const [first = assert.fail(), second = first] = network.sockets;
  return { clock, network, registry, oracle, binance: first, okx: second };
}

const trade = (symbol: string, timeMs: number) => aggTrade(1, timeMs, "5", symbol);

Deno.test("viewHealth: the status depends on how many pairs have a price (oracle spec, GET /health)", () => {
  const { clock, oracle, binance } = setUp();
  const startedAtMs = clock.now();
  const health = () => viewHealth(oracle, clock, startedAtMs);
  clock.advance(2_400);
  assert.deepEqual(
    { ...health(), providers: [] },
    {
      status: "unhealthy",
      uptime: 2,
      providers: [],
      lastPriceUpdate: 0,
      pairsWithPrices: 0,
      totalPairs: 3,
    },
  );
  binance.open();
  binance.deliver(trade("BTCUSDT", clock.now()));
  assert.equal(health().status, "degraded");
  binance.deliver(trade("ETHUSDT", clock.now()));
  binance.deliver(trade("SOLUSDT", clock.now()));
  assert.equal(health().status, "healthy");
  assert.equal(health().lastPriceUpdate, clock.now());
  assert.equal(health().pairsWithPrices, 3);
});

Deno.test("viewProviders: keeps the ages of connection, subscription and last trade apart (oracle spec, Provider status)", () => {
  const { clock, oracle, binance, okx } = setUp();
  binance.open();
  clock.advance(100);
  binance.deliver('{"result":null,"id":1}');
  clock.advance(200);
  binance.deliver(trade("BTCUSDT", clock.now() - 12));
  clock.advance(300);
  binance.deliver("{");
  okx.fail("refused");
  clock.advance(50);
  const { providers, pairSources } = viewProviders(oracle, clock);
  assert.deepEqual(JSON.parse(JSON.stringify(providers)), [
    {
      name: "provider_a",
      ready: true,
      prices: 1,
      exchange: "binance",
      connectionAgeMs: 650,
      lastFrameAgeMs: 50,
      streams: {
        "BTC/USDT": { subscriptionAgeMs: 550, lastTradeAgeMs: 350, exchangeLagMs: 12 },
        "ETH/USDT": { subscriptionAgeMs: 550, lastTradeAgeMs: null, exchangeLagMs: null },
        "SOL/USDT": { subscriptionAgeMs: 550, lastTradeAgeMs: null, exchangeLagMs: null },
      },
      reconnects: 0,
      lastError: null,
      lastErrorTime: null,
    },
    {
      name: "provider_d",
      ready: false,
      prices: 0,
      exchange: "okx",
      connectionAgeMs: null,
      lastFrameAgeMs: null,
      streams: {},
      reconnects: 0,
      lastError: "not_opened: refused",
      lastErrorTime: clock.now() - 50,
    },
  ]);
  assert.deepEqual(pairSources["BTC/USDT"]?.sources, ["provider_a"]);
  assert.equal(pairSources["BTC/USDT"]?.price, "5000000");
  assert.equal(pairSources["ETH/USDT"]?.price, undefined);
});

Deno.test("viewProviders: a source over 100 basis points off the median of three is reported as an outlier", () => {
  const { clock, oracle } = setUp();
  const price = (text: string) => BigInt(text) * 1_000_000n;
  oracle.board.update("provider_a", "BTC/USDT", price("60000"), clock.now());
  oracle.board.update("provider_b", "BTC/USDT", price("60006"), clock.now());
  oracle.board.update("provider_c", "BTC/USDT", price("6000"), clock.now());
  assert.deepEqual(viewProviders(oracle, clock).pairSources["BTC/USDT"], {
    sources: ["provider_a", "provider_b", "provider_c"],
    price: "60000000000",
    withheld: false,
    sourcePrices: {
      provider_a: "60000000000",
      provider_b: "60006000000",
      provider_c: "6000000000",
    },
    deviationBasisPoints: { provider_a: 0, provider_b: 1, provider_c: -9000 },
    outliers: ["provider_c"],
  });
  const cases = [
    ["60600", []],
    ["60607", ["provider_c"]],
    ["59393", ["provider_c"]],
  ];
  for (const [text, outliers] of cases) {
    oracle.board.update("provider_b", "BTC/USDT", price("60000"), clock.now());
    oracle.board.update("provider_c", "BTC/USDT", price(String(text)), clock.now());
    assert.deepEqual(viewProviders(oracle, clock).pairSources["BTC/USDT"]?.outliers, outliers);
  }
});

Deno.test("PriceOracle: a quiet source that contributes again is removed 30 s after its trade, without a frame", () => {
  const { clock, network, oracle } = setUp(["provider_c"], 2_500);
  network.newest.open();
  network.newest.deliver(
    '{"channel":"trade","type":"update","data":[{"symbol":"BTC/USDT","price":5,"trade_id":1,' +
      `"timestamp":"${new Date(clock.now()).toISOString()}"}]}`,
  );
  for (let second = 1; second < 30; second++) {
    clock.advance(1_000);
    network.newest.deliver('{"channel":"status","data":[{"system":"online"}]}');
  }
  const sources = () =>
    oracle.board.markets.get("BTC/USDT")?.sources.map(({ provider }) => provider);
  for (const provider of ["provider_a", "provider_b"] as const) {
    oracle.board.update(provider, "BTC/USDT", 5_000_000n, clock.now());
  }
  assert.deepEqual(sources(), ["provider_a", "provider_b"]);
  network.newest.deliver('{"channel":"heartbeat"}');
  assert.deepEqual(sources(), ["provider_a", "provider_b", "provider_c"]);
  clock.advance(1_000);
  assert.equal(oracle.board.expire(clock.now()), clock.now() + 1);
  assert.deepEqual(sources(), ["provider_a", "provider_b", "provider_c"]);
  clock.advance(1);
  assert.deepEqual(sources(), ["provider_a", "provider_b"]);
  oracle.stop();
  assert.equal(clock.pending, 0);
});

Deno.test("createOracleMetrics: count trades, faults and frames, and report ages, sources and times", async () => {
  const { clock, network, registry, oracle } = setUp(["provider_a"]);
  registerSourceMetrics(registry, oracle, clock);
  const first = await registry.metrics();
  assert(first.includes('oracle_trades_total{provider="provider_a"} 0'), "an alert needs a series");
  network.newest.fail("refused");
  clock.advance(500);
  network.newest.open();
  for (let id = 1; id <= 128; id++) {
    network.newest.deliver(aggTrade(id, clock.now() - 120, "5"));
  }
  network.newest.deliver("{");
  clock.advance(1_500);
  const text = await registry.metrics();
  const lines = [
    'oracle_trades_total{provider="provider_a"} 128',
    'oracle_reconnects_total{provider="provider_a"} 1',
    'oracle_faults_total{provider="provider_a",fault="not_opened"} 1',
    'oracle_dropped_frames_total{provider="provider_a",reason="not_json"} 1',
    'oracle_sources{pair="BTC/USDT"} 1',
    'oracle_source_lag_seconds{pair="BTC/USDT",provider="provider_a"} 0.12',
    'oracle_sources{pair="ETH/USDT"} 0',
    'oracle_price_age_seconds{pair="BTC/USDT"} 1.5',
    "oracle_aggregation_seconds_count 2",
  ];
  for (const line of lines) {
    assert(text.includes(line), `${line} is not in\n${text}`);
  }
  assert(!text.includes('oracle_price_age_seconds{pair="ETH/USDT"}'), "no price has no age");
  assert(!text.includes("oracle_source_deviation_ratio{"), "one source has no median");
  const cases = [["provider_b", 100n], ["provider_c", 100n], ["provider_d", 90n]] as const;
  for (const [provider, price] of cases) {
    oracle.board.update(provider, "SOL/USDT", price, clock.now());
  }
  assert.match(
    await registry.metrics(),
    /oracle_source_deviation_ratio\{pair="SOL\/USDT",provider="provider_d"\} -0\.1\n/,
  );
});

Deno.test("PriceOracle: an expired price that is confirmed expires again", () => {
  const { clock, oracle, binance: coinbase } = setUp(["provider_b"], 1_000);
  coinbase.open();
  const time = new Date(clock.now()).toISOString();
  const ticker = { type: "ticker", product_id: "BTC-USDT", price: "5", trade_id: 9, time };
  coinbase.deliver(JSON.stringify(ticker));
  const hasPrice = () => viewHealth(oracle, clock, 0).pairsWithPrices === 1;
  clock.advance(2_000);
  assert.equal(hasPrice(), false);
  coinbase.deliver('{"type":"heartbeat","product_id":"BTC-USDT","last_trade_id":9}');
  assert.equal(hasPrice(), true);
  clock.advance(2_000);
  assert.equal(hasPrice(), false);
});

Deno.test("checkReadiness: names the error of a provider only while it lacks prices", async () => {
  const { clock, network, oracle, binance, okx } = setUp(undefined, undefined, 2);
  binance.fail("refused");
  okx.fail("refused");
  const problems = async () => (await checkReadiness(oracle, 2)).problems.join();
  assert.equal(
    await problems(),
    "No price: binance: not_opened: refused; okx: not_opened: refused",
  );
  clock.advance(500);
  const again = network.sockets[2] ?? assert.fail("It connects again");
  again.open();
  again.deliver('{"result":null,"id":1}');
  assert.match(
    await problems(),
    /^No price: BTC\/USDT has 0 of 2 sources; /,
    "no longer the error",
  );
  for (const symbol of ["BTCUSDT", "ETHUSDT"]) again.deliver(trade(symbol, clock.now()));
  assert.match(await problems(), /^No price: BTC\/USDT has 1 of 2 sources; .* binance/);
  again.deliver(trade("SOLUSDT", clock.now()));
  assert.doesNotMatch(await problems(), /binance/);
  assert.match(await problems(), /okx: not_opened: refused$/);
});

Deno.test("checkReadiness, viewProviders: a withheld price is reported as withheld, not as a lack of sources", async () => {
  const { clock, oracle } = setUp();
  const update = (provider: ProviderName, price: bigint) => {
    for (const { symbol } of MARKETS) oracle.board.update(provider, symbol, price, clock.now());
  };
  const problems = async () => (await checkReadiness(oracle, 1)).problems;
  const log = await logOf(async () => {
    update("provider_a", 100_000_000n);
    update("provider_b", 100_000_000n);
    oracle.board.removeProvider("provider_b", clock.now());
    oracle.board.update("provider_a", "SOL/USDT", 200_000_000n, clock.now());
    assert.deepEqual(await problems(), [
      "No price: SOL/USDT is withheld: it jumped while sources are missing",
    ]);
    const { price, withheld } = viewProviders(oracle, clock).pairSources["SOL/USDT"] ??
      assert.fail();
    assert.deepEqual([price, withheld], [undefined, true]);
    oracle.board.removeProvider("provider_a", clock.now());
    assert.match((await problems()).join(), /SOL\/USDT has 0 of 1 sources$/);
    update("provider_a", 200_000_000n);
    update("provider_b", 200_000_000n);
    assert.deepEqual(await problems(), []);
  });
  assert.deepEqual(log.filter((line) => line.includes("SOL/USDT")), [
    "Price of SOL/USDT withheld: it jumped to 200.000000 and has no source but provider_a; " +
    "waiting for a second source to confirm it",
    "Price of SOL/USDT is served again: 200.000000 from provider_a, provider_b",
  ]);
});
