import { RangemakerError } from "../../../lib/errors.ts";
import { SLOT_MS, slotFrom } from "../../../lib/prices/price_slots.ts";
import { TapeError, type TapeRow } from "../../../lib/prices/tape.ts";
import type { Candle } from "../pricing/candle.ts";

/** The backtest cannot run with these options or prices. */
export class BacktestError extends RangemakerError {
  constructor(message: string) {
    super("BACKTEST", message);
  }
}

/**
 * Recorded prices of a time span, integers with 6 decimals. A candle is known once it is over; a slot
 * of 100 ms has one price, known when it starts.
 */
export interface Bar extends Candle {
  /** When the close is known, Unix milliseconds. */
  knownMs: number;
}

/** Recorded prices in order of time. */
export interface BarSource {
  /** Length of each bar. */
  durationMs: number;
  fromMs: number;
  toMs: number;
  bars(): AsyncIterable<readonly Bar[]>;
}

/**
 * How long after a multiple of its length a bar begins. Candles of a file may begin at any time, such
 * as 20 s past each minute; what happens every few bars is counted without that.
 */
export function phaseOf({ timeMs, durationMs }: Candle): number {
  return timeMs % durationMs;
}

/** End of a bar. */
export function endOf({ timeMs, durationMs }: Candle): number {
  return timeMs + durationMs;
}

/** Slots of the longest tape: 4.8 days. */
const SLOTS_MAX = 2 ** 22;

/** Slots that are returned at once. */
const PIECE_SLOTS = 10_000;

/**
 * A price for every 100 ms of a tape, as the core node would have recorded it: the last trade at or
 * before the start of the slot.
 *
 * @param rows In order of time, at least two.
 * @throws {TapeError} If the tape is longer than {@link SLOTS_MAX} slots.
 */
export function tradeBars(rows: readonly TapeRow[]): BarSource {
  const first = slotFrom(rows[0]?.timeMs ?? 0);
  const end = slotFrom(rows.at(-1)?.timeMs ?? 0) + 1;
  if (end - first > SLOTS_MAX) {
    throw new TapeError(`Expected at most ${SLOTS_MAX} slots of 100 ms: received ${end - first}`);
  }
  return {
    durationMs: SLOT_MS,
    fromMs: first * SLOT_MS,
    toMs: end * SLOT_MS,
    async *bars() {
      let next = 0;
      let price = 0;
      let piece: Bar[] = [];
      for (let slot = first; slot < end; slot++) {
        const timeMs = slot * SLOT_MS;
        for (let row = rows[next]; row !== undefined && row.timeMs <= timeMs; row = rows[next]) {
          price = Number(row.price);
          next += 1;
        }
        piece.push(slotBar(timeMs, price));
        if (piece.length < PIECE_SLOTS) continue;
        yield await Promise.resolve(piece);
        piece = [];
      }
      if (piece.length > 0) yield piece;
    },
  };
}

/** A slot with one price. */
export function slotBar(timeMs: number, price: number): Bar {
  return {
    timeMs,
    durationMs: SLOT_MS,
    knownMs: timeMs,
    open: price,
    high: price,
    low: price,
    close: price,
  };
}
