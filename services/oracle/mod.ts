import { systemClock } from "../../lib/clock.ts";
import { serviceCommand } from "../../lib/cli/command.ts";
import { readMarkets } from "../../lib/cli/markets_file.ts";
import { createRegistry } from "../../lib/http/metrics.ts";
import { type RunningService, startService } from "../../lib/http/service.ts";
import { healthHandler, oracleApi } from "./api.ts";
import { createOracleMetrics, observeBoard } from "./metrics.ts";
import { options, type OracleOptions, requireSources } from "./options.ts";
import { Oracle } from "./oracle.ts";
import { endpoints } from "./providers.ts";

export { options, type OracleOptions };

/**
 * Starts the oracle: connects to its providers and serves one price for each pair.
 *
 * @returns The running oracle; its `url` is the value for the node's `service_url`.
 * @throws {UsageError} If there are fewer providers than sources required.
 * @throws {ListenError} If the port is taken.
 */
export async function startOracle(options: OracleOptions): Promise<RunningService> {
  const { minSources, aggregation, maxSourceAgeMs, corsOrigins } = options;
  requireSources(options);
  const markets = await readMarkets(options.markets);
  const clock = systemClock;
  const startedAtMs = clock.now();
  const registry = createRegistry(startedAtMs);
  const metrics = createOracleMetrics([registry]);
  const oracle = new Oracle({
    providers: endpoints(options, markets),
    markets: markets.list,
    board: { aggregation, minSources, maxSourceAgeMs },
    clock,
    random: Math.random,
    metrics,
  });
  observeBoard([registry], oracle.board, clock);
  const api = { oracle, clock, metrics, startedAtMs, corsOrigins };
  const service = startService({
    name: "oracle",
    host: options.host,
    allowedHosts: options.allowedHosts,
    port: options.port,
    app: oracleApi(api),
    health: healthHandler(api),
    registry,
    close: () => oracle.stop(),
  });
  oracle.start();
  return service;
}

/** `rangemaker oracle`, and `rangemaker oracle probe`. */
export const run = serviceCommand({
  name: "oracle",
  description: "Serves one trusted price per pair, aggregated from four exchanges.",
  options,
  examples: [
    [
      "rangemaker oracle --min-sources 2",
      "all four exchanges, at least two sources for each price",
    ],
    ["rangemaker oracle -p binance,okx -a average", "two exchanges, the mean of their prices"],
    ["rangemaker oracle probe", "connects once to each provider and shows its prices"],
    ["curl http://127.0.0.1:8550/prices", "what the node pulls every 100 ms"],
  ],
  subcommands: {
    probe: {
      summary: "connects once to each provider and shows its prices",
      open: () => import("./probe.ts"),
    },
  },
}, startOracle);
