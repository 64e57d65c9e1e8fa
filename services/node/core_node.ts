import type { Clock, ShiftedClock } from "../../lib/clock.ts";
import { Turns } from "../../lib/timing/turns.ts";
import { runReadinessChecks } from "../../lib/http/readiness.ts";
import { serviceLog } from "../../lib/log/logging.ts";
import { ProblemTracker } from "../../lib/log/problem_tracker.ts";
import { toWire } from "../../lib/json.ts";
import { toHeader } from "./chain/block.ts";
import { Chain, type ChainEvents } from "./chain/chain.ts";
import {
  CHECKPOINT_LATE_MAX_MS,
  CHECKPOINT_MS,
  CheckpointLoop,
  CLOCK_AHEAD_WAIT_MS,
} from "./chain/checkpoints.ts";
import { createDevMethods, DevChain } from "./dev_chain.ts";
import { createNodeMetrics, type NodeMetrics, registerNodeGauges } from "./metrics.ts";
import { OraclePoller, readPrices } from "./oracle/oracle_poller.ts";
import { OraclePrices } from "./oracle/oracle_prices.ts";
import { Clients } from "./rpc/clients.ts";
import { Dispatcher } from "./rpc/dispatcher.ts";
import { createMethods } from "./rpc/methods.ts";
import { NodeBusyError, SerialQueue } from "./rpc/serial_queue.ts";
import { Subscriptions } from "./rpc/subscriptions.ts";
import type { NodeSettings } from "./options.ts";
import type { Storage } from "./store/storage.ts";

/**
 * The part of the time between two checkpoints that may be used to settle theses that ended
 * together. The rest is for their commit, so that the next checkpoint is not late.
 */
export const SETTLEMENT_MS = 70;

/** All parts of a node except its ports. */
export class CoreNode {
  readonly chain: Chain;
  readonly dispatcher: Dispatcher;
  readonly clients: Clients;
  readonly metrics: NodeMetrics;
  readonly #clock: Clock;
  readonly #storage: Storage;
  readonly #oracle: OraclePoller;
  readonly #checkpoints: CheckpointLoop;
  readonly #log = serviceLog("node");
  /** Runs costly calls and settlement in turns. */
  readonly #queue = new SerialQueue();
  #isSettling = false;
  readonly #clockBehindLog = new ProblemTracker();
  readonly #unreadableLog = new ProblemTracker();
  /** Ids of theses that have ended without all prices since the last checkpoint. */
  readonly #withoutPrices: number[] = [];

  /**
   * @param clock Moved by the time travel of a development chain.
   * @param monotonic Measures durations, and shows whether the clock was changed.
   */
  constructor(
    settings: NodeSettings,
    storage: Storage,
    clock: ShiftedClock,
    monotonic: Clock,
  ) {
    if (settings.isDevGenesis) {
      this.#log.info("Genesis uses the development accounts: their keys are public");
    }
    this.#clock = clock;
    this.#storage = storage;
    const oraclePrices = new OraclePrices(settings.maxStaleMs, settings.markets);
    const subscriptions = new Subscriptions();
    this.metrics = createNodeMetrics(settings.markets);
    for (const [{ symbol }, slots] of storage.records.prices.damagedSlots) {
      this.metrics.slotsDamaged.set({ market: symbol }, slots);
    }
    const { oracleUrl: url, oracleTimeoutMs: timeoutMs } = settings;
    this.#oracle = new OraclePoller({
      url,
      read: (signal) => readPrices(url, signal),
      timeoutMs,
      prices: oraclePrices,
      clock,
      metrics: this.metrics,
    });
    const chain = this.chain = new Chain({
      ...settings,
      clock,
      oraclePrices,
      records: storage.records,
      events: this.#createChainEvents(subscriptions, oraclePrices),
    });
    this.#checkpoints = this.#createCheckpoints(monotonic);
    const developmentMethods = settings.dev
      ? createDevMethods(this.#createDevChain(clock), storage.isInMemory)
      : [];
    this.dispatcher = this.#createDispatcher(developmentMethods);
    this.clients = new Clients({
      dispatcher: this.dispatcher,
      subscriptions,
      clock: monotonic,
      turns: new Turns(monotonic),
      onSlowClient: () => this.metrics.slowClients.inc(),
    });
    registerNodeGauges(this.metrics.registry, { chain, clients: this.clients, storage, clock });
  }

  start(): void {
    this.#checkpoints.start(this.chain.head.timestampMs);
  }

  async stop(): Promise<void> {
    await this.#checkpoints.stop();
    this.#oracle.close();
  }

  /** The answer of `GET /health`: 503 while nothing can be written. */
  health(): Response {
    const { status, reason: error } = this.#problem() ?? { status: "healthy" };
    const body = {
      status,
      error,
      blockNumber: this.chain.head.number,
      oracle: this.#oracle.state(this.#clock.now()),
    };
    return Response.json(body, { status: status === "failed" ? 503 : 200 });
  }

  /** `GET /ready`: 503 unless the node makes blocks and accepts bets on every market. */
  async readiness(): Promise<Response> {
    const found = await runReadinessChecks({
      chain: () => this.#problem()?.reason,
      prices: () => this.#oracle.problem(this.#clock.now()),
    });
    return Response.json(found, { status: found.ready ? 200 : 503 });
  }

  #problem(): { status: string; reason?: string } | undefined {
    const { failure } = this.#storage.records.commits;
    if (failure !== undefined) return { status: "failed", reason: failure.message };
    const { aheadMs } = this.#checkpoints;
    if (aheadMs !== undefined) {
      return { status: "degraded", reason: `The clock was set forward by ${aheadMs} ms` };
    }
    const behindMs = this.chain.head.timestampMs - this.#clock.now();
    if (behindMs <= CHECKPOINT_LATE_MAX_MS) return undefined;
    return { status: "degraded", reason: `The clock is ${behindMs} ms behind the newest block` };
  }

  #seal(dueMs: number, lateMs: number): void {
    if (this.#clockBehindLog.end()) this.#log.info("The clock has passed the newest block again");
    this.#reportWithoutPrices();
    this.metrics.checkpointLateness.observe(lateMs / 1000);
    this.#storage.afterCheckpoint(this.chain.checkpoint(dueMs));
    void this.#continueSettlement(); // an unexpected error ends the node
  }

  /** Settles theses that ended together in slices, so that calls between them do not wait long. */
  async #continueSettlement(): Promise<void> {
    if (this.#isSettling) return;
    this.#isSettling = true;
    try {
      const untilMs = this.chain.head.timestampMs + SETTLEMENT_MS;
      const settle = () => this.chain.settleDue();
      let moreAreDue: boolean;
      do {
        moreAreDue = await this.#queue.run("write", ["settlement"], settle);
      } while (moreAreDue && this.#clock.now() < untilMs);
    } catch (thrown) {
      if (!(thrown instanceof NodeBusyError)) throw thrown; // the next checkpoint continues
    } finally {
      this.#isSettling = false;
    }
  }

  /** Logged once: there is no checkpoint until the clock has passed the newest block. */
  #onClockBehind(byMs: number): void {
    this.chain.oraclePrices.clamp(this.#clock.now());
    if (!this.#clockBehindLog.begin()) return;
    this.#log.warn(
      "The clock is {byMs} ms behind the newest block: no block, bet or settlement until it has passed that block",
      { byMs },
    );
  }

  /** The next log line reports the missed checkpoints. */
  #onClockAhead(byMs: number): void {
    this.#log.warn(
      "The clock was set forward by {byMs} ms: no block, bet or settlement until it is set back or {waitMs} ms have passed",
      { byMs, waitMs: CLOCK_AHEAD_WAIT_MS },
    );
  }

  #reportMissed(fromMs: number, toMs: number): void {
    this.metrics.checkpointsMissed.inc((toMs - fromMs) / CHECKPOINT_MS);
    const cause = this.#clockBehindLog.isPresent
      ? "The clock was set back"
      : this.#checkpoints.aheadMs === undefined
      ? "Process was blocked"
      : "The clock was set forward";
    this.#log.warn("{cause}: missed {missedMs} ms of checkpoints from {from}", {
      cause,
      missedMs: toMs - fromMs,
      from: new Date(fromMs).toISOString(),
    });
  }

  #reportWithoutPrices(): void {
    const [thesis, ...others] = this.#withoutPrices.splice(0);
    if (thesis === undefined) return;
    this.#log.warn(
      "Theses have ended with prices missing: {thesis} and {others} more; rangemaker backfill --thesis <id> fills them in",
      { event: "needs_backfill", thesis, others: others.length },
    );
  }

  #createCheckpoints(monotonic: Clock): CheckpointLoop {
    return new CheckpointLoop(this.#clock, monotonic, {
      // Commit first, then pause the queue: nothing slow may delay reading the oracle's answer.
      pull: () => {
        this.#storage.records.commits.commit();
        return this.#queue.pausedDuring(() => this.#oracle.poll());
      },
      seal: (dueMs, lateMs) => this.#seal(dueMs, lateMs),
      onMissed: (fromMs, toMs) => this.#reportMissed(fromMs, toMs),
      onClockBehind: (byMs) => this.#onClockBehind(byMs),
      onClockAhead: (byMs) => this.#onClockAhead(byMs),
    });
  }

  #createDispatcher(developmentMethods: ReturnType<typeof createDevMethods>): Dispatcher {
    const { commits } = this.#storage.records;
    const isWritable = () => commits.failure === undefined;
    const context = { chain: this.chain, clock: this.#clock, oracle: this.#oracle, isWritable };
    return new Dispatcher({
      methods: createMethods(context, developmentMethods),
      onCallEnded: (method, outcome) => this.metrics.calls.inc({ method, outcome }),
      queue: this.#queue,
      beforeAnswer: () => commits.whenCommitted(),
      onStorageError: ({ message }) => {
        // The storage itself logs why nothing can be written.
        if (!isWritable() || !this.#unreadableLog.begin(message)) return;
        this.#log.error("A call cannot be answered: {reason}", { reason: message });
      },
    });
  }

  #createDevChain(clock: ShiftedClock): DevChain {
    return new DevChain({
      chain: this.chain,
      clock,
      records: this.#storage.records,
      continueAfter: (headMs) => this.#checkpoints.continueAfter(headMs),
    });
  }

  #createChainEvents(subscriptions: Subscriptions, oraclePrices: OraclePrices): ChainEvents {
    const { metrics } = this;
    return {
      onHead: (block) => {
        subscriptions.publish("newHeads", () => toHeader(block));
        subscriptions.publish(
          "prices",
          () => toWire(oraclePrices.view(this.#clock.now())),
        );
      },
      onTransaction: (receipt, { type }) => {
        metrics.transactions.inc({ type, status: receipt.status });
        subscriptions.publish("transactions", () => receipt);
      },
      onThesis: (thesis) => {
        if (thesis.status !== "open") metrics.thesesSettled.inc({ status: thesis.status });
        if (thesis.status === "needs_backfill") this.#withoutPrices.push(thesis.id);
        subscriptions.publishThesis(thesis, () => toWire(thesis));
      },
      onMissingPrice: ({ symbol }) => metrics.slotsWithoutPrice.inc({ market: symbol }),
    };
  }
}
