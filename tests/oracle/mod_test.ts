import assert from "node:assert/strict";
import { oraclePricesSchema } from "../../lib/protocol/price.ts";
import { withDefaults } from "../../lib/service/options.ts";
import { options as exchangesOptions, startExchanges } from "../../services/exchanges/mod.ts";
import { options as oracleOptions, startOracle } from "../../services/oracle/mod.ts";
import { eventually } from "../support/eventually.ts";

Deno.test("Oracle and exchanges: prices of all pairs from all four venues, over real sockets", async () => {
  const exchanges = await startExchanges(withDefaults(exchangesOptions, { port: 0, seed: 7 }));
  const { providerUrls } = exchanges;
  const oracle = await startOracle(
    withDefaults(oracleOptions, { port: 0, minSources: 2, providerUrls }),
  );
  try {
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
  } finally {
    await oracle.stop();
    await exchanges.stop();
  }
});
