import type { Logger } from "@logtape/logtape";
import { Backoff, SERVICE_WAIT_MAX_MS } from "../net/backoff.ts";
import type { CancelTimer, Clock, RandomSource } from "../clock.ts";
import { messageOf } from "../errors.ts";
import type { Intent } from "./intent.ts";
import type { IntentStore } from "./store.ts";

/** An intent is retried once it is unchanged for this long, even if another process started it. */
const RETRY_AFTER_MS = 1_000;

/** Time between two passes; while the node is away, up to {@link SERVICE_WAIT_MAX_MS}. */
const INTERVAL_MS = 1_000;

/** Most intents that are retried at the same time. */
const PAGE = 50;

/** Options of a {@link RetryLoop}. */
export interface RetryLoopOptions {
  store: Pick<IntentStore, "listUnfinished">;
  clock: Clock;
  random: RandomSource;
  log: Logger;
  /** Tries once to finish an intent. */
  submit(intent: Intent): Promise<Intent>;
  /** Whether the node has stopped answering: the rest of a pass would fail as well. */
  nodeLost(): boolean;
}

/**
 * Retries intents that an earlier run, another process or a lost answer left unfinished: all of them
 * at start, later those that did not change for a while. While the node is unreachable, a pass tries
 * one intent only, and the others once that one got an answer.
 */
export class RetryLoop {
  readonly #options: RetryLoopOptions;
  readonly #backoff: Backoff;
  #cancelNext: CancelTimer = () => {};
  #pass: Promise<void> = Promise.resolve();
  #stopped = false;
  #isStoreLost = false;

  constructor(options: RetryLoopOptions) {
    this.#options = options;
    this.#backoff = new Backoff({
      initialMs: INTERVAL_MS,
      maxMs: SERVICE_WAIT_MAX_MS,
      random: options.random,
    });
  }

  /** Retries all unfinished intents now, and from then on those that were left unfinished. */
  start(): void {
    // Regardless of their time: the clock that wrote it may have been ahead.
    this.#pass = this.#run(Number.MAX_SAFE_INTEGER);
  }

  /** Starts no further retries; resolves when none is running. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelNext();
    await this.#pass;
  }

  /** Retries the unfinished intents that last changed at or before a time, then schedules the next pass. */
  async #run(updatedAtMostMs: number): Promise<void> {
    const { clock, log, nodeLost } = this.#options;
    try {
      await this.#retryAll(updatedAtMostMs);
      this.#isStoreLost = false;
    } catch (thrown) {
      const reason = messageOf(thrown);
      if (!this.#isStoreLost) {
        log.error("Unfinished intents cannot be read: {reason}", { event: "store_failed", reason });
      }
      this.#isStoreLost = true;
    }
    if (this.#stopped) return;
    if (!nodeLost()) this.#backoff.reset();
    this.#cancelNext = clock.after(this.#backoff.nextMs(), () => {
      this.#pass = this.#run(clock.now() - RETRY_AFTER_MS);
    });
  }

  async #retryAll(updatedAtMostMs: number): Promise<void> {
    const { store, nodeLost } = this.#options;
    let after = 0;
    while (!this.#stopped) {
      const isProbe = nodeLost();
      const limit = isProbe ? 1 : PAGE;
      const page = await store.listUnfinished({ limit, after, updatedAtMostMs });
      await Promise.all(page.map((intent) => this.#retry(intent, isProbe)));
      if (page.length < limit || nodeLost()) return;
      after = page.at(-1)?.sequence ?? after;
    }
  }

  async #retry(intent: Intent, isProbe: boolean): Promise<void> {
    const { log, submit, nodeLost } = this.#options;
    try {
      const { key, state } = await submit(intent);
      log.info("Intent {key} retried: {state}", { event: "intent_retried", key, state });
    } catch (thrown) {
      // Already logged when the node was lost.
      if (isProbe && nodeLost()) return;
      const reason = messageOf(thrown);
      log.warning("Intent {key} is still unfinished: {reason}", {
        event: "intent_unfinished",
        key: intent.key,
        reason,
      });
    }
  }
}
