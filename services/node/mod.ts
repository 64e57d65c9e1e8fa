import { type Clock, monotonicClock, ShiftedClock, systemClock } from "../../lib/clock.ts";
import { createServiceCommand, type RunnableCommand } from "../../lib/cli/command.ts";
import { readMarkets } from "../../lib/cli/markets_file.ts";
import { Cors } from "../../lib/http/cors.ts";
import { requireFreePort, webSocketUrlOf } from "../../lib/http/listener.ts";
import { type RunningService, startOrClose, startService } from "../../lib/http/service.ts";
import { createNodeApi, refuseCrossOrigin } from "./rpc/api.ts";
import { CoreNode } from "./core_node.ts";
import { type NodeOptions, options, resolveSettings } from "./options.ts";
import { openStorage } from "./store/storage.ts";

export { options };

export type { NodeOptions };

export interface RunningNode extends RunningService {
  readonly wsUrl: string;
  /** URL of the port without write methods. */
  readonly readUrl: string;
  readonly readWsUrl: string;
}

/**
 * Starts a core node (spec: price oracle, write node).
 *
 * @param clock If it is a {@link ShiftedClock}, time travel moves it for all services that use it.
 * @param monotonic Shows whether the clock was changed.
 * @throws {UsageError} If the markets file is invalid, or the ports are the same.
 * @throws {ListenError} If a port is in use.
 * @throws {DataDirError} If the data directory is not that of a chain, or is in use.
 * @throws {StorageError} If it cannot be read or written.
 */
export function startNode(
  nodeOptions: NodeOptions,
  clock: Clock = systemClock,
  monotonic: Clock = monotonicClock,
): Promise<RunningNode> {
  return startOrClose((cleanup) => startWith(nodeOptions, clock, monotonic, cleanup));
}

/** One of the node's two ports. */
interface ListeningPort {
  name: string;
  port: number;
  portFlag: string;
  isReadOnly: boolean;
}

async function startWith(
  nodeOptions: NodeOptions,
  clock: Clock,
  monotonic: Clock,
  cleanup: AsyncDisposableStack,
): Promise<RunningNode> {
  const settings = resolveSettings(nodeOptions, await readMarkets(nodeOptions.markets));
  const { host, port, readPort, allowedHosts, corsOrigins = [] } = settings;
  requireFreePort(host, port, "--port");
  requireFreePort(host, readPort, "--read-port");
  const nodeClock = clock instanceof ShiftedClock ? clock : new ShiftedClock(clock);
  const storage = openStorage(settings, nodeClock);
  let started: CoreNode | undefined;
  // Also if the node cannot be created.
  cleanup.defer(() => storage.close(started?.chain.head));
  const node = started = new CoreNode(settings, storage, nodeClock, monotonic);
  const cors = new Cors(corsOrigins);
  const services: RunningService[] = [];
  cleanup.defer(async () => void await Promise.all(services.map((service) => service.stop())));
  const listen = ({ isReadOnly, ...own }: ListeningPort) => {
    const app = createNodeApi(node.dispatcher, isReadOnly, corsOrigins);
    app.get("/ready", () => node.readiness());
    const service = startService({
      ...own,
      host,
      allowedHosts,
      app,
      health: () => node.health(),
      registry: node.metrics.registry,
      beforeRoutes: (request, remote) =>
        refuseCrossOrigin(request, cors) ?? node.clients.accept(request, remote, isReadOnly),
      drain: () => node.clients.closeAll(),
    });
    services.push(service);
    return service.url;
  };
  const url = listen({ name: "node", port, portFlag: "--port", isReadOnly: false });
  const read = { name: "read-node", port: readPort, portFlag: "--read-port", isReadOnly: true };
  const readUrl = listen(read);
  cleanup.defer(() => node.stop());
  node.start();
  let stopping: Promise<void> | undefined;
  const stop = () => stopping ??= cleanup.disposeAsync();
  const urls = { url, wsUrl: webSocketUrlOf(url), readUrl, readWsUrl: webSocketUrlOf(readUrl) };
  return { ...urls, stop, [Symbol.asyncDispose]: stop };
}

export const run: RunnableCommand = createServiceCommand({
  name: "node",
  description:
    "A chain for development or one operator: a ledger of USDC balances and theses, a checkpoint " +
    "every 100 ms that pulls prices from the oracle, and settlement.",
  options,
  examples: [
    [
      "rangemaker node",
      "on ports 8545 and 8547, with development accounts, its chain in data/node",
    ],
    ["rangemaker node --port 8645 --read-port 8647", "next to another node"],
    ["rangemaker node --data-dir :memory:", "a new chain at each start: for tests only"],
    ["rangemaker node --data-dir :memory: --dev", "with a faucet, snapshots and time travel"],
    ["rangemaker node --chain-id 7 --data-dir /var/lib/rangemaker", "another chain"],
    ["rangemaker node backup --to chain-backup.sqlite", "while it runs"],
  ],
  subcommands: {
    backup: {
      summary: "a copy of the chain, while its node runs",
      load: () => import("./backup_command.ts"),
    },
  },
}, (nodeOptions) => startNode(nodeOptions));
