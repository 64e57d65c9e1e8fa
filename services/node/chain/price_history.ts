import type { PriceRing } from "../../../lib/prices/price_ring.ts";
import type {
  Extremes,
  PricePoint,
  PriceRange,
  PriceReader,
  TimeSpan,
} from "../../../lib/prices/price_slots.ts";
import { BackfilledSlots } from "./backfilled_slots.ts";

/** All prices known of one market: those in the ring, and backfilled ones that theses need. */
export class PriceHistory implements PriceReader {
  readonly ring: PriceRing;
  readonly held = new BackfilledSlots();

  constructor(ring: PriceRing) {
    this.ring = ring;
  }

  /** The price of a slot, or undefined. */
  at(time: number): bigint | undefined {
    return this.ring.at(time) ?? this.held.at(time);
  }

  /** Whether a backfilled price of the slot has a place to go. */
  takes(time: number, isNeeded: boolean): boolean {
    if (this.at(time) !== undefined) return false;
    return this.ring.holds(time) || (isNeeded && this.held.hasRoomFor(time));
  }

  /**
   * Takes the backfilled price of a slot that was missing: into the ring where that reaches back so
   * far, and beside it where a thesis needs it.
   */
  fill(time: number, price: bigint, isNeeded: boolean): void {
    this.ring.fill(time, price);
    if (isNeeded) this.held.put(time, price);
  }

  extremes(from: number, to: number, range?: PriceRange): Extremes {
    const inRing = this.ring.extremes(from, to, range);
    if (inRing.missing.length === 0 || this.held.pages === 0) return inRing;
    let { lowest, highest, outside } = inRing;
    const missing: TimeSpan[] = [];
    for (const gap of inRing.missing) {
      const held = this.held.extremes(gap.from, gap.to, range);
      lowest = lower(lowest, held.lowest);
      highest = higher(highest, held.highest);
      outside = earlier(outside, held.outside);
      missing.push(...held.missing);
    }
    return { lowest, highest, outside, missing };
  }
}

function lower(a: bigint | undefined, b: bigint | undefined): bigint | undefined {
  return a === undefined || (b !== undefined && b < a) ? b : a;
}

function higher(a: bigint | undefined, b: bigint | undefined): bigint | undefined {
  return a === undefined || (b !== undefined && b > a) ? b : a;
}

function earlier(
  a: PricePoint | undefined,
  b: PricePoint | undefined,
): PricePoint | undefined {
  return a === undefined || (b !== undefined && b.time < a.time) ? b : a;
}
