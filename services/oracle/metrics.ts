import type { Registry } from "prom-client";
import type { Clock } from "../../lib/clock.ts";
import { metricsIn } from "../../lib/http/metrics.ts";
import { deviations } from "./aggregation.ts";
import type { MarketStream } from "./market_stream.ts";
import type { PriceBoard } from "./price_board.ts";

/** One aggregation in this many is timed: timing each would cost as much as the work itself. */
const TIMED_EVERY = 64;

export type OracleMetrics = ReturnType<typeof createOracleMetrics>;

/** Declares the metrics of the oracle; process metrics are declared elsewhere. */
export function createOracleMetrics(registry: Registry) {
  const { counter, histogram } = metricsIn(registry);
  const aggregationSeconds = histogram(
    "oracle_aggregation_seconds",
    `Time from a parsed price to the new answer; one in ${TIMED_EVERY} is timed.`,
    [1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 1e-3],
  );
  let count = 0;
  const untimed = () => {};
  return {
    trades: counter("oracle_trades_total", "Trades accepted, by provider.", "provider"),
    faults: counter(
      "oracle_faults_total",
      "Faults of connections and streams, by provider and kind.",
      "provider",
      "fault",
    ),
    reconnects: counter(
      "oracle_reconnects_total",
      "Connection attempts after the first, by provider.",
      "provider",
    ),
    droppedFrames: counter(
      "oracle_dropped_frames_total",
      "Frames or trades that gave no price, by provider and reason.",
      "provider",
      "reason",
    ),
    requestSeconds: histogram(
      "oracle_request_seconds",
      "Time to answer a request, by path.",
      [1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 1e-1],
      "path",
    ),
    /** Starts timing an aggregation; call the result when it is done. */
    timeAggregation(): () => void {
      count = (count + 1) % TIMED_EVERY;
      return count === 0 ? aggregationSeconds.startTimer() : untimed;
    },
  };
}

interface Sources {
  board: PriceBoard;
  connections: readonly { name: string; session: { streams: MarketStream[] } | undefined }[];
}

/** Declares gauges that read the board and the connections on each scrape. */
export function registerSourceMetrics(
  registry: Registry,
  { board, connections }: Sources,
  clock: Clock,
): void {
  const { scrapedGauges } = metricsIn(registry);
  scrapedGauges(
    "oracle_sources",
    "Sources that contribute to a market.",
    ["pair"],
    function* () {
      for (const [pair, { sources }] of board.markets) yield [{ pair }, sources.length];
    },
  );
  scrapedGauges(
    "oracle_price_age_seconds",
    "Age of a market's lastUpdate; no value without a valid price.",
    ["pair"],
    function* () {
      for (const [pair, { entry }] of board.markets) {
        if (entry === undefined) continue;
        yield [{ pair }, Math.max(0, clock.now() - entry.lastUpdate) / 1000];
      }
    },
  );
  scrapedGauges(
    "oracle_price_withheld",
    "1 while a price is withheld: it jumped while sources are missing, and no second one confirms it.",
    ["pair"],
    function* () {
      for (const [pair, { isWithheld }] of board.markets) yield [{ pair }, Number(isWithheld)];
    },
  );
  scrapedGauges(
    "oracle_source_deviation_ratio",
    "Distance of a source from the median of three or more, as a fraction of the median.",
    ["pair", "provider"],
    function* () {
      for (const [pair, { sources }] of board.markets) {
        for (const [provider, basisPoints] of deviations(sources) ?? []) {
          yield [{ pair, provider }, basisPoints / 10_000];
        }
      }
    },
  );
  scrapedGauges(
    "oracle_source_lag_seconds",
    "From an exchange's timestamp of its last trade to its receipt; negative if its clock is ahead.",
    ["pair", "provider"],
    function* () {
      for (const { name: provider, session } of connections) {
        for (const { market: pair, lagMs } of session?.streams ?? []) {
          if (lagMs !== undefined) yield [{ pair, provider }, lagMs / 1_000];
        }
      }
    },
  );
}
