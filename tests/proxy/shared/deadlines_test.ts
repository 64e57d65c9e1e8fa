import assert from "node:assert/strict";
import { Deadlines } from "../../../services/proxy/shared/deadlines.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { withSeed } from "../../support/random.ts";

Deno.test("Deadlines: an unfinished item expires once, at its own time", () =>
  withSeed((random) => {
    const clock = new FakeClock();
    const expired = new Map<number, number>();
    const deadlines = new Deadlines<number>(clock, 100, (item) => {
      assert(!expired.has(item));
      expired.set(item, clock.now());
    });
    const addedAtMs = new Map<number, number>();
    const finished = new Set<number>();
    for (let item = 0; item < 2_000; item += 1) {
      deadlines.add(item, clock.now());
      addedAtMs.set(item, clock.now());
      assert(clock.pending <= 1, "One timer stands for all");
      if (random() < 0.7) clock.advance(Math.floor(random() * 40));
      const other = Math.max(0, item - Math.floor(random() * 4));
      if (random() < 0.5 && deadlines.finish(other)) {
        finished.add(other);
        assert(!deadlines.finish(other), "It is finished once");
      }
      const left = item + 1 - finished.size - expired.size;
      assert.equal(deadlines.size, left);
    }
    clock.advance(100);
    assert.deepEqual([deadlines.size, clock.pending], [0, 0]);
    for (const [item, atMs] of addedAtMs) {
      assert.equal(expired.get(item), finished.has(item) ? undefined : atMs + 100);
    }
    assert(finished.size > 300 && expired.size > 300, "Both were tried");
  }));

Deno.test("Deadlines: clear returns the unfinished items and cancels the timer", () => {
  const clock = new FakeClock();
  const deadlines = new Deadlines<string>(clock, 100, () => assert.fail("Nothing is late"));
  for (const item of ["a", "b", "c"]) deadlines.add(item, clock.now());
  deadlines.finish("b");
  assert.deepEqual(deadlines.clear(), ["a", "c"]);
  assert.deepEqual(deadlines.clear(), []);
  assert.equal(clock.pending, 0);
  clock.advance(200);
});
