import assert from "node:assert/strict";
import { seededRandom } from "../../lib/random.ts";
import { Simulation } from "../../services/exchanges/simulation.ts";
import type { Trade } from "../../services/exchanges/trades.ts";

const MARKETS = ["BTC/USDT", "ETH/USDT"];

function trades(seed: number, count: number, startMs = 1_000): Trade[] {
  const simulation = new Simulation({
    markets: MARKETS,
    random: seededRandom(seed),
    startMs,
    tradesPerSecond: 5,
  });
  return Array.from({ length: count }, () => simulation.next());
}

Deno.test("Simulation: the same seed gives the same trades, another seed others", () => {
  assert.deepEqual(trades(7, 200), trades(7, 200));
  assert.notDeepEqual(trades(7, 200), trades(8, 200));
  const prices = (startMs: number) => trades(7, 200, startMs).map((trade) => trade.price);
  assert.deepEqual(prices(1_000), prices(1_700_000_000_123), "whenever it runs");
});

Deno.test("Simulation: trades come in order of time, at the rate asked for, in every market at every venue", () => {
  const list = trades(7, 40_000);
  const seconds = ((list.at(-1)?.timeMs ?? 0) - 1_000) / 1_000;
  const counts = new Map<string, number>();
  let lastMs = 0;
  for (const { provider, market, timeMs } of list) {
    assert(timeMs >= lastMs);
    lastMs = timeMs;
    const key = `${provider} ${market}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  assert.equal(counts.size, 8);
  for (const [key, count] of counts) {
    assert(Math.abs(count / seconds - 5) < 0.5, `${key}: ${count / seconds} a second`);
  }
});

Deno.test("Simulation: venues lie a little apart and move together", () => {
  const newest = new Map<string, number>();
  for (const { provider, market, price } of trades(7, 40_000)) {
    if (market !== "BTC/USDT") continue;
    newest.set(provider, Number(price) / 1e6);
    if (newest.size < 4) continue;
    const prices = [...newest.values()];
    assert((Math.max(...prices) - Math.min(...prices)) / Math.min(...prices) < 0.02);
  }
  assert(new Set(newest.values()).size > 1);
});

Deno.test("Simulation: needs a market", () => {
  const options = { markets: [], random: seededRandom(1), startMs: 0, tradesPerSecond: 1 };
  assert.throws(() => new Simulation(options), /needs a market/);
});
