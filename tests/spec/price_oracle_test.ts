/**
 * The price oracle document: the service itself, against a whole stack and its exchanges. How the
 * write node pulls, ages, keeps and backfills prices: price_oracle_node_test.ts.
 */
import assert from "node:assert/strict";
import { exchangeSymbol } from "../../lib/protocol/markets.ts";
import { z } from "zod";
import { withDefaults } from "../../lib/cli/options.ts";
import {
  options as exchangesOptions,
  type RunningExchanges,
  startExchanges,
} from "../../services/exchanges/mod.ts";
import { options, type OracleOptions, startOracle } from "../../services/oracle/mod.ts";
import { PROVIDERS } from "../../services/oracle/providers.ts";
import { eventually } from "../support/eventually.ts";
import { get, PAIRS, rpc, sharedStack, wire } from "./support.ts";

const stack = sharedStack();

const SYMBOLS = PAIRS.map(({ symbol }) => symbol);
const NAMES = ["provider_a", "provider_b", "provider_c", "provider_d"];

const entrySchema = z.strictObject({
  base: wire.address,
  quote: wire.address,
  price: wire.decimal,
  decimals: z.literal(6),
  lastUpdate: wire.timeMs,
  sources: z.array(z.enum(NAMES)).min(1),
});
const pricesSchema = z.strictObject({
  timestamp: wire.timeMs,
  prices: z.record(z.string(), entrySchema),
});
/** The service reports more about a provider and a source than the document requires. */
const providerSchema = z.looseObject({
  name: z.enum(NAMES),
  ready: z.boolean(),
  prices: z.int().nonnegative(),
});
const pairSourceSchema = z.looseObject({
  sources: z.array(z.enum(NAMES)),
  price: wire.decimal.optional(),
  sourcePrices: z.record(z.string(), wire.decimal),
});
const providersSchema = z.strictObject({
  providers: z.array(providerSchema),
  pairSources: z.record(z.string(), pairSourceSchema),
});
const healthSchema = z.strictObject({
  status: z.enum(["healthy", "degraded", "unhealthy"]),
  uptime: z.number().nonnegative(),
  providers: z.array(providerSchema),
  lastPriceUpdate: wire.timeMs,
  pairsWithPrices: z.int(),
  totalPairs: z.literal(3),
});

const pricesOf = (url: string) => get(`${url}/prices`, pricesSchema);
const providersOf = (url: string) => get(`${url}/providers`, providersSchema);

/** Plays with an oracle of its own on exchanges of its own. */
async function withOracle(
  given: Partial<OracleOptions>,
  play: (url: string, exchanges: RunningExchanges) => Promise<void>,
): Promise<void> {
  await using exchanges = await startExchanges(
    withDefaults(exchangesOptions, { port: 0, rate: 50 }),
  );
  await using oracle = await startOracle(
    withDefaults(options, { port: 0, providerUrls: exchanges.providerUrls, ...given }),
  );
  await play(oracle.url, exchanges);
}

/** Resolves once every pair has this many sources. */
function untilSources(url: string, count: number) {
  return eventually(`${count} sources for every pair`, async () => {
    const { pairSources } = await providersOf(url);
    const all = Object.values(pairSources);
    return all.every(({ sources }) => sources.length === count) ? pairSources : undefined;
  });
}

Deno.test("price oracle, GET /prices, Supported pairs, Price entry: every pair has every field, and is up to date", async () => {
  const { timestamp, prices } = await pricesOf(stack.urls.oracle);
  assert.ok(Math.abs(Date.now() - timestamp) < 5_000);
  assert.deepEqual(Object.keys(prices), SYMBOLS);
  for (const { symbol, base, quote } of PAIRS) {
    const entry = prices[symbol] ?? assert.fail(symbol);
    assert.deepEqual([entry.base, entry.quote], [base, quote]);
    assert.ok(BigInt(entry.price) > 0n && entry.lastUpdate <= timestamp);
  }
  const bitcoin = Number(prices["BTC/USDT"]?.price) / 10 ** 6;
  assert.ok(Math.abs(bitcoin / 60_000 - 1) < 0.05, `simulated around 60,000: ${bitcoin}`);
});

Deno.test("price oracle, Price entry, sources: absent in the write node's simplified view", async () => {
  const { result } = await rpc(stack.urls.node, "core_getPrices");
  const simplified = entrySchema.omit({ sources: true }).extend({
    ageMs: z.int().nonnegative(),
    state: z.enum(["fresh", "stale"]),
  });
  const view = z.record(z.string(), simplified).parse(result);
  assert.deepEqual(Object.keys(view).sort(), SYMBOLS);
});

Deno.test("price oracle, GET /providers, GET /health, Provider status: every field has its type and a correct value", async () => {
  const { urls: { oracle } } = stack;
  await untilSources(oracle, 4);
  const expected = NAMES.map((name) => ({ name, ready: true, prices: 3 }));
  const health = await get(`${oracle}/health`, healthSchema);
  const { providers, pairSources } = await providersOf(oracle);
  for (const listed of [providers, health.providers]) {
    assert.deepEqual(listed.map(({ name, ready, prices }) => ({ name, ready, prices })), expected);
  }
  assert.deepEqual(Object.keys(pairSources), SYMBOLS);
  for (const { sources, price } of Object.values(pairSources)) {
    assert.ok(sources.length >= 2 && price !== undefined);
  }
  assert.deepEqual([health.status, health.pairsWithPrices], ["healthy", 3]);
  assert.ok(health.uptime <= performance.now() / 1000, "seconds since the start");
  const { timestamp } = await pricesOf(oracle);
  assert.ok(Math.abs(timestamp - health.lastPriceUpdate) < 5_000);
});

/** The subscription must ask for the channel of the document. */
const CHANNELS = {
  provider_a: "aggTrade",
  provider_b: "ticker",
  provider_c: "trade",
  provider_d: "tickers",
};
for (const [name, channel] of Object.entries(CHANNELS)) {
  const provider = Object.values(PROVIDERS).find((one) => one.name === name);
  Deno.test(
    `price oracle, Providers, ${name}: subscribes to ${channel} and gets prices`,
    async () => {
      const symbols = SYMBOLS.map((symbol) =>
        provider ? exchangeSymbol({ symbol }, provider.name) : ""
      );
      const frames = provider?.subscribeFrames(symbols).join("\n") ?? "";
      assert.match(frames, new RegExp(`[@"]${channel}"`));
      await eventually(`${name} in every pair`, async () => {
        const { pairSources } = await providersOf(stack.urls.oracle);
        const all = Object.values(pairSources);
        return all.every(({ sources }) => sources.includes(name)) || undefined;
      });
    },
  );
}

/** The document's rules, applied to the sources that the oracle lists. */
const RULES: Record<OracleOptions["aggregation"], (prices: bigint[]) => bigint> = {
  median(prices) {
    const sorted = prices.sort((a, b) => a < b ? -1 : 1);
    const middle = sorted.slice(
      Math.ceil(sorted.length / 2) - 1,
      Math.floor(sorted.length / 2) + 1,
    );
    return mean(middle);
  },
  average: mean,
};

/** To the nearest integer, since prices have no more decimals. */
function mean(prices: bigint[]): bigint {
  const count = BigInt(prices.length);
  return (prices.reduce((sum, price) => sum + price, 0n) * 2n + count) / (count * 2n);
}

const LISTS = [["provider_b"], ["provider_a", "provider_c", "provider_d"], NAMES] as const;
for (const aggregation of ["median", "average"] as const) {
  for (const names of LISTS) {
    Deno.test(
      `price oracle, Aggregation, ${aggregation} of ${names.length}: the price follows the rule`,
      () =>
        withOracle({
          aggregation,
          providers: names as OracleOptions["providers"], // names of the table above
        }, async (url) => {
          const pairs = await untilSources(url, names.length);
          for (const { sources, price, sourcePrices } of Object.values(pairs)) {
            assert.deepEqual(sources, [...names]);
            const expected = RULES[aggregation](Object.values(sourcePrices).map(BigInt));
            assert.equal(price, expected.toString());
          }
        }),
    );
  }
}

for (const minSources of [1, 3, 4]) {
  const enough = minSources <= 3;
  Deno.test(
    `price oracle, --min-sources ${minSources}: with three sources a pair has ${
      enough ? "a" : "no"
    } price`,
    () =>
      withOracle({ minSources }, async (url, exchanges) => {
        await untilSources(url, 4);
        assert.deepEqual(Object.keys((await pricesOf(url)).prices), SYMBOLS);
        exchanges.inject("provider_c", "close");
        await untilSources(url, 3);
        assert.deepEqual(Object.keys((await pricesOf(url)).prices), enough ? SYMBOLS : []);
        const { status } = await fetch(`${url}/health`).then((response) => response.json());
        assert.equal(status, enough ? "healthy" : "unhealthy");
      }),
  );
}
