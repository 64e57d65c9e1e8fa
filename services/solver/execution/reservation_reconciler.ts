import { getLogger } from "@logtape/logtape";
import type { CancelTimer, Clock } from "../../../lib/clock.ts";
import { messageOf, RangemakerError } from "../../../lib/errors.ts";
import { isFinal } from "../../../lib/intents/intent.ts";
import type { IntentStore } from "../../../lib/intents/store.ts";
import { LOG_ROOT } from "../../../lib/http/logging.ts";
import type { Executor } from "./executor.ts";
import type { ExposureBook } from "../risk/exposure_book.ts";
import type { SettledReservations } from "./settled_reservations.ts";

/** Time between two passes, and how long a reservation can outlive an execution that another process ended. */
const INTERVAL_MS = 30_000;

/** What a {@link ReservationReconciler} works with. */
export interface ReservationReconcilerOptions {
  store: Pick<IntentStore, "find">;
  exposure: Pick<ExposureBook, "reservedQuotes">;
  executor: Pick<Executor, "ended">;
  settled: Pick<SettledReservations, "reconcile">;
  clock: Clock;
}

/**
 * Releases reservations that have ended elsewhere: another solver on the same store may have finished
 * the execution, and a thesis may have settled while the feed was down.
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

  /** Starts the passes. */
  start(): void {
    this.#cancel = this.#options.clock.after(INTERVAL_MS, () => {
      this.#reviewing = this.#review();
    });
  }

  /** Stops the passes; resolves when none is running. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    await this.#reviewing;
  }

  async #review(): Promise<void> {
    const { store, exposure, executor, settled } = this.#options;
    try {
      for (const quoteHash of exposure.reservedQuotes) {
        const intent = await store.find(quoteHash);
        if (intent !== undefined && isFinal(intent.state)) executor.ended(intent);
        if (this.#stopped) return;
      }
      await settled.reconcile();
    } catch (thrown) {
      if (!(thrown instanceof RangemakerError)) throw thrown;
      this.#log.warn("Reservations cannot be reconciled: {reason}", {
        reason: messageOf(thrown),
      });
    }
    if (!this.#stopped) this.start();
  }
}
