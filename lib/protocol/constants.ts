/** Bounds that node, solver, submitter and clients share (docs/protocol.md). */
import { DAY_MS } from "../time.ts";

/** A price slot and the interval of checkpoints, in milliseconds (spec: price oracle, Limits). */
export const SLOT_MS = 100;

/** Largest difference between a transaction's timestamp and the clock of its node. */
export const TIMESTAMP_DRIFT_MAX_MS = 60_000;

/**
 * Every node keeps receipts and settled theses for at least this long: more than twice the time by
 * which a timestamp may be off.
 */
export const RECEIPTS_KEPT_MIN_MS = 600_000;

/** The longest window of a thesis, in milliseconds (spec: quote solver, `maxDuration`). */
export const THESIS_DURATION_MAX_MS = DAY_MS;

/** Longest time from submission to the start of a window, unless configured otherwise. */
export const START_AHEAD_MAX_MS = DAY_MS;

/** How long a node uses a price, unless configured otherwise (spec: price oracle, `max_stale_ms`). */
export const PRICE_FRESH_MS = 3_000;

/** Price slots that one `BackfillOracle` may carry: ten minutes of them. */
export const BACKFILL_SLOTS_MAX = 6_000;
