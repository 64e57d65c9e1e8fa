import { slotAtOrAfter } from "../../../lib/prices/price_slots.ts";
import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import { TapeError, type TapeRow } from "../../../lib/prices/tape.ts";
import { DAY_MS } from "../../../lib/time.ts";

/** The price at a checkpoint, an integer with 6 decimals. */
export interface SlotPrice {
  /** Start of the slot of 100 ms, when the price is known: Unix milliseconds. */
  timeMs: number;
  price: number;
}

/** Prices of slots in order of time. */
export interface SlotSource {
  fromMs: number;
  toMs: number;
  slots(): Iterable<SlotPrice>;
}

/** Slots of the longest tape: 4.9 days. */
const SLOTS_MAX = 2 ** 22;

/**
 * A price for every 100 ms of a tape, as the core node would have recorded it: the last trade at or
 * before the start of the slot.
 *
 * @param rows In order of time, at least two.
 * @throws {TapeError} If the tape is longer than {@link SLOTS_MAX} slots.
 */
export function tradeSlots(rows: readonly TapeRow[]): SlotSource {
  const first = slotAtOrAfter(rows[0]?.timeMs ?? 0);
  const end = slotAtOrAfter(rows.at(-1)?.timeMs ?? 0) + 1;
  if (end - first > SLOTS_MAX) {
    const days = (slots: number) => (slots * SLOT_MS / DAY_MS).toFixed(1);
    throw new TapeError(
      `Tape covers ${days(end - first)} days: expected at most ${days(SLOTS_MAX)}; ` +
        "cut it, and check that its times are in milliseconds",
    );
  }
  return {
    fromMs: first * SLOT_MS,
    toMs: end * SLOT_MS,
    *slots() {
      let next = 0;
      let price = 0;
      for (let slot = first; slot < end; slot++) {
        const timeMs = slot * SLOT_MS;
        for (let row = rows[next]; row !== undefined && row.timeMs <= timeMs; row = rows[next]) {
          price = Number(row.price);
          next += 1;
        }
        yield { timeMs, price };
      }
    },
  };
}
