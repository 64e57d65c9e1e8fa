import type { Logger } from "@logtape/logtape";
import { Backoff, SERVICE_WAIT_MAX_MS } from "../timing/backoff.ts";
import { type Clock, withinMs } from "../clock.ts";
import type { RandomSource } from "../random.ts";
import { messageOf, RangemakerError } from "../errors.ts";
import type { CoreClient } from "../net/core_client.ts";
import { NewestMap } from "../newest_map.ts";
import { PollingLoop } from "../timing/polling_loop.ts";
import { redactUrls } from "../redact.ts";
import { asStoreError } from "./errors.ts";
import type { Intent } from "./intent.ts";
import type { IntentStore } from "./store.ts";
import type { Submitter } from "./submitter.ts";

/** An intent is retried once it is unchanged for this long, even if another process started it. */
const RETRY_AFTER_MS = 1_000;

/** Time between two passes; while the node is away, up to {@link SERVICE_WAIT_MAX_MS}. */
const RETRY_INTERVAL_MS = 1_000;

/** Most failing intents that are remembered, so that each is logged once. */
const FAILING_MAX = 10_000;

/** Most intents that are retried at the same time. */
const RETRIES_AT_ONCE = 50;

type Retrier = Pick<Submitter, "retry" | "isNodeLost" | "isRunning">;

interface RetryLoopOptions {
  store: Pick<IntentStore, "listUnfinished">;
  node: Pick<CoreClient, "url">;
  clock: Clock;
  random: RandomSource;
  log: Logger;
}

/** Code of a pass that ended early. */
const NODE_LOST = "NODE_LOST";

/**
 * Retries intents that an earlier run, another process or a lost answer left unfinished, and that
 * did not change for a while. While the node is unreachable, a pass tries one intent, and the
 * others only after an answer.
 */
export function createRetryLoop(submitter: Retrier, options: RetryLoopOptions): PollingLoop {
  const { node, clock, random, log } = options;
  const url = redactUrls(node.url);
  const retries = new Retries(submitter, options);
  let isNodeLost = false;
  return new PollingLoop({
    clock,
    intervalMs: RETRY_INTERVAL_MS,
    backoff: new Backoff({ initialMs: RETRY_INTERVAL_MS, maxMs: SERVICE_WAIT_MAX_MS, random }),
    async poll(signal) {
      const hasRetried = await retries.pass(signal).catch((cause) => {
        throw asStoreError(cause);
      });
      // If nothing was retried, nothing waits for the node: another process has finished it.
      if (hasRetried && submitter.isNodeLost) {
        throw new RangemakerError(NODE_LOST, "Core node does not answer");
      }
    },
    onFailure({ code, message: reason }) {
      if (code === NODE_LOST) {
        isNodeLost = true;
        log.warn("Core node at {url} does not answer: recorded intents wait", {
          event: "node_lost",
          url,
        });
      } else {
        log.error("Unfinished intents cannot be read: {reason}", { event: "store_failed", reason });
      }
    },
    onRecovery() {
      if (!isNodeLost) return;
      isNodeLost = false;
      log.info("Recorded intents no longer wait for core node at {url}", {
        event: "node_back",
        url,
      });
    },
  });
}

class Retries {
  readonly #submitter: Retrier;
  readonly #options: RetryLoopOptions;
  /** Keys of intents whose failure is in the log. */
  readonly #failing = new NewestMap<string, true>(FAILING_MAX);
  /** How many are being retried. */
  #running = 0;

  constructor(submitter: Retrier, options: RetryLoopOptions) {
    this.#submitter = submitter;
    this.#options = options;
  }

  /**
   * Tries each unfinished intent once, except those that are running. It waits for them for a moment
   * only: an execution may be held for seconds, and the others would wait for it.
   *
   * @returns Whether there was an unfinished one.
   */
  async pass(signal: AbortSignal): Promise<boolean> {
    const { store, clock } = this.#options;
    const nowMs = clock.now();
    let after = 0; // the sequence of the last one
    while (!signal.aborted && this.#running < RETRIES_AT_ONCE) {
      const isProbe = this.#submitter.isNodeLost;
      const limit = isProbe ? 1 : RETRIES_AT_ONCE - this.#running;
      const unchangedForMs = RETRY_AFTER_MS;
      const page = await store.listUnfinished({ limit, after, nowMs, unchangedForMs });
      const waiting = page.filter(({ key }) => !this.#submitter.isRunning(key));
      const attempts = Promise.all(waiting.map((intent) => this.#retry(intent, isProbe)));
      await withinMs(attempts, RETRY_INTERVAL_MS, undefined, clock);
      after = page.at(-1)?.sequence ?? after;
      if (page.length < limit || waiting.length > 0 && this.#submitter.isNodeLost) break;
    }
    const isAnyUnfinished = after > 0 || this.#running > 0;
    if (!isAnyUnfinished) this.#failing.clear();
    return isAnyUnfinished;
  }

  /** @param isProbe The node was lost, which is in the log. */
  async #retry(intent: Intent, isProbe: boolean): Promise<void> {
    const { log } = this.#options;
    const { key } = intent;
    this.#running += 1;
    try {
      const { state } = await this.#submitter.retry(intent);
      this.#failing.delete(key);
      log.info("Intent {key} retried: {state}", { event: "intent_retried", key, state });
    } catch (thrown) {
      if (isProbe && this.#submitter.isNodeLost || this.#failing.has(key)) return;
      this.#failing.set(key, true);
      const reason = messageOf(thrown);
      log.warn("Intent {key} is still unfinished: {reason}", {
        event: "intent_unfinished",
        key,
        reason,
      });
    } finally {
      this.#running -= 1;
    }
  }
}
