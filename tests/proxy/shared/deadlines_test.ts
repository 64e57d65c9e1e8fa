import assert from "node:assert/strict";
import { type Deadline, Deadlines } from "../../../services/proxy/shared/deadlines.ts";
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
    const added: Deadline<number>[] = [];
    const finished = new Set<number>();
    for (let item = 0; item < 2_000; item += 1) {
      added.push(deadlines.add(item));
      addedAtMs.set(item, clock.now());
      assert(clock.pending <= 1, "One timer stands for all");
      if (random() < 0.7) clock.advance(Math.floor(random() * 40));
      const other = added[Math.max(0, item - Math.floor(random() * 4))] ?? assert.fail();
      if (random() < 0.5 && deadlines.finish(other)) {
        finished.add(other.item);
        assert(!deadlines.finish(other), "It is finished once");
      }
      const left = added.length - finished.size - expired.size;
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
  const [, b] = ["a", "b", "c"].map((item) => deadlines.add(item));
  deadlines.finish(b ?? assert.fail());
  assert.deepEqual(deadlines.clear(), ["a", "c"]);
  assert.deepEqual(deadlines.clear(), []);
  assert.equal(clock.pending, 0);
  clock.advance(200);
});
