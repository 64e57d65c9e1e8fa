import { getLogger } from "@logtape/logtape";
import { Backoff } from "./net/backoff.ts";
import type { CancelTimer, Clock, RandomSource } from "./clock.ts";
import { messageOf } from "./errors.ts";
import { LOG_ROOT } from "./http/logging.ts";
import type { Intent, IntentStore } from "./store/intent.ts";

/** Intents left alone since this long are taken up again, whoever began them. */
const RETRY_AFTER_MS = 1_000;

/** Time between two looks for unfinished intents: at first, and while the node stays away. */
const INTERVAL_MS = 1_000;
const INTERVAL_MS_MAX = 30_000;

/** Unfinished intents that are tried at the same time. */
const PAGE = 50;

/** What a {@link Sweeper} works with. */
export interface SweeperOptions {
  store: Pick<IntentStore, "listUnfinished">;
  clock: Clock;
  random: RandomSource;
  /** Tries once to finish an intent. */
  submit(intent: Intent): Promise<Intent>;
  /** Whether the node has stopped answering: the rest of a sweep would be in vain. */
  nodeLost(): boolean;
}

/**
 * Looks for intents that were left unfinished, by an earlier run, by another process or by a node
 * that did not answer, and has each tried again: all of them at start, later those that nobody
 * touched for a while. While the node stays away the looks grow rarer.
 */
export class Sweeper {
  readonly #options: SweeperOptions;
  readonly #backoff: Backoff;
  readonly #log = getLogger([LOG_ROOT, "sweeper"]);
  #cancelNext: CancelTimer = () => {};
  #sweeping: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: SweeperOptions) {
    this.#options = options;
    this.#backoff = new Backoff({
      initialMs: INTERVAL_MS,
      maxMs: INTERVAL_MS_MAX,
      random: options.random,
    });
  }

  /** Takes up all unfinished intents now, and what is left behind from then on. */
  start(): void {
    // Whatever their time says: the clock that wrote it may have been ahead.
    this.#sweeping = this.#sweep(Number.MAX_SAFE_INTEGER);
  }

  /** Takes up nothing more; resolves when nothing of it runs any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelNext();
    await this.#sweeping;
  }

  /** Tries every unfinished intent that was last touched at or before a time, then sleeps. */
  async #sweep(updatedAtMostMs: number): Promise<void> {
    const { clock, nodeLost } = this.#options;
    try {
      await this.#tryAll(updatedAtMostMs);
    } catch (thrown) {
      this.#log.error("Unfinished intents cannot be read: {error}", { error: thrown });
    }
    if (this.#stopped) return;
    if (!nodeLost()) this.#backoff.reset();
    this.#cancelNext = clock.after(this.#backoff.nextMs(), () => {
      this.#sweeping = this.#sweep(clock.now() - RETRY_AFTER_MS);
    });
  }

  async #tryAll(updatedAtMostMs: number): Promise<void> {
    const { store, nodeLost } = this.#options;
    let after = 0;
    while (!this.#stopped) {
      const page = await store.listUnfinished({ limit: PAGE, after, updatedAtMostMs });
      await Promise.all(page.map((intent) => this.#try(intent)));
      if (page.length < PAGE || nodeLost()) return;
      after = page.at(-1)?.sequence ?? after;
    }
  }

  async #try(intent: Intent): Promise<void> {
    try {
      const { key, state } = await this.#options.submit(intent);
      this.#log.info("Intent {key} taken up again: {state}", { key, state });
    } catch (thrown) {
      this.#log.warning("Intent {key} stays unfinished: {reason}", {
        key: intent.key,
        reason: messageOf(thrown),
      });
    }
  }
}
