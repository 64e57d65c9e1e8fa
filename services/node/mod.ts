import { getLogger } from "@logtape/logtape";
import { systemClock } from "../../lib/clock.ts";
import { thesisToWire } from "../../lib/protocol/thesis.ts";
import { type RunnableCommand, serviceCommand } from "../../lib/service/command.ts";
import { LOG_ROOT } from "../../lib/service/logging.ts";
import type { OptionsOf } from "../../lib/service/options.ts";
import { type RunningService, startService } from "../../lib/service/service.ts";
import { nodeApi } from "./api.ts";
import { toHeader } from "./block.ts";
import { Chain, type ChainEvents } from "./chain.ts";
import { CHECKPOINT_MS, CheckpointLoop } from "./checkpoints.ts";
import { Clients } from "./clients.ts";
import { Dispatcher } from "./dispatcher.ts";
import { nodeMethods, pricesToWire } from "./methods.ts";
import { createNodeMetrics, type NodeMetrics } from "./metrics.ts";
import { options } from "./node_options.ts";
import { OracleFeed } from "./oracle_feed.ts";
import { httpPull, oracleUrl } from "./oracle_pull.ts";
import { OracleStatus } from "./oracle_status.ts";
import { PricePuller } from "./price_puller.ts";
import { resolveSettings } from "./settings.ts";
import { readSettingsFile } from "./settings_file.ts";
import { openStorage } from "./storage.ts";
import { Subscriptions } from "./subscriptions.ts";
import { Turnstile } from "./turnstile.ts";

export { options };

/** Options of {@link startNode}. */
export type NodeOptions = OptionsOf<typeof options>;

/** A running core node. */
export interface RunningNode extends RunningService {
  readonly wsUrl: string;
  /** Of the port without write methods, where there is one. */
  readonly readUrl?: string;
  readonly readWsUrl?: string;
}

/**
 * Starts a development core node (spec: price oracle, write node).
 *
 * @throws {UsageError} If the settings file is wrong. @throws {ListenError} If a port cannot be had.
 * @throws {DataDirError} @throws {JournalError} If the data directory cannot be used.
 */
export async function startNode(given: NodeOptions): Promise<RunningNode> {
  const log = getLogger([LOG_ROOT, "node"]);
  const clock = systemClock;
  const file = given.config === undefined ? {} : await readSettingsFile(given.config);
  const settings = resolveSettings(given, file);
  const { oracle } = settings;
  if (settings.isDevGenesis) {
    log.info("Genesis of development accounts, whose keys are public: relayer, admin, solver");
  }
  const storage = openStorage(settings, given.dataDir);
  const feed = new OracleFeed(oracle.maxStaleMs);
  const oracleStatus = new OracleStatus(oracleUrl(oracle.serviceUrl), feed);
  const subscriptions = new Subscriptions();
  const metrics = createNodeMetrics(clock.now(), {
    unsettledTheses: () => storage.state.settler.unsettled.size,
    clients: () => clients.count,
  });
  const chain: Chain = new Chain({
    chainId: settings.chainId,
    clock,
    feed,
    ...storage,
    events: chainEvents(subscriptions, metrics, () => pricesToWire(chain, clock.now())),
  });
  const turnstile = new Turnstile();
  const dispatcher = new Dispatcher({
    methods: nodeMethods({ chain, clock, oracleStatus }),
    observe: (method, outcome) => metrics.calls.inc({ method, outcome }),
    turnstile,
    afterWrite: () => storage.journal.synced(),
  });
  const clients = new Clients({
    dispatcher,
    subscriptions,
    onSlowClient: () => metrics.slowClients.inc(),
  });
  const puller = new PricePuller({
    pull: httpPull(oracle.serviceUrl, oracle.timeoutMs, clock),
    feed,
    status: oracleStatus,
    clock,
    onPull: (outcome) => metrics.pulls.inc({ outcome }),
  });
  const checkpoints = new CheckpointLoop(clock, {
    // Nothing costly comes between the oracle's answer and its timeout.
    pull: () => turnstile.closedDuring(() => puller.run()),
    seal(dueMs, lateMs) {
      metrics.checkpointLateness.observe(lateMs / 1000);
      storage.afterCheckpoint(chain.checkpoint(dueMs));
    },
    missed(fromMs, toMs) {
      metrics.checkpointsMissed.inc((toMs - fromMs) / CHECKPOINT_MS);
      log.warning("Held up: the checkpoints from {fromMs} to {toMs} are missing", { fromMs, toMs });
    },
  });
  const listen = (name: string, port: number, isReadOnly: boolean) =>
    startService({
      name,
      host: given.host,
      port,
      app: nodeApi(dispatcher, isReadOnly),
      health: () =>
        Response.json({
          status: "healthy",
          blockNumber: chain.head.number,
          oracle: oracleStatus.state(clock.now()),
        }),
      registry: metrics.registry,
      upgrade: (request) => clients.accept(request, isReadOnly),
      drain: () => clients.closeAll(),
    });
  const services: RunningService[] = [];
  const stop = async () => {
    await checkpoints.stop();
    await Promise.all(services.map((service) => service.stop()));
    await storage.close(chain.head);
  };
  try {
    services.push(listen("node", given.port, false));
    if (given.readPort !== undefined) services.push(listen("node-read", given.readPort, true));
  } catch (thrown) {
    await stop();
    throw thrown;
  }
  const waitMs = checkpoints.start(chain.head.timestampMs);
  if (waitMs > CHECKPOINT_MS) {
    log.warning("The clock is behind the chain: no checkpoint for {waitMs} ms", { waitMs });
  }
  const [write, read] = services as [RunningService, RunningService?]; // the first always listens
  let stopping: Promise<void> | undefined;
  return {
    url: write.url,
    wsUrl: webSocketUrl(write.url),
    readUrl: read?.url,
    readWsUrl: read && webSocketUrl(read.url),
    stop: () => stopping ??= stop(),
  };
}

/** `rangemaker node`. */
export const run: RunnableCommand = serviceCommand({
  name: "node",
  description:
    "A development core node: a ledger of USDC balances and theses, a checkpoint every 100 ms that pulls prices from the oracle, and settlement.",
  options,
  examples: [
    ["rangemaker node", "on port 8545, with development accounts"],
    ["rangemaker node --read-port 8547", "with a second port for readers"],
    [
      "rangemaker node --config node.toml --data-dir data/node",
      "a chain that survives its process",
    ],
  ],
}, startNode);

function chainEvents(
  subscriptions: Subscriptions,
  metrics: NodeMetrics,
  prices: () => unknown,
): ChainEvents {
  const log = getLogger([LOG_ROOT, "node"]);
  return {
    onHead(block) {
      metrics.blockNumber.set(block.number);
      subscriptions.publish("newHeads", () => toHeader(block));
      subscriptions.publish("prices", prices);
    },
    onTransaction(receipt, { type }) {
      metrics.transactions.inc({ type, status: receipt.status });
      subscriptions.publish("transactions", () => receipt);
    },
    onThesis(thesis) {
      if (thesis.status !== "open") metrics.thesesSettled.inc({ status: thesis.status });
      subscriptions.publishThesis(thesis, () => thesisToWire(thesis));
    },
    onJournalFailure: (thrown) => log.error("Settlements wait: {error}", { error: thrown }),
    onMissingPrice: ({ symbol }) => metrics.slotsWithoutPrice.inc({ market: symbol }),
  };
}

function webSocketUrl(url: string): string {
  return url.replace(/^http/, "ws");
}
