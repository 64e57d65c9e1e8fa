import assert from "node:assert/strict";
import { StillPrices } from "../../../services/solver/pricing/still_prices.ts";

/** Prices slot by slot, from the slot before and its number. */
function feed(
  stillness: StillPrices,
  from: number,
  slots: number,
  next: (price: bigint, slot: number) => bigint,
): void {
  let price = 1_000_000n;
  for (let slot = from; slot < from + slots; slot++) {
    price = next(price, slot);
    stillness.add(slot, price);
  }
}

/** A market with a tick of 5 that is known already. */
function withTick(): StillPrices {
  const stillness = new StillPrices();
  stillness.add(0, 1_000_000n);
  stillness.add(1, 1_000_005n);
  assert.equal(stillness.tick, 5n);
  return stillness;
}

Deno.test("StillPrices: a bid-ask bounce counts as still, a slow drift as a move", () => {
  const bouncing = withTick();
  feed(bouncing, 2, 15_000, (_price, slot) => slot % 2 === 0 ? 1_000_000n : 1_000_010n);
  assert.ok(bouncing.share > 0.99, `${bouncing.share}`);
  const creeping = withTick();
  feed(creeping, 2, 15_000, (price) => price + 5n);
  // Every third step leaves the two ticks around the last move.
  assert.ok(Math.abs(creeping.share - 2 / 3) < 0.02, `${creeping.share}`);
});

Deno.test("StillPrices: a slot of five minutes ago counts half as much as a new one", () => {
  const stillness = withTick();
  // In the first half hour, one move in fifty is of one tick.
  feed(stillness, 2, 18_000, (price, slot) => price + (slot % 50 === 0 ? 5n : 15n));
  feed(stillness, 18_002, 17_900, (price) => price + 15n);
  assert.ok(stillness.share < 0.01);
  feed(stillness, 35_902, 3_000, (price) => price);
  assert.ok(Math.abs(stillness.share - 0.5) < 0.01, `${stillness.share}`);
});

/** Prices in slots that follow each other, from a slot on. */
function addFrom(stillness: StillPrices, slot: number, ...prices: bigint[]): void {
  for (const [index, price] of prices.entries()) stillness.add(slot + index, price);
}

Deno.test("StillPrices: the tick is the smallest move, up or down, of this half hour and the one before", () => {
  const stillness = new StillPrices();
  addFrom(stillness, 2, 100n);
  assert.equal(stillness.tick, undefined, "the first price is no move");
  addFrom(stillness, 3, 70n);
  assert.equal(stillness.tick, 30n);
  addFrom(stillness, 4, 80n, 120n, 100n);
  assert.equal(stillness.tick, 10n);
  stillness.add(100, 101n);
  assert.equal(stillness.tick, 10n, "over missing slots it may be several moves");
  addFrom(stillness, 18_000, 200n, 220n);
  assert.equal(stillness.tick, 10n);
  addFrom(stillness, 36_000, 200n, 250n);
  assert.equal(stillness.tick, 20n);
  addFrom(stillness, 36_100, 200n, 215n);
  assert.equal(stillness.tick, 15n);
  addFrom(stillness, 53_999, 200n, 230n);
  assert.equal(stillness.tick, 15n);
});

Deno.test("StillPrices: one odd price neither becomes the tick nor makes each bounce a move", () => {
  const stillness = withTick();
  const bounce = (slot: number) => slot % 2 === 0 ? 1_000_000n : 1_000_005n;
  feed(stillness, 2, 15_000, (_price, slot) => bounce(slot) + (slot === 9_000 ? 4n : 0n));
  assert.equal(stillness.tick, 5n);
  assert.ok(stillness.share > 0.99, `${stillness.share}`);
});

Deno.test("StillPrices: a slot after a missing one is ignored, and a fall is a move", () => {
  const stillness = new StillPrices();
  for (const slot of [0, 2, 7]) stillness.add(slot, 500n);
  assert.equal(stillness.share, 0);
  stillness.add(8, 500n);
  assert.equal(stillness.share, 1);
  stillness.add(9, 400n);
  assert.ok(stillness.share > 0.49 && stillness.share < 0.51);
});
