import assert from "node:assert/strict";
import { RangemakerError } from "../../../lib/errors.ts";
import { Backoff } from "../../../lib/timing/backoff.ts";
import { PollingLoop, type PollingLoopOptions } from "../../../lib/timing/polling_loop.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { nextTurn } from "../../support/eventually.ts";

/** A loop whose passes the test ends one by one. */
function setUp(options: Partial<PollingLoopOptions> = {}) {
  const clock = new FakeClock();
  const events: string[] = [];
  const passes: (PromiseWithResolvers<void> & { signal: AbortSignal })[] = [];
  const loop = new PollingLoop({
    clock,
    intervalMs: 1_000,
    poll(signal) {
      const pass = { ...Promise.withResolvers<void>(), signal };
      passes.push(pass);
      return pass.promise;
    },
    onFailure: ({ message }) => events.push(`failure: ${message}`),
    onRecovery: () => events.push("recovery"),
    ...options,
  });
  const end = async (failure?: string, code = "TEST") => {
    const pass = passes.at(-1);
    if (failure === undefined) pass?.resolve();
    else pass?.reject(new RangemakerError(code, failure));
    await nextTurn();
  };
  return { clock, events, passes, loop, end };
}

Deno.test("PollingLoop: waits for the interval after each pass, so that passes never overlap", async () => {
  const { clock, passes, loop, end } = setUp();
  loop.start();
  clock.advance(60_000);
  assert.equal(passes.length, 1);
  await end();
  clock.advance(999);
  assert.equal(passes.length, 1);
  clock.advance(1);
  assert.equal(passes.length, 2);
  await end();
  await loop.stop();
  assert.equal(clock.pending, 0);
});

Deno.test("PollingLoop: continues after a recovery without onRecovery; stop rejects after an unexpected error", async () => {
  const { clock, passes, loop, end } = setUp({ onRecovery: undefined });
  loop.start();
  await end("away");
  clock.advance(1_000);
  await end();
  clock.advance(1_000);
  assert.equal(passes.length, 3);
  const stopped = loop.stop();
  passes.at(-1)?.reject(new TypeError("a bug"));
  await assert.rejects(stopped, TypeError);
});

Deno.test("PollingLoop: the first pass can be delayed", () => {
  const { clock, passes, loop } = setUp();
  loop.start(500);
  clock.advance(499);
  assert.equal(passes.length, 0);
  clock.advance(1);
  assert.equal(passes.length, 1);
});

Deno.test("PollingLoop: waits grow while passes fail, and a successful pass resets them", async () => {
  const backoff = new Backoff({ initialMs: 100, maxMs: 400, random: () => 1 });
  const { clock, passes, loop, end } = setUp({ backoff });
  loop.start();
  for (const waitMs of [100, 200, 400, 400]) {
    await end("away");
    const before = passes.length;
    clock.advance(waitMs - 1);
    assert.equal(passes.length, before);
    clock.advance(1);
    assert.equal(passes.length, before + 1);
  }
  await end();
  clock.advance(1_000);
  await end("away again");
  clock.advance(100);
  assert.equal(passes.length, 7);
});

Deno.test("PollingLoop: reports the start, a change of the cause and the end of an outage once each", async () => {
  const { clock, events, loop, end } = setUp();
  loop.start();
  const failures = [[], ["one"], ["two"], ["three", "OTHER"], [], [], ["four"]] as const;
  for (const failure of failures) {
    await end(...failure);
    clock.advance(1_000);
  }
  assert.deepEqual(events, ["failure: one", "failure: three", "recovery", "failure: four"]);
});

Deno.test("PollingLoop: start aborts the current pass, which then schedules nothing", async () => {
  const { clock, events, passes, loop, end } = setUp();
  loop.start();
  loop.start();
  assert.deepEqual(passes.map(({ signal }) => signal.aborted), [true, false]);
  passes[0]?.reject(new RangemakerError("TEST", "of an older run"));
  await nextTurn();
  assert.equal(clock.pending, 0);
  assert.deepEqual(events, []);
  await end();
  assert.equal(clock.pending, 1);
});

Deno.test("PollingLoop: a pass that was aborted ends no outage", async () => {
  const { clock, events, passes, loop, end } = setUp();
  loop.start();
  await end("away");
  clock.advance(1_000);
  loop.start();
  passes[1]?.resolve();
  await nextTurn();
  await end("still away");
  assert.deepEqual(events, ["failure: away"]);
});

Deno.test("PollingLoop: a stop waits for every pass in flight, aborted ones included", async () => {
  const { passes, loop } = setUp();
  loop.start();
  loop.start();
  let isStopped = false;
  const stopped = loop.stop().then(() => isStopped = true);
  passes[1]?.resolve();
  await nextTurn();
  assert.equal(isStopped, false);
  passes[0]?.resolve();
  await stopped;
});
