import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import { runReadinessChecks } from "../../lib/http/readiness.ts";
import { EXCHANGE_OF, PROVIDER_NAMES } from "../../lib/protocol/providers.ts";
import { described, timestampSchema, uint64Schema } from "../../lib/protocol/scalars.ts";
import { deviations, OUTLIER_BASIS_POINTS } from "./aggregation.ts";
import type { PriceOracle } from "./price_oracle.ts";
import type { MarketPrice, PriceBoard } from "./price_board.ts";
import type { ProviderConnection } from "./provider_connection.ts";

const ageSchema = z.number().nonnegative().nullable()
  .describe("Milliseconds, null if it has not happened");

/**
 * One provider in `GET /health` and `GET /providers`: the spec's `name`, `ready` and `prices`, and
 * details for operators.
 */
const providerStatusSchema = z.object({
  name: z.enum(PROVIDER_NAMES),
  ready: z.boolean().describe("Connected, and at least one of its subscriptions acknowledged"),
  prices: z.number().int().nonnegative().describe("Pairs that it contributes to"),
  exchange: z.enum(Object.values(EXCHANGE_OF)),
  connectionAgeMs: ageSchema,
  lastFrameAgeMs: ageSchema,
  streams: z.record(
    z.string(),
    z.object({
      subscriptionAgeMs: ageSchema,
      lastTradeAgeMs: ageSchema,
      exchangeLagMs: z.number().nullable()
        .describe("From the exchange's timestamp to the receipt of its last trade, milliseconds"),
    }),
  ).describe("By symbol"),
  reconnects: z.number().int().nonnegative(),
  lastError: z.string().nullable(),
  lastErrorTime: z.nullable(timestampSchema),
}).meta({ id: "ProviderStatus" });

/** The contributing sources of a market, and the distance of each from their median. */
const pairSourceSchema = z.object({
  sources: z.array(z.enum(PROVIDER_NAMES)),
  price: z.optional(uint64Schema)
    .describe("6 decimals; absent while there are too few sources, or a jump is withheld"),
  withheld: z.boolean()
    .describe("It jumped while sources are missing: it is served once a second one confirms it"),
  sourcePrices: z.record(z.string(), uint64Schema).describe("By provider, 6 decimals"),
  deviationBasisPoints: z.record(z.string(), z.number()).optional()
    .describe("By provider: distance from the median, with three or more sources"),
  outliers: z.array(z.enum(PROVIDER_NAMES))
    .describe(`More than ${OUTLIER_BASIS_POINTS} basis points from the median`),
}).meta({ id: "PairSource" });

export const providersSchema = z.object({
  providers: z.array(providerStatusSchema),
  pairSources: z.record(z.string(), pairSourceSchema).describe("By symbol"),
});

export const healthSchema = z.object({
  status: z.enum(["healthy", "degraded", "unhealthy"])
    .describe("All markets have a price, some have, none has"),
  uptime: z.number().int().nonnegative().describe("Seconds"),
  providers: z.array(providerStatusSchema),
  lastPriceUpdate: described(timestampSchema, "Newest lastUpdate of any price, 0 without one"),
  pairsWithPrices: z.number().int().nonnegative(),
  totalPairs: z.number().int().nonnegative(),
}).meta({ id: "Health" });

export const readinessSchema = z.object({
  ready: z.boolean(),
  prices: z.boolean().describe("Every market has a price"),
  problems: z.array(z.string()).describe("One sentence per problem"),
}).meta({ id: "Readiness" });

function providerStatus(
  connection: ProviderConnection,
  board: PriceBoard,
  nowMs: number,
): z.input<typeof providerStatusSchema> {
  const { name, session, reconnects, lastError } = connection;
  const ageMs = (atMs: number | undefined) => atMs === undefined ? null : Math.max(0, nowMs - atMs);
  return {
    name,
    ready: session?.isSubscribed ?? false,
    prices: board.countOf(name),
    exchange: EXCHANGE_OF[name],
    connectionAgeMs: ageMs(session?.openedAtMs),
    lastFrameAgeMs: ageMs(session?.lastFrameAtMs),
    streams: Object.fromEntries((session?.streams ?? []).map((stream) => [stream.market, {
      subscriptionAgeMs: ageMs(stream.acknowledgedAtMs),
      lastTradeAgeMs: ageMs(stream.lastTradeAtMs),
      exchangeLagMs: stream.lagMs ?? null,
    }])),
    reconnects,
    lastError: lastError?.text ?? null,
    lastErrorTime: lastError?.atMs ?? null,
  };
}

function pairSource({ sources, entry, isWithheld }: MarketPrice): z.input<typeof pairSourceSchema> {
  const distances = deviations(sources);
  return {
    sources: sources.map((source) => source.provider),
    // No price is better than a wrong one.
    price: entry?.price.toString(),
    withheld: isWithheld,
    sourcePrices: Object.fromEntries(
      sources.map(({ provider, price }) => [provider, price.toString()]),
    ),
    deviationBasisPoints: distances && Object.fromEntries(distances),
    outliers: [...distances ?? []].filter(([, points]) => Math.abs(points) > OUTLIER_BASIS_POINTS)
      .map(([provider]) => provider),
  };
}

export function viewProviders(
  { board, connections }: PriceOracle,
  clock: Clock,
): z.input<typeof providersSchema> {
  return {
    providers: connections.map((one) => providerStatus(one, board, clock.now())),
    pairSources: Object.fromEntries(
      Array.from(board.markets, ([symbol, market]) => [symbol, pairSource(market)]),
    ),
  };
}

/** The body of `GET /health`: unhealthy without any price, degraded while some market has none. */
export function viewHealth(
  { board, connections }: PriceOracle,
  clock: Clock,
  startedAtMs: number,
): z.input<typeof healthSchema> {
  const entries = [...board.markets.values()].flatMap(({ entry }) => entry ?? []);
  const pairsWithPrices = entries.length;
  const totalPairs = board.markets.size;
  const status = pairsWithPrices === 0
    ? "unhealthy"
    : pairsWithPrices < totalPairs
    ? "degraded"
    : "healthy";
  return {
    status,
    uptime: Math.max(0, Math.floor((clock.now() - startedAtMs) / 1000)),
    providers: connections.map((one) => providerStatus(one, board, clock.now())),
    lastPriceUpdate: Math.max(0, ...entries.map(({ lastUpdate }) => lastUpdate)),
    pairsWithPrices,
    totalPairs,
  };
}

/** The answer of `GET /ready`: the markets without a price, and the providers that have failed. */
export function checkReadiness(
  { board, connections }: PriceOracle,
  minSources: number,
): Promise<z.output<typeof readinessSchema>> {
  const missing = [...board.markets].filter(([, { entry }]) => entry === undefined)
    .map(([symbol, { sources, isWithheld }]) =>
      isWithheld
        ? `${symbol} is withheld: it jumped while sources are missing`
        : `${symbol} has ${sources.length} of ${minSources} sources`
    );
  // The last error of a provider with all prices is over.
  const failed = connections.flatMap(({ name, lastError }) =>
    lastError === undefined || board.countOf(name) === board.markets.size
      ? []
      : [`${EXCHANGE_OF[name]}: ${lastError.text}`]
  );
  const hasSource = [...board.markets.values()].some(({ sources }) => sources.length > 0);
  const haveAllFailed = connections.every(({ lastError, session }) =>
    lastError !== undefined && !session?.isSubscribed
  );
  // If all have failed, that is why no market has a source.
  const reasons = !hasSource && haveAllFailed ? failed : [...missing, ...failed];
  return runReadinessChecks({
    prices: () => missing.length === 0 ? undefined : `No price: ${reasons.join("; ")}`,
  });
}
