import assert from "node:assert/strict";
import type { RandomSource } from "../../../lib/random.ts";
import { PriceRing } from "../../../lib/prices/price_ring.ts";
import type { RangeCheck, TimeSpan } from "../../../lib/prices/price_slots.ts";
import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import { withSeed } from "../../support/random.ts";

const START = 17_000_000_000;

/** The same history without any cleverness: every price ever recorded, by slot. */
class NaiveHistory {
  readonly prices = new Map<number, bigint>();
  newest = -1;

  constructor(readonly slots: number) {}

  append(slot: number, price: bigint): void {
    this.newest = slot;
    this.prices.delete(slot - this.slots);
    this.prices.set(slot, price);
    if (this.prices.size > 2 * this.slots) this.#forget();
  }

  at(slot: number): bigint | undefined {
    const inRing = slot <= this.newest && slot > this.newest - this.slots;
    return inRing ? this.prices.get(slot) : undefined;
  }

  checkRange(first: number, end: number, lower: bigint, upper: bigint): RangeCheck {
    const missing: TimeSpan[] = [];
    const found: RangeCheck = { outside: undefined, missing };
    for (let slot = first; slot < end; slot++) {
      const price = this.at(slot);
      if (price !== undefined) {
        if (price < lower || price > upper) found.outside ??= { time: slot * SLOT_MS, price };
      } else if (missing.at(-1)?.to === slot * SLOT_MS) missing.at(-1)!.to += SLOT_MS;
      else missing.push({ from: slot * SLOT_MS, to: (slot + 1) * SLOT_MS });
    }
    return found;
  }

  #forget(): void {
    for (const slot of this.prices.keys()) {
      if (slot <= this.newest - this.slots) this.prices.delete(slot);
    }
  }
}

function below(random: RandomSource, bound: number): number {
  return Math.floor(random() * bound);
}

/** A price that fits 64 bits and now and then is at their edge. */
function randomPrice(random: RandomSource): bigint {
  if (random() < 0.01) return 2n ** 64n - 1n;
  return 1n + BigInt(below(random, 1_000));
}

/** Steps of time: mostly one slot, now and then a pause, now and then more than a lap. */
function randomStep(random: RandomSource, slots: number): number {
  const roll = random();
  if (roll < 0.97) return 1;
  return 1 + below(random, roll < 0.995 ? 40 : roll < 0.999 ? slots : 3 * slots);
}

/** Lengths of spans: a moment, some minutes, now and then all there is and more. */
function randomLength(random: RandomSource, slots: number): number {
  const roll = random();
  return below(random, roll < 0.45 ? 30 : roll < 0.95 ? Math.min(slots, 2_000) : slots + 40);
}

function assertSameCheck(ring: PriceRing, model: NaiveHistory, random: RandomSource): void {
  const first = model.newest - model.slots - 20 + below(random, model.slots + 30);
  const end = first + randomLength(random, model.slots);
  const lower = BigInt(below(random, 60));
  const upper = lower + BigInt(900 + below(random, 140));
  const expected = model.checkRange(first, end, lower, upper);
  const found = ring.checkRange(first * SLOT_MS, end * SLOT_MS, { lower, upper });
  assert.deepEqual({ ...found }, expected);
}

function runModel(random: RandomSource, slots: number, operations: number): void {
  const ring = new PriceRing(slots);
  const model = new NaiveHistory(slots);
  let slot = START;
  for (let done = 0; done < operations; done++) {
    const roll = random();
    if (roll < 0.8) {
      slot += randomStep(random, slots);
      if (random() < 0.95) {
        const price = randomPrice(random);
        ring.append(slot * SLOT_MS, price);
        model.append(slot, price);
      } else {
        ring.skipTo(slot * SLOT_MS);
        model.newest = slot;
      }
    } else {
      const target = slot - below(random, slots + 10) + 5;
      assert.equal(ring.at(target * SLOT_MS), model.at(target));
    }
    if (done % Math.ceil(operations / 3_000) === 0) assertSameCheck(ring, model, random);
  }
}

for (const slots of [1, 2, 8, 1_024, 65_536]) {
  Deno.test(`PriceRing: ${slots} slots give the same answers as a naive history, over many laps`, () =>
    withSeed((random) => runModel(random, slots, slots === 65_536 ? 200_000 : 20_000)));
}

Deno.test("price oracle spec, Price history ring buffer: 65536 slots of 16 bytes, 6553.6 s", () => {
  const ring = new PriceRing();
  assert.equal(ring.slots, 65_536);
  assert.equal(ring.bytes.byteLength, 65_536 * 16);
  assert.equal(ring.slots * SLOT_MS, 6_553_600);
});

Deno.test("PriceRing: a slot is stored as time and price, eight bytes each", () => {
  const ring = new PriceRing(4);
  ring.append(500, 7n);
  const slot = new DataView(ring.bytes.buffer, (5 % 4) * 16, 16);
  assert.equal(slot.getFloat64(0, true), 500);
  assert.equal(slot.getBigUint64(8, true), 7n);
});

Deno.test("PriceRing: rejects sizes that are not powers of two", () => {
  for (const slots of [0, -1, 0.5, 3, 65_535, 1.5, Number.NaN, Infinity]) {
    assert.throws(() => new PriceRing(slots), {
      name: "RangeError",
      message: `PriceRing needs a power of two of slots: received ${slots}`,
    });
  }
});

Deno.test("PriceRing: rejects times that are not at a slot, and times before the newest", () => {
  const ring = new PriceRing(8);
  ring.append(1_000, 1n);
  for (const time of [1_050, -100, Number.NaN, 0.1]) {
    assert.throws(() => ring.append(time, 1n), RangeError, `append at ${time}`);
    assert.throws(() => ring.at(time), RangeError, `at ${time}`);
  }
  assert.throws(() => ring.append(1_000, 2n), RangeError);
  assert.throws(() => ring.append(900, 2n), RangeError);
  assert.equal(ring.at(1_000), 1n);
});

Deno.test("PriceRing: contains the newest slots, whether they have a price or not", () => {
  const ring = new PriceRing(8);
  assert.deepEqual([ring.oldestMs, ring.contains(0)], [0, false]);
  ring.append(100, 5n);
  assert.deepEqual([0, 100, 200].map((time) => ring.at(time)), [undefined, 5n, undefined]);
  for (const [newest, oldest] of [[700, 0], [800, 100], [3_000, 2_300]] as const) {
    ring.skipTo(newest);
    assert.deepEqual([ring.newestMs, ring.oldestMs], [newest, oldest]);
    assert.deepEqual([ring.contains(oldest), ring.contains(newest)], [true, true]);
    assert.equal(ring.contains(newest + 100), false);
    if (oldest > 0) assert.equal(ring.contains(oldest - 100), false);
  }
  ring.skipTo(2_900);
  assert.equal(ring.newestMs, 3_000);
});
