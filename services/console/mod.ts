/** The console: a betting page, served as files. The page reads its data from the services itself. */
import { createServiceCommand } from "../../lib/cli/command.ts";
import { readMarkets } from "../../lib/cli/markets_file.ts";
import { webSocketUrlOf } from "../../lib/http/listener.ts";
import { createRegistry } from "../../lib/http/metrics.ts";
import { type RunningService, startService } from "../../lib/http/service.ts";
import config from "../../deno.json" with { type: "json" };
import { createConsoleApi } from "./api.ts";
import { type ConsoleOptions, options } from "./options.ts";
import { type PageConfig, urlAt } from "./page_config.ts";
import { loadPage, type PageFiles } from "./page_files.ts";

export { type ConsoleOptions, options };
export { loadPage, type PageFiles };

/**
 * Starts the console.
 *
 * @param page The files to serve.
 * @param config The result of {@link readConfig}; answers wait for it.
 * @throws {ListenError} If the port is taken.
 */
export function startConsole(
  options: ConsoleOptions,
  page: PageFiles,
  config: PageConfig | Promise<PageConfig>,
): RunningService {
  return startService({
    name: "console",
    host: options.host,
    allowedHosts: options.allowedHosts,
    port: options.port,
    app: createConsoleApi({ page, config }),
    servesRoot: true,
    health: () => Response.json({ status: "healthy" }),
    registry: createRegistry(),
  });
}

/**
 * Makes the configuration of the page from the options.
 *
 * @throws {UsageError} If the file of the markets cannot be read or is invalid.
 */
export async function readConfig(options: ConsoleOptions): Promise<PageConfig> {
  const { list } = await readMarkets(options.markets);
  const { solverUrl, bridgeUrl, proxyUrl, proxyWsUrl, oracleUrl, nodeUrl, exchangesUrl } = options;
  return {
    version: config.version,
    urls: {
      solver: solverUrl,
      bridge: bridgeUrl,
      proxy: proxyUrl,
      proxyWs: proxyWsUrl ?? urlAt(webSocketUrlOf(proxyUrl), "/ws"),
      ...(oracleUrl !== undefined && { oracle: oracleUrl }),
      ...(nodeUrl !== undefined && { node: nodeUrl }),
      ...(exchangesUrl !== undefined && { exchanges: exchangesUrl }),
    },
    chainId: options.chainId,
    markets: list.map(({ symbol, base, quote }) => ({ symbol, base, quote })),
    isDevelopmentChain: options.developmentChain,
  };
}

/** `rangemaker console`. */
export const run = createServiceCommand({
  name: "console",
  description:
    "A page on which users see the market, draw a box and watch it win or lose. It talks to solver, " +
    "bridge and proxy from the browser: they have to allow its origin.",
  options,
  examples: [
    ["rangemaker console --development-chain", "beside the other services on one machine"],
    [
      "rangemaker console --proxy-url https://rpc.example --solver-url https://solver.example",
      "for a chain of your own",
    ],
  ],
  load: loadPage,
}, async (options, page) => startConsole(options, page, await readConfig(options)));
