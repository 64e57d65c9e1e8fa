import type { Logger } from "@logtape/logtape";
import type { Gauge, Registry } from "prom-client";
import { RangemakerError } from "../errors.ts";
import { metricsIn } from "../http/metrics.ts";
import { ProblemTracker } from "../log/problem_tracker.ts";
import { createCachedCall } from "../timing/cached.ts";
import { PollingLoop } from "../timing/polling_loop.ts";
import { type ChainGuard, WrongChainError } from "./chain_guard.ts";
import { StoreError } from "./errors.ts";
import type { IntentResources } from "./intent_resources.ts";
import { createRetryLoop } from "./retry_loop.ts";
import type { Submitter } from "./submitter.ts";
import type { IntentStore } from "./store.ts";
import { createUpkeepLoop } from "./upkeep.ts";

/** The problems that a health check finds: each is a series of its own from the start. */
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

interface IntentServiceOptions {
  resources: IntentResources;
  guard: ChainGuard;
  submitter: Submitter;
  /** Finished intents are kept this long after they finished and after their deadline. */
  retainMs: number;
  registry: Registry;
}

/**
 * What every service that submits intents runs beside its requests: retries, health checks, and the
 * upkeep of the store.
 */
export class IntentService {
  /** The problem that makes the health fail, if there is one; checked once a second at most. */
  readonly findProblem: () => Promise<RangemakerError | undefined>;
  readonly #store: IntentStore;
  readonly #log: Logger;
  readonly #guard: ChainGuard;
  readonly #submitter: Submitter;
  readonly #retries: PollingLoop;
  readonly #health: PollingLoop;
  readonly #upkeep: PollingLoop;
  readonly #problems: Gauge<"code">;
  readonly #tracker = new ProblemTracker();
  /** What the node's last answer showed of its chain. */
  #wrongChain: WrongChainError | undefined;

  constructor({ resources, guard, submitter, retainMs, registry }: IntentServiceOptions) {
    const { store, clock, log } = resources;
    const { service: name } = store;
    this.#store = store;
    this.#log = log;
    this.#guard = guard;
    this.#submitter = submitter;
    this.#retries = createRetryLoop(submitter, resources);
    this.findProblem = createCachedCall(() => this.#check(), HEALTH_CACHED_MS, clock);
    this.#health = new PollingLoop({
      clock,
      poll: async () => void await this.findProblem(),
      intervalMs: HEALTH_INTERVAL_MS,
    });
    this.#upkeep = createUpkeepLoop({ store, retainMs, clock, log, chainClock: guard.clocks });
    const { gauge, scrapedGauge } = metricsIn(registry);
    scrapedGauge(
      `${name}_store_damaged_rows`,
      "Rows of the store that are not as they were written; see the log for their keys.",
      () => store.damaged.size,
    );
    this.#problems = gauge(
      `${name}_problem`,
      "1 while /health fails with this code: see the alerts of docs/runbooks.md.",
      "code",
    );
    this.#showProblem(undefined);
  }

  /** Starts retries of unfinished intents, our own health checks, and the upkeep of the store. */
  start(): void {
    this.#retries.start();
    this.#health.start();
    this.#upkeep.start();
  }

  /** Starts no further attempts, so that no retry begins while open requests finish. */
  readonly stopSubmitting = (): void => {
    this.#retries.pause();
    void this.#submitter.stop();
  };

  /** Stops everything. The store stays open. */
  async stop(): Promise<void> {
    const stops = [this.#submitter, this.#retries, this.#health, this.#upkeep];
    await Promise.all(stops.map((each) => each.stop()));
  }

  /** Logs once when nothing can be submitted, and once when it can again. */
  async #check(): Promise<RangemakerError | undefined> {
    const problem = await this.#findProblem();
    if (problem !== undefined) {
      const { code, message: reason } = problem;
      if (this.#tracker.begin(code)) {
        const facts = { event: "submitting_failed", code, reason };
        this.#log.error("Nothing can be submitted ({code}): {reason}", facts);
      }
    } else if (this.#tracker.end()) {
      this.#log.info("Intents can be submitted again", { event: "submitting_works" });
    }
    const found = problem ?? this.#store.damaged.first ?? this.#guard.clocks.problem;
    this.#showProblem(found?.code);
    return found;
  }

  /** Shows a problem in the metrics, also one whose code is not in the list. */
  #showProblem(found: string | undefined): void {
    this.#problems.reset();
    for (const code of PROBLEM_CODES) this.#problems.set({ code }, 0);
    if (found !== undefined) this.#problems.set({ code: found }, 1);
  }

  async #findProblem(): Promise<RangemakerError | undefined> {
    try {
      await this.#guard.refresh();
    } catch (thrown) {
      if (thrown instanceof StoreError) return thrown;
      if (thrown instanceof WrongChainError) return this.#wrongChain = thrown;
      if (!(thrown instanceof RangemakerError)) throw thrown;
      // The service stays healthy while the node is unreachable: it waits.
      return this.#wrongChain;
    }
    return this.#wrongChain = undefined;
  }
}
