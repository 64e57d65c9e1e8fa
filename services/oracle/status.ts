import type { Clock } from "../../lib/clock.ts";
import { EXCHANGE_OF } from "../../lib/protocol/providers.ts";
import { deviations, OUTLIER_BASIS_POINTS } from "./deviation.ts";
import type { Feed } from "./feed.ts";
import type { Oracle } from "./oracle.ts";
import type { PriceBoard } from "./price_board.ts";

/**
 * What `GET /health` and `GET /providers` tell of a provider: the spec's `name`, `ready` and
 * `prices`, and what an operator asks next. Ages are in milliseconds, null before the event.
 */
export function providerStatus(feed: Feed, board: PriceBoard, nowMs: number) {
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

/** The sources of a pair, and how far each of three or more lies from their median. */
function pairSource(board: PriceBoard, symbol: string) {
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
export function providersBody({ board, feeds }: Oracle, clock: Clock) {
  return {
    providers: feeds.map((feed) => providerStatus(feed, board, clock.now())),
    pairSources: Object.fromEntries(
      board.symbols.map((symbol) => [symbol, pairSource(board, symbol)]),
    ),
  };
}

/** The body of `GET /health`: unhealthy without any price, degraded while some pair has none. */
export function healthBody({ board, feeds }: Oracle, clock: Clock, startedAtMs: number) {
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
