import { join } from "node:path";
import { ShiftedClock, systemClock } from "../../lib/clock.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import { readMarkets } from "../../lib/cli/markets_file.ts";
import { withDefaults } from "../../lib/cli/options.ts";
import { IN_MEMORY } from "../../lib/database/database_url.ts";
import { EXCHANGE_HISTORY_URL } from "../../lib/net/exchange_history.ts";
import { listenOptions } from "../../lib/cli/shared_options.ts";
import { startOrClose } from "../../lib/http/service.ts";
import { serviceLog } from "../../lib/log/logging.ts";
import { readTape } from "../../lib/prices/tape.ts";
import { options as bridgeOptions, startBridge } from "../bridge/mod.ts";
import {
  loadPage,
  options as consoleOptions,
  type PageFiles,
  readConfig,
  startConsole,
} from "../console/mod.ts";
import { options as exchangesOptions, startExchanges } from "../exchanges/mod.ts";
import { options as nodeOptions, startNode } from "../node/mod.ts";
import {
  MIN_SOURCES_SAFE,
  options as oracleOptions,
  type OracleOptions,
  startOracle,
} from "../oracle/mod.ts";
import { options as proxyOptions, startProxy } from "../proxy/mod.ts";
import { options as solverOptions, type SolverOptions, startSolver } from "../solver/mod.ts";
import { loadStrategy } from "../solver/pricing/load_strategy.ts";
import { isBuiltIn } from "../solver/pricing/strategy.ts";
import { requireFreePorts, type StackPorts } from "./ports.ts";

/**
 * Pricing of `stack` and `demo`: a box that the price leaves more easily pays more. Simulated
 * prices behave the same from the start, so seconds of the node's history are enough for the first
 * quote. No user sees them before the solver does.
 */
export const STACK_PRICING = {
  pricing: "barrier",
  volatilityHistoryMs: 2_000,
  userLeadMs: 0,
} as const;

/** Slots of the node's price rings: a won bet of 24 h, the longest, settles without a backfill. */
const RING_SLOTS = 2 ** 20;

/** Where services listen by default. */
const DEFAULT_HOST = listenOptions.host.default;

export interface StackOptions {
  ports: StackPorts;
  /** Address that all services listen on. */
  host?: string;
  /** Further host names that services accept. */
  allowedHosts?: string[];
  seed: number;
  /** A tape of recorded ETH/USDT trades, which replaces the simulation of that market. */
  tape?: string | undefined;
  /** Whether prices come from the real exchanges instead of the stand-ins. */
  live?: boolean;
  /** Directory of the data of node, bridge and solver; in memory by default. */
  dataDir?: string;
  /** The files of the console; loaded by default. */
  page?: PageFiles;
  /** File of the markets; by default, the markets of the specification. */
  markets?: string | undefined;
  /** Web pages besides the console that may call solver, bridge and proxy; `*` for all. */
  corsOrigins?: string[] | undefined;
  pricing?: Partial<SolverOptions>;
}

export interface StackUrls {
  /** Absent if it has no port. */
  console?: string;
  /** Absent if prices are live. */
  exchanges?: string;
  oracle: string;
  node: string;
  nodeRead: string;
  proxy: string;
  proxyWs: string;
  bridge: string;
  solver: string;
}

export interface RunningStack extends AsyncDisposable {
  readonly urls: StackUrls;
  /** Stops all services, the last started first. */
  stop(): Promise<void>;
}

/**
 * Starts every service. Services reach each other over real sockets only. If one cannot start, the
 * services that run already are stopped, and its error is thrown.
 *
 * @throws {UsageError} If the markets or settings cannot be used.
 * @throws {TapeError} If the tape cannot be read.
 * @throws {StrategyError} If the strategy cannot be loaded.
 * @throws {RangemakerError} If ports are taken.
 */
export async function startStack(options: StackOptions): Promise<RunningStack> {
  await requireFiles(options);
  const { exchanges, ...others } = options.ports;
  await requireFreePorts(
    options.host ?? DEFAULT_HOST,
    options.live ? others : { exchanges, ...others },
  );
  return await startOrClose(async (cleanup) => {
    const started = Promise.withResolvers<StackUrls>();
    const consoleUrl = await startStackConsole(options, cleanup, started.promise);
    const urls = {
      ...(consoleUrl !== undefined && { console: consoleUrl }),
      ...await startAll(options, cleanup, originsOf(consoleUrl)),
    };
    started.resolve(urls);
    const stop = () => cleanup.disposeAsync();
    return { urls, stop, [Symbol.asyncDispose]: stop };
  });
}

/** Reads the files that services will read, to find a wrong file before any service starts. */
async function requireFiles({ markets, tape, pricing }: StackOptions): Promise<void> {
  await readMarkets(markets);
  if (tape !== undefined) await readTape(tape);
  const strategy = pricing?.pricing;
  if (strategy !== undefined && !isBuiltIn(strategy)) {
    await loadStrategy(strategy);
  }
}

/** Starts the console, whose answers wait for the URLs of the services. @returns Its URL, if any. */
async function startStackConsole(
  { ports, host = DEFAULT_HOST, allowedHosts, page, markets }: StackOptions,
  cleanup: AsyncDisposableStack,
  urls: Promise<StackUrls>,
): Promise<string | undefined> {
  if (ports.console === undefined) return undefined;
  const own = { host, allowedHosts, markets, port: ports.console, developmentChain: true };
  const values = withDefaults(consoleOptions, own);
  const config = urls.then(({ solver, bridge, proxy, proxyWs, oracle, node, exchanges }) =>
    readConfig({
      ...values,
      solverUrl: solver,
      bridgeUrl: bridge,
      proxyUrl: proxy,
      proxyWsUrl: proxyWs,
      oracleUrl: oracle,
      nodeUrl: node,
      exchangesUrl: exchanges,
    })
  );
  return cleanup.use(startConsole(values, page ?? await loadPage(), config)).url;
}

/** The origins of the console, under both names of this machine. */
function originsOf(consoleUrl: string | undefined): string[] {
  return consoleUrl === undefined
    ? []
    : [consoleUrl, consoleUrl.replace(/127\.0\.0\.1|\[::1\]/, "localhost")];
}

async function startAll(
  options: StackOptions,
  cleanup: AsyncDisposableStack,
  consoleOrigins: string[],
): Promise<StackUrls> {
  const { ports, live = false, dataDir = IN_MEMORY, markets, pricing } = options;
  const listen = { host: options.host ?? DEFAULT_HOST, allowedHosts: options.allowedHosts };
  // Other pages may call the routes for users, the console alone also those for operators.
  const users = { corsOrigins: [...consoleOrigins, ...options.corsOrigins ?? []] };
  const readers = { corsOrigins: consoleOrigins };
  const pathOf = (name: string) => dataDir === IN_MEMORY ? IN_MEMORY : join(dataDir, name);
  // Node, bridge and solver share one clock that can be moved. Prices still have the real time.
  const clock = new ShiftedClock(systemClock);
  const { exchanges, oracle } = await startPrices(options, cleanup, { ...listen, ...readers });
  const nodeValues = withDefaults(nodeOptions, {
    ...listen,
    ...readers,
    markets,
    port: ports.node,
    readPort: ports.nodeRead,
    oracleUrl: oracle.url,
    minBet: 1n, // the specification's smallest bet
    dataDir: pathOf("node"),
    dev: true,
    ringBufferSize: RING_SLOTS,
  });
  const node = cleanup.use(await startNode(nodeValues, clock));
  const proxy = cleanup.use(
    await startProxy(withDefaults(proxyOptions, {
      ...listen,
      ...users,
      port: ports.proxy,
      writeNodeUrl: node.url,
      readNodeUrl: node.readUrl,
    })),
  );
  const bridgeValues = withDefaults(bridgeOptions, {
    ...listen,
    ...users,
    port: ports.bridge,
    rpcUrl: node.url,
    privateKey: new LocalSigner(DEV_ACCOUNTS.relayer.privateKey),
    database: pathOf("bridge.sqlite"),
  });
  const bridge = cleanup.use(await startBridge(bridgeValues, clock));
  const solverValues = withDefaults(solverOptions, {
    ...pricing,
    ...listen,
    ...users,
    markets,
    port: ports.solver,
    rpcUrl: node.url,
    wsUrl: proxy.wsUrl,
    privateKey: new LocalSigner(DEV_ACCOUNTS.solver.privateKey),
    // Simulated prices have no past.
    ...(live && { historyUrl: EXCHANGE_HISTORY_URL }),
    database: pathOf("solver.sqlite"),
  });
  const solver = cleanup.use(await startSolver(solverValues, clock));
  return {
    ...(exchanges && { exchanges: exchanges.url }),
    oracle: oracle.url,
    node: node.url,
    nodeRead: node.readUrl,
    proxy: proxy.url,
    proxyWs: proxy.wsUrl,
    bridge: bridge.url,
    solver: solver.url,
  };
}

/** Starts the oracle, and the simulated exchanges unless the prices are live. */
async function startPrices(
  { ports, seed, tape, live = false, markets }: StackOptions,
  cleanup: AsyncDisposableStack,
  listen: Partial<Pick<OracleOptions, "host" | "allowedHosts" | "corsOrigins">>,
) {
  const common = { ...listen, markets };
  const exchanges = live ? undefined : cleanup.use(
    await startExchanges(
      withDefaults(exchangesOptions, { ...common, port: ports.exchanges, seed, tape }),
    ),
  );
  const oracle = cleanup.use(
    await startOracle(withDefaults(oracleOptions, {
      ...common,
      port: ports.oracle,
      minSources: MIN_SOURCES_SAFE,
      ...(exchanges && { providerUrls: exchanges.providerUrls }),
    })),
  );
  return { exchanges, oracle };
}

/**
 * What `rangemaker stack` prints once it runs: URLs, and development accounts with their keys.
 *
 * @param dataDir Where the chain is kept: only in memory can its time be moved.
 */
export function greetingOf(urls: StackUrls, dataDir = IN_MEMORY): string[] {
  const rows = [
    ["console", urls.console],
    ["exchanges", urls.exchanges],
    ["oracle", `${urls.oracle}/prices`],
    ["node, write", urls.node],
    ["node, read", urls.nodeRead],
    ["proxy", urls.proxy],
    ["proxy, WebSocket", urls.proxyWs],
    ["bridge", urls.bridge],
    ["solver", urls.solver],
  ];
  const history = urls.exchanges === undefined ? "" : ` --history-url ${urls.exchanges}`;
  return [
    "rangemaker stack is up:",
    ...rows.filter(([, url]) => url !== undefined)
      .map(([name = "", url]) => `  ${name.padEnd(17)} ${url}`),
    "Accounts with their private keys. Everyone knows these keys: use them for tests only.",
    ...Object.entries(DEV_ACCOUNTS).map(([name, { address, privateKey }]) =>
      `  ${name.padEnd(8)} ${address} ${privateKey}`
    ),
    ...dataDir === IN_MEMORY
      ? [
        "For tests, call at the proxy: core_faucet gives USDC, core_snapshot and",
        "core_revert save and restore the chain, core_advance moves its time.",
      ]
      : ["For tests, call at the proxy: core_faucet gives USDC."],
    "A bet is needs_backfill if this machine was too busy to record its prices. Fill them in:",
    `  rangemaker backfill --private-key ${DEV_ACCOUNTS.admin.privateKey} \\`,
    `    --rpc-url ${urls.node}${history} --thesis <id>`,
    "Stop it with Ctrl-C.",
  ];
}

export function warnOfDevelopmentKeys(): void {
  serviceLog("stack").warn(
    "Development keys only: the accounts are publicly known, anyone can spend from them",
  );
}
