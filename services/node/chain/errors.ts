/** Errors of calls that record nothing. Why a recorded transaction fails is in `refusals.ts`. */
import { RangemakerError } from "../../../lib/errors.ts";
import type { TimeSpan } from "../../../lib/prices/price_slots.ts";
import { TIMESTAMP_DRIFT_MAX_MS } from "../../../lib/protocol/constants.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";

const MAX_S = TIMESTAMP_DRIFT_MAX_MS / 1_000;

/** The timestamp of the transaction is too far from the node's clock; nothing is recorded. */
export class RejectedTransactionError extends RangemakerError {
  constructor(timestamp: number, offMs: number) {
    super(
      "TIMESTAMP_OUT_OF_RANGE",
      `Timestamp has to be within ${MAX_S} s of the node's clock: received ${timestamp}, off by ` +
        `${offMs} ms`,
      { details: { timestamp, offMs } },
    );
  }
}

export class UnknownThesisError extends RangemakerError {
  constructor(id: number) {
    super("UNKNOWN_THESIS", `No thesis has the id ${id}: core_getTheses lists them`, {
      details: { id },
    });
  }
}

/** The thesis cannot be settled now and is unchanged. */
export class SettlementError extends RangemakerError {
  /** Its window has not ended, and no recorded price is outside its range. */
  static tooEarly(thesis: Thesis, headMs: number): SettlementError {
    return new SettlementError(
      "NotEnded",
      `Thesis ${thesis.id} ends at ${thesis.endTime}: the time of the newest block is ${headMs}; ` +
        "the node settles it at that time",
      { details: { endTime: thesis.endTime, blockTimestamp: headMs } },
    );
  }

  /** Prices of its window are missing (spec: price oracle, `NeedsBackfill`). */
  static needsBackfill(thesis: Thesis, missing: readonly TimeSpan[]): SettlementError {
    return new SettlementError(
      "NeedsBackfill",
      `Thesis ${thesis.id} lacks prices of its window: backfill them`,
      { details: { missing } },
    );
  }
}
