import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import { EXCHANGE_OF, PROVIDER_NAMES } from "../../lib/protocol/providers.ts";
import { timestampSchema, uint64Schema } from "../../lib/protocol/scalars.ts";
import { deviations, OUTLIER_BASIS_POINTS } from "./deviation.ts";
import type { Feed } from "./feed.ts";
import type { Oracle } from "./oracle.ts";
import type { PriceBoard } from "./price_board.ts";

/** How old something is, in milliseconds. */
const ageSchema = z.number().nonnegative().nullable().describe("Milliseconds, null before it");

/**
 * What `GET /health` and `GET /providers` tell of a provider: the spec's `name`, `ready` and
 * `prices`, and what an operator asks next.
 */
const providerStatusSchema = z.object({
  name: z.enum(PROVIDER_NAMES),
  ready: z.boolean().describe("Connected, and all its subscriptions acknowledged"),
  prices: z.number().int().nonnegative().describe("Pairs with a price from it"),
  exchange: z.enum(Object.values(EXCHANGE_OF)),
  connectionAgeMs: ageSchema,
  lastFrameAgeMs: ageSchema,
  streams: z.record(
    z.string(),
    z.object({
      subscriptionAgeMs: ageSchema,
      lastTradeAgeMs: ageSchema,
      exchangeLagMs: z.number().nullable()
        .describe("From the exchange's time to the receipt of its last trade, milliseconds"),
    }),
  ).describe("By symbol"),
  reconnects: z.number().int().nonnegative(),
  lastError: z.string().nullable(),
}).meta({ id: "ProviderStatus" });

/** The sources of a pair, and how far each of three or more lies from their median. */
const pairSourceSchema = z.object({
  sources: z.array(z.enum(PROVIDER_NAMES)),
  price: uint64Schema.optional().describe("Absent while there are too few sources, 6 decimals"),
  sourcePrices: z.record(z.string(), uint64Schema).describe("By provider, 6 decimals"),
  deviationBasisPoints: z.record(z.string(), z.number()).optional()
    .describe("By provider: how far from the median of three or more"),
  outliers: z.array(z.enum(PROVIDER_NAMES))
    .describe(`More than ${OUTLIER_BASIS_POINTS} basis points off`),
}).meta({ id: "PairSource" });

/** The body of `GET /providers`. */
export const providersSchema = z.object({
  providers: z.array(providerStatusSchema),
  pairSources: z.record(z.string(), pairSourceSchema).describe("By symbol"),
});

/** The body of `GET /health`. */
export const healthSchema = z.object({
  status: z.enum(["healthy", "degraded", "unhealthy"])
    .describe("All pairs have a price, some have, none has"),
  uptime: z.number().int().nonnegative().describe("Seconds"),
  providers: z.array(providerStatusSchema),
  lastPriceUpdate: timestampSchema.describe("Newest receipt behind any price, 0 without one"),
  pairsWithPrices: z.number().int().nonnegative(),
  totalPairs: z.number().int().nonnegative(),
}).meta({ id: "Health" });

function providerStatus(
  feed: Feed,
  board: PriceBoard,
  nowMs: number,
): z.input<typeof providerStatusSchema> {
  const { session } = feed;
  const ageMs = (atMs: number | undefined) => atMs === undefined ? null : Math.max(0, nowMs - atMs);
  return {
    name: feed.name,
    ready: session?.subscribed ?? false,
    prices: board.pricesOf(feed.name),
    exchange: EXCHANGE_OF[feed.name],
    connectionAgeMs: ageMs(session?.openedAtMs),
    lastFrameAgeMs: ageMs(session?.lastFrameAtMs),
    streams: Object.fromEntries((session?.streams ?? []).map((stream) => [stream.market, {
      subscriptionAgeMs: ageMs(stream.acknowledgedAtMs),
      lastTradeAgeMs: ageMs(stream.lastPrintAtMs),
      exchangeLagMs: stream.lagMs ?? null,
    }])),
    reconnects: feed.reconnects,
    lastError: feed.lastError ?? null,
  };
}

function pairSource(board: PriceBoard, symbol: string): z.input<typeof pairSourceSchema> {
  const sources = board.sources(symbol);
  const apart = deviations(sources);
  return {
    sources: sources.map((source) => source.provider),
    // Absent, not wrong, while the pair has too few sources.
    price: board.entry(symbol)?.price.toString(),
    sourcePrices: Object.fromEntries(
      sources.map(({ provider, price }) => [provider, price.toString()]),
    ),
    deviationBasisPoints: apart && Object.fromEntries(apart),
    outliers: [...apart ?? []].filter(([, points]) => Math.abs(points) > OUTLIER_BASIS_POINTS)
      .map(([provider]) => provider),
  };
}

/** The body of `GET /providers`. */
export function providersBody(
  { board, feeds }: Oracle,
  clock: Clock,
): z.input<typeof providersSchema> {
  return {
    providers: feeds.map((feed) => providerStatus(feed, board, clock.now())),
    pairSources: Object.fromEntries(
      board.symbols.map((symbol) => [symbol, pairSource(board, symbol)]),
    ),
  };
}

/** The body of `GET /health`: unhealthy without any price, degraded while some pair has none. */
export function healthBody(
  { board, feeds }: Oracle,
  clock: Clock,
  startedAtMs: number,
): z.input<typeof healthSchema> {
  const totalPairs = board.symbols.length;
  const { pairsWithPrices } = board;
  const status = pairsWithPrices === 0
    ? "unhealthy"
    : pairsWithPrices < totalPairs
    ? "degraded"
    : "healthy";
  return {
    status,
    uptime: Math.max(0, Math.floor((clock.now() - startedAtMs) / 1000)),
    providers: feeds.map((feed) => providerStatus(feed, board, clock.now())),
    lastPriceUpdate: board.lastPriceUpdateMs,
    pairsWithPrices,
    totalPairs,
  };
}
