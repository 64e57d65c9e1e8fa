import type { Logger } from "@logtape/logtape";
import type { Gauge, Registry } from "prom-client";
import type { Clock } from "../clock.ts";
import { RangemakerError } from "../errors.ts";
import { faultPointsAt, withFaultPoints } from "../fault_points.ts";
import { metricsIn } from "../http/metrics.ts";
import { serviceLog } from "../log/logging.ts";
import { cached } from "../net/cached.ts";
import { CoreClient } from "../net/core_client.ts";
import { PollingLoop } from "../net/polling_loop.ts";
import type { TransactionSigner } from "../protocol/transaction.ts";
import { ChainGuard, WrongChainError } from "./chain_guard.ts";
import { type Intent, StoreError } from "./intent.ts";
import { openWhenReady } from "./open_store.ts";
import { type IntentHandler, type SubmitOptions, TransactionBuilder } from "./submission.ts";
import type { IntentStore } from "./store.ts";
import { Submitter } from "./submitter.ts";
import { upkeepLoop } from "./upkeep.ts";

/** Timeout of calls to the node; below the deadline of a stop. */
const SUBMISSION_TIMEOUT_MS = 4_000;

/**
 * Timeout of node calls that requests and health checks wait for. With a longer one, this service
 * would seem down to a health checker when only the node is.
 */
const SHORT_TIMEOUT_MS = 1_000;

/** The problems that a health check finds. */
const PROBLEM_CODES = [
  "STORE_UNAVAILABLE",
  "STORE_CONNECTION_LOST",
  "STORE_DAMAGED",
  "CHAIN_MISMATCH",
  "CHAIN_REWOUND",
  "CLOCKS_DIFFER",
];

/** How long the result of a health check is cached. */
const HEALTH_CACHED_MS = 1_000;

/** Time between two health checks of our own. */
const HEALTH_INTERVAL_MS = 5_000;

export interface IntentServiceOptions {
  /** The service: owner of the intents, and first part of its metrics. */
  name: string;
  database: string;
  rpcUrl: string;
  /** Finished intents are kept this long after they finished and after their deadline. */
  retain: number;
  signer: TransactionSigner;
  chainId: number;
  faultPoint?: string | undefined;
  /** Whether to bind the database to the key. A dry run, which submits nothing, does not. */
  bindsKey?: boolean;
  clock: Clock;
  registry: Registry;
}

/**
 * The shared part of all services that submit intents: the store, bound to one chain and one key,
 * the submitter, retries, health, and the upkeep of the store.
 */
export class IntentService {
  readonly store: IntentStore;
  readonly node: CoreClient;
  /** The node with a short timeout, for calls that a caller waits for. */
  readonly shortTimeoutNode: CoreClient;
  readonly transactions: TransactionBuilder;
  /** The problem that makes the health fail, if there is one; checked once a second at most. */
  readonly problem: () => Promise<RangemakerError | undefined>;
  readonly #options: IntentServiceOptions;
  readonly #log: Logger;
  readonly #guard: ChainGuard;
  readonly #health: PollingLoop;
  readonly #upkeep: PollingLoop;
  readonly #problems: Gauge<"code">;
  #handler: IntentHandler | undefined;
  #submitter: Submitter | undefined;
  #reportedCode: string | undefined;

  private constructor(options: IntentServiceOptions, store: IntentStore) {
    const { name, rpcUrl, clock, signer, chainId, registry } = options;
    const faults = faultPointsAt(options.faultPoint);
    this.#options = options;
    this.#log = serviceLog(name);
    this.store = withFaultPoints("store", store, faults);
    const client = new CoreClient({ url: rpcUrl, timeoutMs: SUBMISSION_TIMEOUT_MS });
    this.node = withFaultPoints("node", client, faults);
    this.shortTimeoutNode = new CoreClient({ url: rpcUrl, timeoutMs: SHORT_TIMEOUT_MS });
    this.transactions = new TransactionBuilder(signer, chainId, clock);
    this.#guard = new ChainGuard({
      store: this.store,
      node: this.shortTimeoutNode,
      clock,
      log: this.#log,
      isOnChain: (intent) => this.#started(this.#handler).isOnChain(intent),
    });
    this.problem = cached(() => this.#check(), HEALTH_CACHED_MS, clock);
    this.#health = new PollingLoop({
      clock,
      poll: async () => void await this.problem(),
      intervalMs: HEALTH_INTERVAL_MS,
      onFailure() {},
    });
    const { retain: retainMs } = options;
    this.#upkeep = upkeepLoop({ store, retainMs, clock, log: this.#log });
    const { gauge, scrapedGauge } = metricsIn(registry);
    scrapedGauge(
      `${name}_store_damaged_rows`,
      "Rows of the store that are not as they were written; see the log for their keys.",
      () => store.damaged.size,
    );
    this.#problems = gauge(
      `${name}_problem`,
      "1 while /health fails with this code: see the alerts of docs/operating.md.",
      "code",
    );
    for (const code of PROBLEM_CODES) this.#problems.set({ code }, 0);
  }

  /**
   * Opens the store, waiting for a database that is starting.
   *
   * @throws {StoreError} If the database cannot be used, or belongs to another key.
   */
  static async open(options: IntentServiceOptions): Promise<IntentService> {
    const { name, database, signer, bindsKey = true } = options;
    const store = await openWhenReady(database, name, options.clock);
    try {
      if (bindsKey) await requireKey(store, name, signer);
      return new IntentService(options, store);
    } catch (thrown) {
      await store.close();
      throw thrown;
    }
  }

  /**
   * @throws {WrongChainError} If the node has another chain than the store, or an older state of it.
   * @throws {RangemakerError} If node or store does not answer.
   */
  readonly requireChain = (): Promise<void> => this.#guard.requireChain();

  /** Checks that the node is on the chain of the store. @returns Number of the node's newest block. */
  readonly requireGenesis = (): Promise<number> => this.#guard.requireGenesis();

  /** The difference to the clock of the node, if it is large. */
  get clockProblem(): RangemakerError | undefined {
    return this.#guard.clocks.problem;
  }

  /**
   * Starts submissions, retries of intents that earlier runs left unfinished, and the upkeep of the
   * store.
   */
  start(handler: IntentHandler): void {
    this.#handler = handler;
    this.#submitter = new Submitter({
      store: this.store,
      node: this.node,
      clock: this.#options.clock,
      random: Math.random,
      log: this.#log,
      handler,
      transactions: this.transactions,
      guard: this.#guard,
    });
    this.#submitter.start();
    this.#health.start();
    this.#upkeep.start();
  }

  /** Submits an intent: see {@link Submitter.submit}. */
  submit(intent: Intent, options?: SubmitOptions): Promise<Intent> {
    return this.#started(this.#submitter).submit(intent, options);
  }

  #started<T>(part: T | undefined): T {
    if (part === undefined) throw new TypeError("The service was not started");
    return part;
  }

  /** Starts no further attempts, so that no retry begins while open requests finish. */
  readonly stopSubmitting = (): void => void this.#submitter?.stop();

  /** Stops everything and closes the store. */
  async close(): Promise<void> {
    await Promise.all([this.#submitter?.stop(), this.#health.stop(), this.#upkeep.stop()]);
    await this.store.close();
  }

  /** Logs once when nothing can be submitted, and once when it can again. */
  async #check(): Promise<RangemakerError | undefined> {
    const problem = await this.#findProblem();
    const code = problem?.code;
    if (code !== undefined && code !== this.#reportedCode) {
      this.#log.error("Nothing can be submitted ({code}): {reason}", {
        event: "submitting_failed",
        code,
        reason: problem?.message,
      });
    } else if (code === undefined && this.#reportedCode !== undefined) {
      this.#log.info("Intents can be submitted again", { event: "submitting_works" });
    }
    this.#reportedCode = code;
    const found = problem ?? this.store.damaged.first ?? this.clockProblem;
    for (const code of PROBLEM_CODES) this.#problems.set({ code }, Number(code === found?.code));
    return found;
  }

  async #findProblem(): Promise<RangemakerError | undefined> {
    try {
      await this.#guard.refresh();
    } catch (thrown) {
      if (thrown instanceof StoreError || thrown instanceof WrongChainError) return thrown;
      // The service stays healthy while the node is unreachable: it waits.
      if (!(thrown instanceof RangemakerError)) throw thrown;
    }
  }
}

async function requireKey(
  store: IntentStore,
  name: string,
  { address }: Pick<TransactionSigner, "address">,
): Promise<void> {
  const { signer } = await store.updateRecord({ signer: address });
  if (signer === address) return;
  throw new StoreError(
    `Database belongs to the ${name} with the key of ${signer}, but this one signs as ${address}: ` +
      "use that key, or give this one a database of its own with --database",
  );
}

/** The fields of a health answer that describe a problem. */
export function problemFields(problem: RangemakerError): { code: string; reason: string } {
  return { code: problem.code, reason: problem.message };
}
