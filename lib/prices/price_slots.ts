/** The vocabulary of price history: slots of 100 ms, spans of them, and what is known of a span. */

/** How long one price slot lasts, in milliseconds: the interval of checkpoints. */
export const SLOT_MS = 100;

/** A stretch of time in Unix milliseconds; `to` is not part of it. */
export interface TimeSpan {
  from: number;
  to: number;
}

/** The price of one slot; `time` is where the slot starts. */
export interface PricePoint {
  time: number;
  price: bigint;
}

/** Prices between which a thesis holds, both included. */
export interface PriceRange {
  lower: bigint;
  upper: bigint;
}

/** What is known of the prices in a stretch of time. */
export interface Extremes {
  /** Undefined where no slot is known. */
  lowest: bigint | undefined;
  highest: bigint | undefined;
  /** The first known price outside the range that was asked about. */
  outside: PricePoint | undefined;
  /** Slots without a price, joined where they touch, in order of time. */
  missing: TimeSpan[];
}

/** Reads prices of the past: what settlement needs of a history. */
export interface PriceReader {
  /** What is known of the slots that start in `[from, to)`. */
  extremes(from: number, to: number, range?: PriceRange): Extremes;
}

/** The first slot that starts at or after a time. Slots are numbered from the Unix epoch. */
export function slotFrom(timeMs: number): number {
  return Math.ceil(timeMs / SLOT_MS);
}

/** Gathers {@link Extremes} from slots and summaries that come in order of time. */
export class ExtremesFold implements Extremes {
  lowest: bigint | undefined;
  highest: bigint | undefined;
  outside: PricePoint | undefined;
  readonly missing: TimeSpan[] = [];
  readonly #range: PriceRange | undefined;

  constructor(range?: PriceRange) {
    this.#range = range;
  }

  /** Adds known prices. @returns Whether the first price outside the range must be among them. */
  add(lowest: bigint, highest: bigint): boolean {
    if (this.lowest === undefined || lowest < this.lowest) this.lowest = lowest;
    if (this.highest === undefined || highest > this.highest) this.highest = highest;
    const range = this.#range;
    return range !== undefined && this.outside === undefined &&
      (lowest < range.lower || highest > range.upper);
  }

  /** Adds the price of one slot. */
  addSlot(slot: number, price: bigint): void {
    if (this.add(price, price)) this.outside = { time: slot * SLOT_MS, price };
  }

  /** Adds slots without a price. */
  addMissing(fromSlot: number, toSlot: number): void {
    if (fromSlot >= toSlot) return;
    const last = this.missing.at(-1);
    if (last?.to === fromSlot * SLOT_MS) last.to = toSlot * SLOT_MS;
    else this.missing.push({ from: fromSlot * SLOT_MS, to: toSlot * SLOT_MS });
  }
}

/** The number of the slot that starts at a time. @throws {RangeError} If no slot starts at the time. */
export function slotAt(time: number): number {
  const slot = time / SLOT_MS;
  if (Number.isSafeInteger(slot) && slot >= 0) return slot;
  throw new RangeError(`Slots start at multiples of ${SLOT_MS} ms: received ${time}`);
}
