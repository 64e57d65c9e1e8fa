import assert from "node:assert/strict";
import { createCachedCall } from "../../../lib/timing/cached.ts";
import { FakeClock } from "../../support/fake_clock.ts";

/** A question that is counted, and answered with how often it was asked. */
function setUp(answer: (asked: number) => Promise<number> = (asked) => Promise.resolve(asked)) {
  const clock = new FakeClock();
  const asked = { times: 0 };
  const ask = createCachedCall(() => answer(asked.times += 1), 1_000, clock);
  return { clock, asked, ask };
}

Deno.test("createCachedCall: many callers share one request per second", async () => {
  const { clock, asked, ask } = setUp();
  for (let ms = 0; ms < 10_000; ms += 10) {
    const answers = await Promise.all([ask(), ask(), ask()]);
    assert.deepEqual(new Set(answers), new Set([1 + Math.floor(ms / 1_000)]));
    clock.advance(10);
  }
  assert.equal(asked.times, 10);
});

Deno.test("createCachedCall: callers share a pending request, however long it takes", async () => {
  const slow = Promise.withResolvers<number>();
  const { clock, asked, ask } = setUp(() => slow.promise);
  const first = ask();
  clock.advance(4_000);
  const second = ask();
  slow.resolve(7);
  assert.deepEqual(await Promise.all([first, second]), [7, 7]);
  assert.equal(asked.times, 1);
  await ask();
  assert.equal(asked.times, 2, "its answer is as old as the question");
});

Deno.test("createCachedCall: a failure is cached too, for the same time", async () => {
  const { clock, ask } = setUp((asked) =>
    asked === 1 ? Promise.reject(new Error("Away")) : Promise.resolve(asked)
  );
  await assert.rejects(ask(), /Away/);
  clock.advance(999);
  await assert.rejects(ask(), /Away/);
  clock.advance(1);
  assert.equal(await ask(), 2);
});

Deno.test("createCachedCall: a result expires when the clock is set back", async () => {
  const { clock, asked, ask } = setUp();
  await ask();
  clock.jump(-3_600_000);
  await ask();
  assert.equal(asked.times, 2);
});
