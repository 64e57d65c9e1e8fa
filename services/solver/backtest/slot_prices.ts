import { PriceRing } from "../../../lib/prices/price_ring.ts";
import { SLOT_MS, slotFrom } from "../../../lib/prices/price_slots.ts";
import { TapeError, type TapeRow } from "../../../lib/prices/tape.ts";

/** Slots of the longest tape that is studied: 4.8 days, 64 MiB. */
const SLOTS_MAX = 2 ** 22;

/** A price for every 100 ms of a tape, as the core node would have recorded it. */
export interface SlotPrices {
  ring: PriceRing;
  /** Start of the first slot, Unix milliseconds. */
  fromMs: number;
  /** End of the last slot. */
  toMs: number;
}

/**
 * The last trade before each slot is its price.
 *
 * @param rows In order of time, at least two.
 * @throws {TapeError} If the tape is longer than {@link SLOTS_MAX} slots.
 */
export function slotPricesOf(rows: readonly TapeRow[]): SlotPrices {
  const first = slotFrom(rows[0]?.timeMs ?? 0);
  const end = slotFrom(rows.at(-1)?.timeMs ?? 0) + 1;
  if (end - first > SLOTS_MAX) {
    throw new TapeError(`Expected at most ${SLOTS_MAX} slots of 100 ms: received ${end - first}`);
  }
  const ring = new PriceRing(2 ** Math.ceil(Math.log2(end - first)));
  let next = 0;
  let price = 0n;
  for (let slot = first; slot < end; slot++) {
    for (
      let row = rows[next];
      row !== undefined && row.timeMs <= slot * SLOT_MS;
      row = rows[next]
    ) {
      price = row.price;
      next += 1;
    }
    ring.append(slot * SLOT_MS, price);
  }
  return { ring, fromMs: first * SLOT_MS, toMs: end * SLOT_MS };
}
