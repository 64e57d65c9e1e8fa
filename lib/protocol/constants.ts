/** Bounds on which node, solver, submitter and clients have to agree (docs/protocol.md). */

/** Length of a price slot and interval of checkpoints, in milliseconds (spec: price oracle, Limits). */
export const SLOT_MS = 100;

/** The node refuses a transaction whose timestamp differs from its clock by more than this. */
export const TIMESTAMP_DRIFT_MAX_MS = 60_000;

/** The longest window of a thesis, in milliseconds (spec: quote solver, `maxDuration`). */
export const THESIS_DURATION_MAX_MS = 86_400_000;

/** How far ahead of its submission a window starts at most, unless a service is set otherwise. */
export const START_AHEAD_MAX_MS = 86_400_000;

/** Price slots that one `BackfillOracle` may carry: ten minutes of them. */
export const BACKFILL_SLOTS_MAX = 6_000;
