import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { Signer } from "../../lib/protocol/signature.ts";
import { withDefaults } from "../../lib/cli/options.ts";
import type { RunningService } from "../../lib/http/service.ts";
import { options as bridgeOptions, startBridge } from "../bridge/mod.ts";
import { options as exchangesOptions, startExchanges } from "../exchanges/mod.ts";
import { options as nodeOptions, startNode } from "../node/mod.ts";
import { options as oracleOptions, startOracle } from "../oracle/mod.ts";
import { options as proxyOptions, startProxy } from "../proxy/mod.ts";
import { options as solverOptions, startSolver } from "../solver/mod.ts";

/** Sources a price needs, as in the reference deployment (spec: price oracle, "Deployment constants"). */
const MIN_SOURCES = 2;

/** Ports of a stack; 0 takes a free one. */
export interface StackPorts {
  exchanges: number;
  oracle: number;
  node: number;
  nodeRead: number;
  proxy: number;
  bridge: number;
  solver: number;
}

/** The ports of the spec; the bridge moves to 3001, since solver and bridge both default to 3000. */
export const SPEC_PORTS: StackPorts = {
  exchanges: 8560,
  oracle: 8550,
  node: 8545,
  nodeRead: 8547,
  proxy: 8546,
  bridge: 3001,
  solver: 3000,
};

/** Free ports throughout: for tests and the demo, next to anything else that runs. */
export const FREE_PORTS: StackPorts = {
  exchanges: 0,
  oracle: 0,
  node: 0,
  nodeRead: 0,
  proxy: 0,
  bridge: 0,
  solver: 0,
};

/** How to start a stack. */
export interface StackOptions {
  ports: StackPorts;
  /** Seed of the simulated prices. */
  seed: number;
  /** A recorded tape of ETH/USDT trades to replay in place of that market's simulation. */
  tape?: string | undefined;
  /** Prices from the real exchanges in place of the stand-ins. */
  live?: boolean;
}

/** Where everything is. */
export interface StackUrls {
  /** Absent when prices are live. */
  exchanges?: string;
  oracle: string;
  node: string;
  nodeRead: string;
  proxy: string;
  proxyWs: string;
  bridge: string;
  solver: string;
}

/** All services in one process. */
export interface RunningStack {
  readonly urls: StackUrls;
  /** Ends all services, the last started first. */
  stop(): Promise<void>;
}

/**
 * Starts every service, each reaching the others over real sockets only. If one cannot start, those
 * already started are stopped and its error is thrown.
 */
export async function startStack(options: StackOptions): Promise<RunningStack> {
  const started: RunningService[] = [];
  const stop = async () => {
    for (const service of started.splice(0).reverse()) await service.stop();
  };
  const keep = <S extends RunningService>(service: S): S => {
    started.push(service);
    return service;
  };
  try {
    return { urls: await startAll(options, keep), stop };
  } catch (thrown) {
    await stop();
    throw thrown;
  }
}

async function startAll(
  { ports, seed, tape, live = false }: StackOptions,
  keep: <S extends RunningService>(service: S) => S,
): Promise<StackUrls> {
  const exchanges = live ? undefined : keep(
    await startExchanges(withDefaults(exchangesOptions, { port: ports.exchanges, seed, tape })),
  );
  const oracle = keep(
    await startOracle(withDefaults(oracleOptions, {
      port: ports.oracle,
      minSources: MIN_SOURCES,
      ...(exchanges && { providerUrls: exchanges.providerUrls }),
    })),
  );
  const node = keep(
    await startNode(withDefaults(nodeOptions, {
      port: ports.node,
      readPort: ports.nodeRead,
      oracleUrl: oracle.url,
    })),
  );
  const nodeRead = node.readUrl ?? node.url;
  const proxy = keep(
    await startProxy(withDefaults(proxyOptions, {
      port: ports.proxy,
      writeNodeUrl: node.url,
      readNodeUrl: nodeRead,
    })),
  );
  const bridge = keep(
    await startBridge(withDefaults(bridgeOptions, {
      port: ports.bridge,
      rpcUrl: node.url,
      privateKey: new Signer(DEV_ACCOUNTS.relayer.privateKey),
      database: ":memory:",
    })),
  );
  const solver = keep(
    await startSolver(withDefaults(solverOptions, {
      port: ports.solver,
      rpcUrl: node.url,
      wsUrl: proxy.wsUrl,
      privateKey: new Signer(DEV_ACCOUNTS.solver.privateKey),
      database: ":memory:",
    })),
  );
  return {
    ...(exchanges && { exchanges: exchanges.url }),
    oracle: oracle.url,
    node: node.url,
    nodeRead,
    proxy: proxy.url,
    proxyWs: proxy.wsUrl,
    bridge: bridge.url,
    solver: solver.url,
  };
}

/** The URLs and development addresses as lines for a person. */
export function describeStack(urls: StackUrls): string[] {
  const rows: [string, string][] = [
    ...(urls.exchanges === undefined ? [] : [["exchanges", urls.exchanges] as [string, string]]),
    ["oracle", `${urls.oracle}/prices`],
    ["node, write", urls.node],
    ["node, read", urls.nodeRead],
    ["proxy", urls.proxy],
    ["proxy, WebSocket", urls.proxyWs],
    ["bridge", urls.bridge],
    ["solver", urls.solver],
    ["admin address", DEV_ACCOUNTS.admin.address],
    ["relayer address", DEV_ACCOUNTS.relayer.address],
    ["solver address", DEV_ACCOUNTS.solver.address],
  ];
  return rows.map(([name, value]) => `  ${name.padEnd(17)} ${value}`);
}
