import assert from "node:assert/strict";
import { Registry } from "prom-client";
import { MARKETS } from "../../lib/protocol/markets.ts";
import { createOracleMetrics, observeBoard } from "../../services/oracle/metrics.ts";
import { Oracle } from "../../services/oracle/oracle.ts";
import { PROVIDERS } from "../../services/oracle/providers.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { FakeNetwork } from "../support/fake_socket.ts";

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
    metrics: createOracleMetrics([registry]),
    connect: network.connect,
  });
  observeBoard([registry], oracle.board, clock);
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
