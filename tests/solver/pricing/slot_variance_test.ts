import assert from "node:assert/strict";
import { SlotVariance } from "../../../services/solver/pricing/slot_variance.ts";
import { withSeed } from "../../support/random.ts";

const HALF_LIFE_SLOTS = 600;
const SLOW_SLOTS = 50;
const LEARNING_SLOTS = 10;

/** Prices by slot, as their logarithms. */
type Path = ReadonlyMap<number, number>;

function varianceOf(path: Path): SlotVariance {
  const variance = new SlotVariance();
  for (const [slot, log] of path) variance.add(slot, Math.exp(log));
  return variance;
}

/** The variance of a path without jumps, by its definition: the mean squares of all returns. */
function naive(path: Path): { perMs: number; historyMs: number } {
  const [first, newest] = [Math.min(...path.keys()), Math.max(...path.keys())];
  let [slow, fast, weights, count] = [0, 0, 0, 0];
  for (const [slot, log] of path) {
    const [before, longBefore] = [path.get(slot - 1), path.get(slot - SLOW_SLOTS)];
    if (before === undefined || longBefore === undefined) continue;
    if (slot < first + LEARNING_SLOTS + SLOW_SLOTS) continue;
    const weight = 2 ** ((slot - newest) / HALF_LIFE_SLOTS);
    slow += weight * (log - longBefore) ** 2;
    fast += weight * (log - before) ** 2;
    weights += weight;
    count += 1;
  }
  const perMs = Math.max(0, slow - fast) / weights / ((SLOW_SLOTS - 1) * 100);
  return { perMs, historyMs: (count + LEARNING_SLOTS + SLOW_SLOTS) * 100 };
}

Deno.test("Slot variance: is the mean of slow returns less that of fast ones, each with its age", () =>
  withSeed((random) => {
    for (const missing of [0, 0.05]) {
      const path = new Map<number, number>();
      let log = 8;
      for (let slot = 1_000; slot < 1_400; slot++) {
        // A steady rise, so that no return is cancelled, and no move is a jump.
        log += 1e-4 * (0.5 + random());
        if (random() >= missing) path.set(slot, log);
      }
      const { perMs, historyMs } = naive(path);
      const found = varianceOf(path);
      assert.equal(found.historyMs, historyMs);
      assert.equal(found.variance?.halfLifeMs, 60_000);
      const error = Math.abs((found.variance?.perMs ?? 0) / perMs - 1);
      assert.ok(error < 1e-6, `${found.variance?.perMs} is not ${perMs}`);
    }
  }));

Deno.test("Slot variance: is unknown until the first slow return after the slots it learns from", () => {
  const path = new Map<number, number>();
  for (let slot = 0; slot < 60; slot++) path.set(slot, 1e-4 * slot);
  const before = varianceOf(path);
  assert.deepEqual([before.variance, before.historyMs], [undefined, 0]);
  path.set(60, 60e-4);
  const after = varianceOf(path);
  assert.ok(after.variance !== undefined);
  assert.equal(after.historyMs, 6_100);
});

Deno.test("Slot variance: noise alone is no variance", () => {
  const path = new Map(Array.from({ length: 300 }, (_, slot) => [slot, slot % 2 * 1e-4]));
  assert.equal(varianceOf(path).variance?.perMs, 0);
});

Deno.test("Slot variance: a jump counts as eight usual moves, over the slots that it took", () => {
  for (const slots of [1, 4]) {
    const moveTo = (jump: number) => {
      const path = new Map<number, number>();
      for (let slot = 0; slot < 200; slot++) path.set(slot, 1e-4 * slot);
      for (let slot = 199 + slots; slot < 300; slot++) path.set(slot, 1e-4 * slot + jump);
      return varianceOf(path).variance?.perMs ?? 0;
    };
    // The move of these slots is 8 · 1e-4 · √slots, a steady rise included.
    const counted = 1e-4 * (8 * Math.sqrt(slots) - slots);
    const cut = moveTo(counted);
    for (const jump of [counted * 1.01, 0.1]) {
      assert.ok(Math.abs(moveTo(jump) / cut - 1) < 1e-9, `${slots}, ${jump}`);
    }
    assert.ok(Math.abs(moveTo(-0.1) / moveTo(-1) - 1) < 1e-9, "a fall too");
    assert.ok(moveTo(counted * 0.9) < cut * 0.999);
  }
});
