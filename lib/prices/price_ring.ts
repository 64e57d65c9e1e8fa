import {
  type PriceRange,
  type PriceReader,
  type RangeCheck,
  RangeCheckBuilder,
  slotAt,
  slotAtOrAfter,
} from "./price_slots.ts";
import { SLOT_MS } from "../protocol/constants.ts";

/** Default size of a ring: 6553.6 s (spec: price oracle, "Price history"). */
export const RING_SLOTS_DEFAULT = 65_536;

/** Bytes of a slot: its time and its price, eight each. */
const SLOT_BYTES = 16;

/**
 * The recent prices of one market: a fixed number of slots in one buffer, each with its time and
 * its price (spec: price oracle, "Price history ring buffer").
 *
 * A slot has no price if its stored time differs from its own: it was never recorded, or an older
 * lap wrote it. So no slot is ever cleared, however long a pause was. A summary per block of slots
 * lets {@link checkRange} skip most slots.
 *
 * @example A range check over three slots, one of which has no price
 * ```ts
 * const ring = new PriceRing(8);
 * ring.append(1_000, 3_000n);
 * ring.append(1_200, 3_100n); // the slot at 1,100 has no price
 * ring.checkRange(1_000, 1_300, { lower: 2_900n, upper: 3_050n });
 * // { outside: { time: 1_200, price: 3_100n }, missing: [{ from: 1_100, to: 1_200 }] }
 * ```
 */
export class PriceRing implements PriceReader {
  readonly slots: number;
  /** The slots as they are in memory. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly #blockSlots: number;
  readonly #times: Float64Array;
  readonly #prices: BigUint64Array;
  /** Number of the block that each summary describes, or -1. */
  readonly #blockNumbers: Float64Array;
  readonly #blockCounts: Uint32Array;
  readonly #blockLowest: BigUint64Array;
  readonly #blockHighest: BigUint64Array;
  #newestSlot = -1;

  /** @param slots A power of two. @throws {RangeError} If it is not. */
  constructor(slots: number = RING_SLOTS_DEFAULT) {
    if (!isPowerOfTwo(slots)) {
      throw new RangeError(`PriceRing needs a power of two of slots: received ${slots}`);
    }
    const buffer = new ArrayBuffer(slots * SLOT_BYTES);
    this.slots = slots;
    this.bytes = new Uint8Array(buffer);
    this.#times = new Float64Array(buffer);
    this.#prices = new BigUint64Array(buffer);
    for (let index = 0; index < slots; index++) this.#times[2 * index] = -1;
    this.#blockSlots = 2 ** Math.floor(Math.log2(slots) / 2);
    const blocks = slots / this.#blockSlots;
    this.#blockNumbers = new Float64Array(blocks).fill(-1);
    this.#blockCounts = new Uint32Array(blocks);
    this.#blockLowest = new BigUint64Array(blocks);
    this.#blockHighest = new BigUint64Array(blocks);
  }

  /** Start of the newest slot, or undefined before the first. */
  get newestMs(): number | undefined {
    return this.#newestSlot < 0 ? undefined : this.#newestSlot * SLOT_MS;
  }

  /** Start of the oldest slot that is still in the ring. */
  get oldestMs(): number {
    return Math.max(0, this.#newestSlot - this.slots + 1) * SLOT_MS;
  }

  /**
   * Records the price of a slot. Skipped slots have no price.
   *
   * @throws {RangeError} If no slot starts at the time, or it is not after {@link newestMs}.
   */
  append(time: number, price: bigint): void {
    const slot = this.#advance(time);
    if (slot === undefined) {
      throw new RangeError(`PriceRing expects a time after ${this.newestMs}: received ${time}`);
    }
    const index = 2 * (slot % this.slots);
    this.#times[index] = slot * SLOT_MS;
    this.#prices[index + 1] = price;
    this.#summarise(slot, price);
  }

  /** Advances to a slot without a price. Does nothing if the slot is not after {@link newestMs}. */
  skipTo(time: number): void {
    this.#advance(time);
  }

  /** Whether the slot that starts at `time` is in the ring now. */
  contains(time: number): boolean {
    return this.#isInRing(slotAt(time));
  }

  /** The price of the slot that starts at `time`, or undefined. */
  at(time: number): bigint | undefined {
    const slot = slotAt(time);
    const index = 2 * (slot % this.slots);
    return this.#isInRing(slot) && this.#times[index] === time
      ? this.#prices[index + 1]
      : undefined;
  }

  checkRange(from: number, to: number, range?: PriceRange): RangeCheck {
    const check = new RangeCheckBuilder(range);
    const first = slotAtOrAfter(from);
    const end = Math.max(first, slotAtOrAfter(to));
    const knownFirst = Math.min(end, Math.max(first, this.#newestSlot - this.slots + 1));
    const knownEnd = Math.max(knownFirst, Math.min(end, this.#newestSlot + 1));
    check.addMissing(first, knownFirst);
    const size = this.#blockSlots;
    for (let slot = knownFirst; slot < knownEnd;) {
      const blockEnd = (Math.floor(slot / size) + 1) * size;
      const stop = Math.min(blockEnd, knownEnd);
      if (stop - slot === size) this.#checkBlock(check, slot);
      else this.#checkSlots(check, slot, stop);
      slot = stop;
    }
    check.addMissing(knownEnd, end);
    return check;
  }

  /** Adds a whole block by its summary; reads its slots only if the summary is not enough. */
  #checkBlock(check: RangeCheckBuilder, slot: number): void {
    const size = this.#blockSlots;
    const number = slot / size;
    const block = number % this.#blockNumbers.length;
    const count = this.#blockNumbers[block] === number ? this.#blockCounts[block]! : 0;
    if (count === 0) return check.addMissing(slot, slot + size);
    // The arrays have an element per block.
    const hasOutside = check.containsBreach(this.#blockLowest[block]!, this.#blockHighest[block]!);
    if (count < size || hasOutside) this.#checkSlots(check, slot, slot + size);
  }

  /** Reads slots of one block, which do not wrap around. */
  #checkSlots(check: RangeCheckBuilder, first: number, end: number): void {
    let index = first % this.slots;
    for (let slot = first; slot < end; slot++, index++) {
      if (this.#times[2 * index] === slot * SLOT_MS) {
        check.addSlot(slot, this.#prices[2 * index + 1]!); // index is below the number of slots
      } else check.addMissing(slot, slot + 1);
    }
  }

  #isInRing(slot: number): boolean {
    return slot >= 0 && slot <= this.#newestSlot && slot > this.#newestSlot - this.slots;
  }

  /** @returns The slot, or undefined if it is not after the newest. */
  #advance(time: number): number | undefined {
    const slot = slotAt(time);
    if (slot <= this.#newestSlot) return undefined;
    this.#newestSlot = slot;
    return slot;
  }

  #summarise(slot: number, price: bigint): void {
    const number = Math.floor(slot / this.#blockSlots);
    const block = number % this.#blockNumbers.length;
    const described = this.#blockNumbers[block]!; // one per block
    if (described < number) {
      this.#blockNumbers[block] = number;
      this.#blockCounts[block] = 0;
    }
    const first = this.#blockCounts[block] === 0;
    if (first || price < this.#blockLowest[block]!) this.#blockLowest[block] = price;
    if (first || price > this.#blockHighest[block]!) this.#blockHighest[block] = price;
    this.#blockCounts[block]! += 1;
  }
}

function isPowerOfTwo(value: number): boolean {
  return Number.isInteger(value) && Number.isInteger(Math.log2(value));
}
