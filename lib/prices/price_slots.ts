/** Types of price history: slots of 100 ms, spans of slots, and range checks over a span. */

import { SLOT_MS } from "../protocol/constants.ts";

/** A time span in Unix milliseconds; `to` is excluded. */
export interface TimeSpan {
  from: number;
  to: number;
}

export interface PricePoint {
  time: number;
  price: bigint;
}

/** A price range, both bounds included. */
export interface PriceRange {
  lower: bigint;
  upper: bigint;
}

/** Result of comparing the prices of a time span with a range. */
export interface RangeCheck {
  /** The first known price outside the range; undefined if there is none, or no range was given. */
  outside: PricePoint | undefined;
  /** Slots without a price in order of time, adjacent ones joined. */
  missing: TimeSpan[];
}

/** Past prices: the part of a history that settlement needs. */
export interface PriceReader {
  checkRange(from: number, to: number, range?: PriceRange): RangeCheck;
}

/** The first slot that starts at or after a time. Slots are numbered from the Unix epoch. */
export function slotAtOrAfter(timeMs: number): number {
  return Math.ceil(timeMs / SLOT_MS);
}

/** Builds a {@link RangeCheck} from slots and summaries in order of time. */
export class RangeCheckBuilder implements RangeCheck {
  outside: PricePoint | undefined;
  readonly missing: TimeSpan[] = [];
  readonly #range: PriceRange | undefined;

  constructor(range?: PriceRange) {
    this.#range = range;
  }

  /** Whether slots with these extreme prices contain the first price outside the range. */
  containsBreach(lowest: bigint, highest: bigint): boolean {
    const range = this.#range;
    return range !== undefined && this.outside === undefined &&
      (lowest < range.lower || highest > range.upper);
  }

  addSlot(slot: number, price: bigint): void {
    if (this.containsBreach(price, price)) this.outside = { time: slot * SLOT_MS, price };
  }

  addMissing(fromSlot: number, toSlot: number): void {
    if (fromSlot >= toSlot) return;
    appendSpan(this.missing, { from: fromSlot * SLOT_MS, to: toSlot * SLOT_MS });
  }
}

/** Adds a later span to spans in order of time; joins it to the last one if they touch. */
export function appendSpan(spans: TimeSpan[], span: TimeSpan): void {
  const last = spans.at(-1);
  if (last?.to === span.from) last.to = span.to;
  else spans.push(span);
}

/** Whether two spans have a moment in common. */
export function overlap(a: TimeSpan, b: TimeSpan): boolean {
  return a.from < b.to && a.to > b.from;
}

/** Joins spans in any order, which may overlap: {@link appendSpan} takes none that do. */
export function joinSpans(spans: readonly TimeSpan[]): TimeSpan[] {
  const joined: TimeSpan[] = [];
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    const last = joined.at(-1);
    if (last === undefined || span.from > last.to) joined.push({ ...span });
    else last.to = Math.max(last.to, span.to);
  }
  return joined;
}

/** The number of the slot that starts at a time. @throws {RangeError} If none does. */
export function slotAt(time: number): number {
  const slot = time / SLOT_MS;
  if (Number.isSafeInteger(slot) && slot >= 0) return slot;
  throw new RangeError(`Slots start at multiples of ${SLOT_MS} ms: received ${time}`);
}
