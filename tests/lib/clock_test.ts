import assert from "node:assert/strict";
import { Timers, waitMs } from "../../lib/clock.ts";
import { FakeClock } from "../support/fake_clock.ts";

Deno.test("Timers: each fires once unless cleared", () => {
  const clock = new FakeClock();
  const timers = new Timers(clock);
  const fired: string[] = [];
  timers.after(10, () => fired.push("first"));
  timers.after(20, () => {
    fired.push("second");
    timers.after(5, () => fired.push("third"));
  });
  timers.after(100, () => fired.push("never"));
  clock.advance(30);
  assert.deepEqual(fired, ["first", "second", "third"]);
  timers.clear();
  timers.clear();
  clock.advance(1_000);
  assert.equal(fired.length, 3);
  assert.equal(clock.pending, 0);
  timers.after(1, () => fired.push("again"));
  clock.advance(1);
  assert.equal(fired.at(-1), "again");
});

Deno.test("waitMs: ends after the time or on abort, at once if already aborted", async () => {
  const clock = new FakeClock();
  const control = new AbortController();
  const waits = [waitMs(clock, 10), waitMs(clock, 1_000, control.signal)];
  clock.advance(10);
  control.abort();
  await Promise.all(waits);
  await waitMs(clock, 1_000, control.signal);
  assert.equal(clock.pending, 0);
});
