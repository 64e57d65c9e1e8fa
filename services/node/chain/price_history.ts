import type { PriceRing } from "../../../lib/prices/price_ring.ts";
import {
  overlap,
  type PriceRange,
  type PriceReader,
  type RangeCheck,
  RangeCheckBuilder,
  slotAtOrAfter,
  type TimeSpan,
} from "../../../lib/prices/price_slots.ts";
import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import { BreachWatch } from "./breaches.ts";

/** Slots of a page: 25.6 s of prices. */
const PAGE_SLOTS = 256;

/**
 * Pages per market: 4,194,304 slots, which are 4.85 days and 32 MiB. When all are used, no further
 * page can be backfilled until theses are settled. The backfill that uses the last one may exceed
 * this by the rest of its own 25 pages.
 */
export const BACKFILLED_PAGES_MAX = 16_384;

/** Backfilled prices of one market: within its ring, or older ones that open theses need. */
export class BackfilledPrices implements PriceReader {
  /** By page number; a price of 0 means that the slot has none. */
  readonly #pages = new Map<number, BigUint64Array>();

  get pages(): number {
    return this.#pages.size;
  }

  /** The time of its pages, from the first to the last; undefined if there are none. */
  get span(): TimeSpan | undefined {
    if (this.#pages.size === 0) return undefined;
    let [first, last] = [Infinity, -Infinity];
    for (const number of this.#pages.keys()) {
      if (number < first) first = number;
      if (number > last) last = number;
    }
    const pageMs = PAGE_SLOTS * SLOT_MS;
    return { from: first * pageMs, to: (last + 1) * pageMs };
  }

  /** Whether the price of this slot can be stored. */
  canStore(time: number): boolean {
    return this.#pages.size < BACKFILLED_PAGES_MAX || this.#pages.has(pageOf(slotAtOrAfter(time)));
  }

  /** Adds a page that {@link page} returned. */
  restore(number: number, prices: BigUint64Array): void {
    this.#pages.set(number, prices);
  }

  /** The prices of a page; undefined if it has none. */
  page(number: number): BigUint64Array | undefined {
    return this.#pages.get(number);
  }

  /** Stores the price of a slot. @returns The number of its page. */
  put(time: number, price: bigint): number {
    const slot = slotAtOrAfter(time);
    let page = this.#pages.get(pageOf(slot));
    if (page === undefined) {
      page = new BigUint64Array(PAGE_SLOTS);
      this.#pages.set(pageOf(slot), page);
    }
    page[slot % PAGE_SLOTS] = price;
    return pageOf(slot);
  }

  at(time: number): bigint | undefined {
    return this.#slot(slotAtOrAfter(time));
  }

  checkRange(from: number, to: number, range?: PriceRange): RangeCheck {
    const check = new RangeCheckBuilder(range);
    const end = slotAtOrAfter(to);
    for (let slot = slotAtOrAfter(from); slot < end;) {
      const pageNumber = pageOf(slot);
      const stop = Math.min(end, (pageNumber + 1) * PAGE_SLOTS);
      if (!this.#pages.has(pageNumber)) check.addMissing(slot, stop);
      else this.#checkPage(check, slot, stop);
      slot = stop;
    }
    return check;
  }

  /** Deletes the pages that overlap none of the spans. @returns Their numbers. */
  keepOnly(spans: readonly TimeSpan[]): number[] {
    const pageMs = PAGE_SLOTS * SLOT_MS;
    const deleted = [...this.#pages.keys()].filter((number) => {
      const page = { from: number * pageMs, to: (number + 1) * pageMs };
      return !spans.some((span) => overlap(span, page));
    });
    for (const number of deleted) this.#pages.delete(number);
    return deleted;
  }

  #checkPage(check: RangeCheckBuilder, first: number, end: number): void {
    for (let slot = first; slot < end; slot++) {
      const price = this.#slot(slot);
      if (price === undefined) check.addMissing(slot, slot + 1);
      else check.addSlot(slot, price);
    }
  }

  #slot(slot: number): bigint | undefined {
    const price = this.#pages.get(pageOf(slot))?.[slot % PAGE_SLOTS];
    return price === 0n ? undefined : price;
  }
}

function pageOf(slot: number): number {
  return Math.floor(slot / PAGE_SLOTS);
}

/** All known prices of one market: recorded by checkpoints, or backfilled. */
export class MarketHistory implements PriceReader {
  readonly ring: PriceRing;
  readonly backfilled = new BackfilledPrices();
  /** The open theses of the market that its next prices may break. */
  readonly breaches = new BreachWatch();

  constructor(ring: PriceRing) {
    this.ring = ring;
  }

  /** All prices are in this time. */
  get span(): TimeSpan {
    const { oldestMs, newestMs = oldestMs - SLOT_MS } = this.ring;
    const { from, to } = this.backfilled.span ?? { from: Infinity, to: 0 };
    const isEmpty = newestMs < oldestMs;
    return {
      from: isEmpty ? from : Math.min(from, oldestMs),
      to: Math.max(to, newestMs + SLOT_MS),
    };
  }

  at(time: number): bigint | undefined {
    return this.ring.at(time) ?? this.backfilled.at(time);
  }

  /** Whether a price of this slot can be backfilled: it has none, and is in the ring or needed. */
  canFill(time: number, isNeeded: boolean): boolean {
    if (this.at(time) !== undefined || !this.backfilled.canStore(time)) return false;
    return isNeeded || this.ring.contains(time);
  }

  /** Deletes pages that are older than the ring and in no span. @returns Their numbers. */
  prune(needed: readonly TimeSpan[]): number[] {
    const { oldestMs, newestMs = oldestMs } = this.ring;
    return this.backfilled.keepOnly([...needed, { from: oldestMs, to: newestMs + SLOT_MS }]);
  }

  checkRange(from: number, to: number, range?: PriceRange): RangeCheck {
    const inRing = this.ring.checkRange(from, to, range);
    if (inRing.missing.length === 0 || this.backfilled.pages === 0) return inRing;
    let { outside } = inRing;
    const missing: TimeSpan[] = [];
    for (const gap of inRing.missing) {
      const found = this.backfilled.checkRange(gap.from, gap.to, range);
      for (const part of found.missing) missing.push(part); // there may be hundreds of thousands
      if (found.outside === undefined) continue;
      if (outside === undefined || found.outside.time < outside.time) outside = found.outside;
    }
    return { outside, missing };
  }
}
