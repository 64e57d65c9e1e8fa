import { systemClock } from "../../lib/clock.ts";
import { createServiceCommand } from "../../lib/cli/command.ts";
import { serviceLog } from "../../lib/log/logging.ts";
import { readMarkets } from "../../lib/cli/markets_file.ts";
import { createRegistry } from "../../lib/http/metrics.ts";
import { type RunningService, startService } from "../../lib/http/service.ts";
import { createOracleApi, healthHandler } from "./api.ts";
import { createOracleMetrics, registerSourceMetrics } from "./metrics.ts";
import {
  endpoints,
  MIN_SOURCES_SAFE,
  options,
  type OracleOptions,
  requireSources,
} from "./options.ts";
import { PriceOracle } from "./price_oracle.ts";

export { MIN_SOURCES_SAFE, options, type OracleOptions };

/**
 * Starts the oracle: connects to its providers and serves one price for each market.
 *
 * @returns The running oracle; its `url` is the value for the node's `service_url`.
 * @throws {UsageError} If there are fewer providers than sources required.
 * @throws {ListenError} If the port is taken.
 */
export async function startOracle(options: OracleOptions): Promise<RunningService> {
  const { minSources, aggregation, maxSourceAgeMs, corsOrigins } = options;
  requireSources(options);
  warnOfFewSources(options);
  const markets = await readMarkets(options.markets);
  const clock = systemClock;
  const startedAtMs = clock.now();
  const registry = createRegistry();
  const metrics = createOracleMetrics(registry);
  const oracle = new PriceOracle({
    providers: endpoints(options),
    markets: markets.list,
    board: { aggregation, minSources, maxSourceAgeMs },
    clock,
    random: Math.random,
    metrics,
  });
  registerSourceMetrics(registry, oracle, clock);
  const api = { oracle, clock, metrics, startedAtMs, minSources, corsOrigins };
  const service = startService({
    name: "oracle",
    host: options.host,
    allowedHosts: options.allowedHosts,
    port: options.port,
    app: createOracleApi(api),
    health: healthHandler(api),
    registry,
    close: () => oracle.stop(),
  });
  oracle.start();
  return service;
}

/** With fewer than three sources, one of them alone can set or move a price. */
function warnOfFewSources({ minSources, providers }: OracleOptions): void {
  if (minSources >= MIN_SOURCES_SAFE) return;
  const safe = `--min-sources ${MIN_SOURCES_SAFE}`;
  const remedy = providers.length >= MIN_SOURCES_SAFE
    ? safe
    : `at least ${MIN_SOURCES_SAFE} --providers and ${safe}`;
  serviceLog("oracle").warn(
    "{minSources} of {providers} sources are enough for a price, so a single wrong source can set it: " +
      "use {remedy}",
    { minSources, providers: providers.length, remedy },
  );
}

export const run = createServiceCommand({
  name: "oracle",
  description: "Serves one trusted price per market, aggregated from four exchanges.",
  options,
  examples: [
    [
      "rangemaker oracle --min-sources 3",
      "all four exchanges, at least three sources for each price",
    ],
    ["rangemaker oracle -p binance,okx -a average", "two exchanges, the mean of their prices"],
    ["rangemaker doctor oracle", "connects to each exchange, and says what is missing"],
    ["curl http://127.0.0.1:8550/prices", "what the node pulls every 100 ms"],
  ],
}, startOracle);
