/**
 * The price oracle document: the service itself, against a whole stack and its exchanges. Its
 * providers, sources and faults: tests/oracle. How the write node pulls, ages, keeps and backfills
 * prices: tests/node/oracle, outage_test.ts and checkpoints_test.ts of tests/node, and
 * tests/lib/prices.
 */
import assert from "node:assert/strict";
import { z } from "zod";
import { AGGREGATIONS } from "../../services/oracle/aggregation.ts";
import { eventually } from "../support/eventually.ts";
import { get, PAIRS, rpc, stack, wire } from "./support.ts";

const { average, median } = AGGREGATIONS;

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

Deno.test("price oracle, Aggregation: median and average are rounded half away from zero", () => {
  assert.deepEqual([[3n, 1n, 2n], [1n, 2n], [1n, 9n, 4n, 2n]].map(median), [2n, 2n, 3n]);
  assert.deepEqual([[1n, 2n], [1n, 1n, 2n], [1n, 2n, 2n], [7n]].map(average), [2n, 1n, 2n, 7n]);
});
