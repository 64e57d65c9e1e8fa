import type { Clock } from "../../../lib/clock.ts";
import { PollingLoop } from "../../../lib/net/polling_loop.ts";
import { isFinal } from "../../../lib/intents/intent.ts";
import type { IntentStore } from "../../../lib/intents/store.ts";
import { serviceLog } from "../../../lib/http/logging.ts";
import type { Executor } from "./executor.ts";
import type { ExposureBook } from "../risk/exposure_book.ts";
import type { SettledReservations } from "./settled_reservations.ts";

/** Time between two passes, and how long a reservation can outlive an execution that another process ended. */
const INTERVAL_MS = 30_000;

/** Dependencies of a {@link reservationReconciler}. */
export interface ReservationReconcilerOptions {
  store: Pick<IntentStore, "find">;
  exposure: Pick<ExposureBook, "reservedQuotes">;
  executor: Pick<Executor, "ended">;
  settled: Pick<SettledReservations, "reconcile">;
  clock: Clock;
}

/**
 * Releases reservations of bets that ended elsewhere: another solver on the same store may have
 * finished the execution, and a thesis may have settled while the feed was down.
 */
export function reservationReconciler(
  { store, exposure, executor, settled, clock }: ReservationReconcilerOptions,
): PollingLoop {
  const log = serviceLog("solver");
  return new PollingLoop({
    clock,
    intervalMs: INTERVAL_MS,
    firstAfterMs: INTERVAL_MS,
    async poll(signal) {
      for (const quoteHash of exposure.reservedQuotes) {
        const intent = await store.find(quoteHash);
        if (intent !== undefined && isFinal(intent.state)) executor.ended(intent);
        if (signal.aborted) return;
      }
      await settled.reconcile();
    },
    onFailure: ({ message }) =>
      log.warn("Reservations cannot be reconciled: {reason}", { reason: message }),
  });
}
