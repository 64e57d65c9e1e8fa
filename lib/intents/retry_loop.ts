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
export function createRetryLoop(
  submitter: Retrier,
  { store, node, clock, random, log }: RetryLoopOptions,
): PollingLoop {
  const url = redactUrls(node.url);
  /** Keys of intents whose failure is in the log. */
  const failing = new NewestMap<string, true>(FAILING_MAX);
  /** How many are being retried. */
  let running = 0;
  let isNodeLost = false;

  /** @param isProbe The node was lost, which is in the log. */
  async function retry(intent: Intent, isProbe: boolean): Promise<void> {
    const { key } = intent;
    running += 1;
    try {
      const { state } = await submitter.retry(intent);
      log.info("Intent {key} retried: {state}", { event: "intent_retried", key, state });
    } catch (thrown) {
      if (isProbe && submitter.isNodeLost || failing.has(key)) return;
      failing.set(key, true);
      const facts = { event: "intent_unfinished", key, reason: messageOf(thrown) };
      log.warn("Intent {key} is still unfinished: {reason}", facts);
    } finally {
      running -= 1;
    }
  }

  /**
   * Tries each unfinished intent once, except those that are running. It waits for them for a moment
   * only: an execution may be held for seconds, and the others would wait for it.
   *
   * @returns Whether there was an unfinished one.
   */
  async function retryAll(signal: AbortSignal): Promise<boolean> {
    const nowMs = clock.now();
    let after = 0; // the sequence of the last one
    while (!signal.aborted && running < RETRIES_AT_ONCE) {
      const isProbe = submitter.isNodeLost;
      const limit = isProbe ? 1 : RETRIES_AT_ONCE - running;
      const unchangedForMs = RETRY_AFTER_MS;
      const page = await store.listUnfinished({ limit, after, nowMs, unchangedForMs });
      const waiting = page.filter(({ key }) => !submitter.isRunning(key));
      const attempts = Promise.all(waiting.map((intent) => retry(intent, isProbe)));
      await withinMs(attempts, RETRY_INTERVAL_MS, undefined, clock);
      after = page.at(-1)?.sequence ?? after;
      if (page.length < limit || waiting.length > 0 && submitter.isNodeLost) break;
    }
    return after > 0 || running > 0;
  }

  return new PollingLoop({
    clock,
    intervalMs: RETRY_INTERVAL_MS,
    backoff: new Backoff({ initialMs: RETRY_INTERVAL_MS, maxMs: SERVICE_WAIT_MAX_MS, random }),
    async poll(signal) {
      const hasRetried = await retryAll(signal).catch((cause) => {
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
        const facts = { event: "node_lost", url };
        log.warn("Core node at {url} does not answer: recorded intents wait", facts);
      } else {
        log.error("Unfinished intents cannot be read: {reason}", { event: "store_failed", reason });
      }
    },
    onRecovery() {
      if (!isNodeLost) return;
      isNodeLost = false;
      const facts = { event: "node_back", url };
      log.info("Recorded intents no longer wait for core node at {url}", facts);
    },
  });
}
