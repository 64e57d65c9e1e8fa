import assert from "node:assert/strict";
import { StandingPrices } from "../../../services/solver/pricing/standing_prices.ts";

/** Prices slot by slot, from the slot before and its number. */
function feed(
  standing: StandingPrices,
  from: number,
  slots: number,
  next: (price: bigint, slot: number) => bigint,
): void {
  let price = 1_000_000n;
  for (let slot = from; slot < from + slots; slot++) {
    price = next(price, slot);
    standing.add(slot, price);
  }
}

/** A market with a tick of 5 that is known already. */
function withTick(): StandingPrices {
  const standing = new StandingPrices();
  standing.add(0, 1_000_000n);
  standing.add(1, 1_000_005n);
  assert.equal(standing.tick, 5n);
  return standing;
}

Deno.test("Standing prices: the share of slots that do not move", () => {
  assert.equal(new StandingPrices().probability, 0);
  assert.equal(new StandingPrices().tick, undefined);
  const standing = withTick();
  feed(standing, 2, 15_000, (price, slot) => slot % 4 === 0 ? price + 15n : price);
  assert.ok(Math.abs(standing.probability - 0.75) < 0.02, `${standing.probability}`);
});

Deno.test("Standing prices: bouncing between bid and ask is no move, creeping away is", () => {
  const bouncing = withTick();
  feed(bouncing, 2, 15_000, (_price, slot) => slot % 2 === 0 ? 1_000_000n : 1_000_010n);
  assert.ok(bouncing.probability > 0.99, `${bouncing.probability}`);
  const creeping = withTick();
  feed(creeping, 2, 15_000, (price) => price + 5n);
  // Every third step leaves the two ticks around the last move.
  assert.ok(Math.abs(creeping.probability - 2 / 3) < 0.02, `${creeping.probability}`);
});

Deno.test("Standing prices: a price that has just stopped counts as standing at once", () => {
  const standing = withTick();
  feed(standing, 2, 15_000, (price) => price + 15n);
  assert.ok(standing.probability < 0.01);
  feed(standing, 15_002, 1_200, (price) => price);
  assert.ok(standing.probability > 0.9, `${standing.probability}`);
});

Deno.test("Standing prices: missing slots say nothing, and ticks are forgotten", () => {
  const standing = new StandingPrices();
  standing.add(0, 1_000n);
  standing.add(10, 1_001n);
  assert.equal(standing.probability, 0);
  assert.equal(standing.tick, undefined);
  standing.add(11, 1_002n);
  assert.equal(standing.tick, 1n);
  feed(standing, 12, 40_000, (price) => price + 7n);
  assert.equal(standing.tick, 7n);
});

/** Prices in slots that follow each other, from a slot on. */
function addFrom(standing: StandingPrices, slot: number, ...prices: bigint[]): void {
  for (const [index, price] of prices.entries()) standing.add(slot + index, price);
}

Deno.test("Standing prices: the smallest move of this half hour and of the one before, up or down", () => {
  const standing = new StandingPrices();
  addFrom(standing, 2, 100n);
  assert.equal(standing.tick, undefined, "the first price is no move");
  addFrom(standing, 3, 70n);
  assert.equal(standing.tick, 30n);
  addFrom(standing, 4, 80n, 120n, 100n);
  assert.equal(standing.tick, 10n);
  standing.add(100, 101n);
  assert.equal(standing.tick, 10n, "over missing slots it may be several moves");
  addFrom(standing, 18_000, 200n, 220n);
  assert.equal(standing.tick, 10n);
  addFrom(standing, 36_000, 200n, 250n);
  assert.equal(standing.tick, 20n);
  addFrom(standing, 36_100, 200n, 215n);
  assert.equal(standing.tick, 15n);
  addFrom(standing, 53_999, 200n, 230n);
  assert.equal(standing.tick, 15n);
});

Deno.test("Standing prices: a slot after a missing one says nothing, and a fall is a move", () => {
  const standing = new StandingPrices();
  for (const slot of [0, 2, 7]) standing.add(slot, 500n);
  assert.equal(standing.probability, 0);
  standing.add(8, 500n);
  assert.equal(standing.probability, 1);
  standing.add(9, 400n);
  assert.ok(standing.probability > 0.49 && standing.probability < 0.51);
});
