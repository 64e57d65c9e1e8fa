import { toWire } from "../../lib/protocol/wire.ts";
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../../lib/clock.ts";
import { LOG_ROOT } from "../../lib/http/logging.ts";
import { toHeader } from "./chain/block.ts";
import { Chain, type ChainEvents } from "./chain/chain.ts";
import { CHECKPOINT_MS, CheckpointLoop } from "./chain/checkpoints.ts";
import { Clients } from "./rpc/clients.ts";
import { Dispatcher } from "./rpc/dispatcher.ts";
import { nodeMethods, pricesToWire } from "./rpc/methods.ts";
import { createNodeMetrics, type NodeMetrics } from "./metrics.ts";
import { OracleFeed } from "./oracle/oracle_feed.ts";
import { httpPull, oracleUrl } from "./oracle/oracle_pull.ts";
import { OracleStatus } from "./oracle/oracle_status.ts";
import { PricePuller } from "./oracle/price_puller.ts";
import { PriceWatch } from "./oracle/price_watch.ts";
import type { NodeSettings, OracleSettings } from "./settings.ts";
import type { Storage } from "./storage/storage.ts";
import { Subscriptions } from "./rpc/subscriptions.ts";
import { SerialQueue } from "./rpc/serial_queue.ts";

/** All parts of a node but its ports, put together. */
export class CoreNode {
  readonly chain: Chain;
  readonly dispatcher: Dispatcher;
  readonly clients: Clients;
  readonly metrics: NodeMetrics;
  readonly #clock: Clock;
  readonly #storage: Storage;
  readonly #oracleStatus: OracleStatus;
  readonly #checkpoints: CheckpointLoop;
  readonly #log = getLogger([LOG_ROOT, "node"]);

  constructor(settings: NodeSettings, storage: Storage, clock: Clock) {
    if (settings.isDevGenesis) {
      this.#log.info("Genesis of development accounts, whose keys are public");
    }
    this.#clock = clock;
    this.#storage = storage;
    const feed = new OracleFeed(settings.oracle.maxStaleMs);
    const subscriptions = new Subscriptions();
    const turnstile = new SerialQueue();
    this.#oracleStatus = new OracleStatus(oracleUrl(settings.oracle.serviceUrl), feed);
    this.metrics = createNodeMetrics(clock.now(), {
      unsettledTheses: () => storage.state.settler.unsettledCount,
      clients: () => this.clients.count,
    });
    this.chain = new Chain({
      chainId: settings.chainId,
      clock,
      feed,
      state: storage.state,
      journal: storage.journal,
      resumeFrom: storage.resumeFrom,
      events: this.#chainEvents(subscriptions),
    });
    this.dispatcher = new Dispatcher({
      methods: nodeMethods({ chain: this.chain, clock, oracleStatus: this.#oracleStatus }),
      observe: (method, outcome) => this.metrics.calls.inc({ method, outcome }),
      turnstile,
      afterWrite: () => storage.journal.synced(),
    });
    this.clients = new Clients({
      dispatcher: this.dispatcher,
      subscriptions,
      onSlowClient: () => this.metrics.slowClients.inc(),
    });
    const puller = this.#puller(settings.oracle, feed);
    this.#checkpoints = new CheckpointLoop(clock, {
      // Nothing costly comes between the oracle's answer and its timeout.
      pull: () => turnstile.closedDuring(() => puller.run()),
      seal: (dueMs, lateMs) => this.#seal(dueMs, lateMs),
      missed: (fromMs, toMs) => this.#missed(fromMs, toMs),
    });
  }

  /** Begins to make checkpoints. */
  start(): void {
    const waitMs = this.#checkpoints.start(this.chain.head.timestampMs);
    if (waitMs > CHECKPOINT_MS) {
      this.#log.warning("The clock is behind the chain: no checkpoint for {waitMs} ms", { waitMs });
    }
  }

  /** Makes no more checkpoints. */
  stop(): Promise<void> {
    return this.#checkpoints.stop();
  }

  /** The answer of `GET /health`: 503 once the journal takes nothing more. */
  health(): Response {
    const { failure } = this.#storage.journal;
    if (failure !== undefined) {
      return Response.json({ status: "failed", error: failure.message }, { status: 503 });
    }
    return Response.json({
      status: "healthy",
      blockNumber: this.chain.head.number,
      oracle: this.#oracleStatus.state(this.#clock.now()),
    });
  }

  #seal(dueMs: number, lateMs: number): void {
    this.metrics.checkpointLateness.observe(lateMs / 1000);
    this.#storage.afterCheckpoint(this.chain.checkpoint(dueMs));
  }

  #missed(fromMs: number, toMs: number): void {
    this.metrics.checkpointsMissed.inc((toMs - fromMs) / CHECKPOINT_MS);
    const span = { fromMs, toMs };
    this.#log.warning("Held up: the checkpoints from {fromMs} to {toMs} are missing", span);
  }

  #puller(oracle: OracleSettings, feed: OracleFeed): PricePuller {
    return new PricePuller({
      pull: httpPull(oracle.serviceUrl, oracle.timeoutMs, this.#clock),
      feed,
      status: this.#oracleStatus,
      watch: this.#priceWatch(oracle, feed),
      clock: this.#clock,
      onPull: (outcome) => this.metrics.pulls.inc({ outcome }),
    });
  }

  /** Says in the log when bets are not taken for want of prices. */
  #priceWatch({ serviceUrl }: OracleSettings, feed: OracleFeed): PriceWatch {
    const url = oracleUrl(serviceUrl);
    return new PriceWatch(feed, {
      onStale: (symbols) =>
        this.#log.warning("No fresh price of {markets} from the oracle at {url}: {reason}", {
          markets: symbols.join(", "),
          url,
          reason: this.#oracleStatus.reason,
        }),
      onFresh: (symbols) =>
        this.#log.info("Fresh prices of {markets} again", { markets: symbols.join(", ") }),
    });
  }

  #chainEvents(subscriptions: Subscriptions): ChainEvents {
    const { metrics } = this;
    return {
      onHead: (block) => {
        metrics.blockNumber.set(block.number);
        subscriptions.publish("newHeads", () => toHeader(block));
        subscriptions.publish("prices", () => pricesToWire(this.chain, this.#clock.now()));
      },
      onTransaction: (receipt, { type }) => {
        metrics.transactions.inc({ type, status: receipt.status });
        subscriptions.publish("transactions", () => receipt);
      },
      onThesis: (thesis) => {
        if (thesis.status !== "open") metrics.thesesSettled.inc({ status: thesis.status });
        subscriptions.publishThesis(thesis, () => toWire(thesis));
      },
      onMissingPrice: ({ symbol }) => metrics.slotsWithoutPrice.inc({ market: symbol }),
      onJournalFailure: (thrown) => this.#log.error("Settlements wait: {error}", { error: thrown }),
    };
  }
}
