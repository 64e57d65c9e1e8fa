import type { Logger } from "@logtape/logtape";
import type { Clock } from "../clock.ts";
import { PollingLoop } from "../net/polling_loop.ts";
import type { IntentStore } from "./store.ts";

/** Time between two passes. */
const INTERVAL_MS = 10_000;

/** Intents that one statement deletes: it keeps other writes waiting for a few milliseconds. */
const BATCH = 200;

/** Batches of one pass: 200 intents a second at most, which is twice what 100 bets a second need. */
const BATCHES_MAX = 10;

/** Options of a {@link retentionLoop}. */
export interface RetentionOptions {
  store: Pick<IntentStore, "deleteFinished">;
  /** Finished intents are kept this long after they finished and after their deadline. */
  retainMs: number;
  clock: Clock;
  log: Logger;
}

/**
 * Deletes finished intents that are older than `retainMs`, a few at a time. An intent is kept until
 * its own deadline is that old as well: up to its deadline, its key is what refuses a replay.
 */
export function retentionLoop({ store, retainMs, clock, log }: RetentionOptions): PollingLoop {
  return new PollingLoop({
    clock,
    intervalMs: INTERVAL_MS,
    firstAfterMs: INTERVAL_MS,
    async poll(signal) {
      const beforeMs = clock.now() - retainMs;
      for (let batch = 0; batch < BATCHES_MAX && !signal.aborted; batch += 1) {
        if (await store.deleteFinished({ beforeMs, limit: BATCH }) < BATCH) return;
      }
    },
    onFailure: ({ message }) =>
      log.warn("Old intents cannot be deleted: {reason}", { reason: message }),
  });
}
