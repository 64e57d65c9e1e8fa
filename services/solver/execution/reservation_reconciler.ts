import { getLogger } from "@logtape/logtape";
import type { CancelTimer, Clock } from "../../../lib/clock.ts";
import { messageOf, RangemakerError } from "../../../lib/errors.ts";
import { isFinal } from "../../../lib/intents/intent.ts";
import type { IntentStore } from "../../../lib/intents/store.ts";
import { LOG_ROOT } from "../../../lib/http/logging.ts";
import type { Executor } from "./executor.ts";
import type { ExposureBook } from "../risk/exposure_book.ts";

/** Time between two looks, and how long a risk stays aside that is another process's no more. */
const INTERVAL_MS = 30_000;

/** What a {@link ReservationReconciler} works with. */
export interface ReservationReconcilerOptions {
  store: Pick<IntentStore, "find">;
  exposure: Pick<ExposureBook, "reservedQuotes">;
  executor: Pick<Executor, "ended">;
  clock: Clock;
}

/**
 * Looks from time to time whether what is put aside has come to its end: where several solvers share a
 * store, another one may have finished the execution, and nobody tells.
 */
export class ReservationReconciler {
  readonly #options: ReservationReconcilerOptions;
  readonly #log = getLogger([LOG_ROOT, "solver"]);
  #cancel: CancelTimer = () => {};
  #reviewing: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: ReservationReconcilerOptions) {
    this.#options = options;
  }

  /** Begins to look. */
  start(): void {
    this.#cancel = this.#options.clock.after(INTERVAL_MS, () => {
      this.#reviewing = this.#review();
    });
  }

  /** Looks no more; resolves when nothing is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    await this.#reviewing;
  }

  async #review(): Promise<void> {
    const { store, exposure, executor } = this.#options;
    try {
      for (const quoteHash of exposure.reservedQuotes) {
        const intent = await store.find(quoteHash);
        if (intent !== undefined && isFinal(intent.state)) executor.ended(intent);
        if (this.#stopped) return;
      }
    } catch (thrown) {
      if (!(thrown instanceof RangemakerError)) throw thrown;
      this.#log.warn("What is put aside cannot be reviewed: {reason}", {
        reason: messageOf(thrown),
      });
    }
    if (!this.#stopped) this.start();
  }
}
