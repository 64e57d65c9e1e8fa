import type { Logger } from "@logtape/logtape";
import type { Clock } from "../clock.ts";
import { PollingLoop } from "../timing/polling_loop.ts";
import { RECEIPTS_KEPT_MIN_MS } from "../protocol/constants.ts";
import type { ClockComparison } from "./clock_comparison.ts";
import { StoreDamagedError } from "./errors.ts";
import type { IntentStore } from "./store.ts";

/** Time between two passes. */
const UPKEEP_INTERVAL_MS = 10_000;

/** Intents that one statement deletes: it keeps other writes waiting for a few milliseconds. */
const DELETE_BATCH = 200;

/** Batches of one pass: at most 200 intents a second, twice what 100 bets a second need. */
const DELETE_BATCHES_MAX = 10;

/**
 * A refused request is kept this long after its deadline: until then, only its key keeps a copy of
 * it that arrives late from being carried out. Refusals cost their callers nothing, so they are not
 * kept longer. Clocks of processes differ by less.
 */
const REFUSED_KEPT_MS = RECEIPTS_KEPT_MIN_MS;

/**
 * How far back the first pass looks for refused requests, by deadline: what a longer outage of the
 * service leaves is deleted after `retainMs`. Each further pass begins that long before the last one.
 */
const REFUSED_SPAN_MS = 120_000;

/** Batches of refused requests of one pass: twice as many as `--rate-limit-total` lets in. */
const REFUSED_BATCHES_MAX = 100;

/** Rows that one pass verifies. */
const VERIFY_BATCH = 500;

interface UpkeepOptions {
  store: Pick<IntentStore, "damaged" | "deleteFinished" | "deleteUnsent" | "readPage">;
  /** Finished intents are kept this long after they finished and after their deadline. */
  retainMs: number;
  clock: Clock;
  /** Nothing is deleted that is not old enough by the chain's time too: a clock may run days ahead. */
  chainClock: Pick<ClockComparison, "blockTimeMs">;
  log: Logger;
}

/**
 * Verifies the rows of a store, a page in each pass and over again after the last one, and deletes
 * finished intents that are older than `retainMs`. An intent is kept until its deadline is that old
 * as well: until the deadline, only the stored key refuses a replay. Requests that were refused
 * before anything was sent are deleted {@link REFUSED_KEPT_MS} after their deadline.
 */
export function createUpkeepLoop(options: UpkeepOptions): PollingLoop {
  const { store, retainMs, clock, chainClock, log } = options;
  let verifiedTo = 0;
  let refusedToMs = Infinity;
  return new PollingLoop({
    clock,
    intervalMs: UPKEEP_INTERVAL_MS,
    async poll(signal) {
      // Rows are verified even if the deletions fail.
      try {
        const nowMs = Math.min(clock.now(), chainClock.blockTimeMs);
        const finished = { beforeMs: nowMs - retainMs, limit: DELETE_BATCH };
        await deleteBatches(DELETE_BATCHES_MAX, () => store.deleteFinished(finished), signal);
        const beforeMs = nowMs - REFUSED_KEPT_MS;
        const fromMs = Math.min(refusedToMs, beforeMs) - REFUSED_SPAN_MS;
        const refused = { fromMs, beforeMs, limit: DELETE_BATCH };
        const isAll = await deleteBatches(
          REFUSED_BATCHES_MAX,
          () => store.deleteUnsent(refused),
          signal,
        );
        if (isAll && nowMs > 0) refusedToMs = beforeMs;
      } finally {
        verifiedTo = (await store.readPage(verifiedTo, VERIFY_BATCH)).last;
      }
    },
    onFailure(thrown) {
      if (thrown instanceof StoreDamagedError) return store.damaged.report(thrown);
      log.warn("Intents cannot be verified, or old ones deleted: {reason}", {
        event: "store_upkeep_failed",
        reason: thrown.message,
      });
    },
  });
}

/** Deletes batch after batch, `most` of them. @returns Whether none is left. */
async function deleteBatches(
  most: number,
  deleteBatch: () => Promise<number>,
  signal: AbortSignal,
): Promise<boolean> {
  for (let batch = 0; batch < most && !signal.aborted; batch += 1) {
    if (await deleteBatch() < DELETE_BATCH) return true;
  }
  return false;
}
