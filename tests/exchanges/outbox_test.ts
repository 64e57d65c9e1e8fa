import assert from "node:assert/strict";
import fc from "fast-check";
import { Outbox } from "../../services/exchanges/outbox.ts";
import { FakeClock } from "../support/fake_clock.ts";

function setUp(capacity = 100) {
  const clock = new FakeClock(0);
  const left: [text: string, atMs: number][] = [];
  const outbox = new Outbox({ clock, capacity, deliver: (text) => left.push([text, clock.now()]) });
  return { clock, left, outbox };
}

Deno.test("Outbox: a frame leaves when it is due, but never before an earlier one", () => {
  const { clock, left, outbox } = setUp();
  outbox.push("slow", 100);
  outbox.push("quick", 5);
  clock.advance(99);
  assert.deepEqual(left, []);
  clock.advance(1);
  assert.deepEqual(left, [["slow", 100], ["quick", 100]]);
  outbox.push("later", 5);
  clock.advance(5);
  assert.deepEqual(left.at(-1), ["later", 105]);
});

Deno.test("Outbox: refuses what does not fit, forgets what waits when cleared", () => {
  const { clock, left, outbox } = setUp(2);
  assert(outbox.push("a", 10));
  assert(outbox.push("b", 10));
  assert(!outbox.push("c", 10));
  outbox.clear();
  clock.advance(100);
  assert.deepEqual(left, []);
  assert.equal(clock.pending, 0);
});

Deno.test("Outbox: every frame leaves once, in order, at the first moment it may", () => {
  const frames = fc.array(fc.record({ gapMs: fc.nat(20), lateMs: fc.nat(50) }), { maxLength: 50 });
  fc.assert(fc.property(frames, (frames) => {
    const { clock, left, outbox } = setUp();
    let latestMs = 0;
    const expected = frames.map(({ gapMs, lateMs }, index) => {
      clock.advance(gapMs);
      outbox.push(String(index), lateMs);
      latestMs = Math.max(latestMs, clock.now() + lateMs);
      return [String(index), latestMs];
    });
    clock.advance(1_000);
    assert.deepEqual(left, expected);
  }));
});
