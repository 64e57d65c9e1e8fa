import assert from "node:assert/strict";
import { monotonicClock } from "../../../lib/clock.ts";
import { Turns } from "../../../lib/timing/turns.ts";

/** Turns that the test begins, and tasks that take as long as it says. */
function scene() {
  const due: (() => void)[] = [];
  const started: string[] = [];
  let nowMs = 0;
  const turns = new Turns({
    now: () => nowMs,
    after(_delayMs, task) {
      due.push(task);
      return () => {};
    },
  });
  const run = (name: string, tookMs: number, caller = "a") =>
    turns.run([caller], () => {
      started.push(name);
      nowMs += tookMs;
    });
  return { run, started, due, turns };
}

Deno.test("Turns: tasks run at once for 4 ms, then in turns of 4 ms", () => {
  const { run, started, due } = scene();
  for (let n = 0; n < 10; n += 1) run(`${n}`, 1);
  assert.deepEqual(started.splice(0), ["0", "1", "2", "3"]);
  assert.equal(due.length, 1);
  due.shift()?.();
  assert.deepEqual(started.splice(0), ["4", "5", "6", "7"]);
  due.shift()?.();
  assert.deepEqual(started.splice(0), ["8", "9"]);
  run("next", 1);
  assert.deepEqual(started, ["next"], "nothing waits, and the turn has time");
});

Deno.test("Turns: a task may count more than the time that it takes itself", () => {
  for (const [leastMs, inTurn] of [[1, 4], [Infinity, 1]] as const) {
    const { turns, due } = scene();
    let done = 0;
    for (let n = 0; n < 10; n += 1) turns.run(["a"], () => done += 1, leastMs);
    assert.equal(done, inTurn);
    due.shift()?.();
    assert.equal(done, 2 * inTurn);
  }
});

Deno.test("Turns: of those that wait callers take turns, and the tasks of one keep their order", () => {
  const { run, started, due } = scene();
  run("first", 10);
  for (const name of ["a0", "a1", "a2"]) run(name, 0);
  for (const name of ["b0", "b1"]) run(name, 0, "b");
  due.shift()?.();
  assert.deepEqual(started, ["first", "a0", "b0", "a1", "b1", "a2"]);
});

Deno.test("Turns: results and errors are passed on, and a task that fails holds up no other", async () => {
  const { turns, due } = scene();
  const fails = () => {
    throw new TypeError("not readable");
  };
  const failed = turns.run(["a"], fails);
  await assert.rejects(failed, TypeError);
  assert.equal(await turns.run(["a"], () => Promise.resolve(1)), 1);
  assert.equal(due.length, 0, "they took no time");
});

Deno.test("Turns: sockets are served while many tasks wait", async () => {
  const turns = new Turns(monotonicClock);
  let done = 0;
  await using server = Deno.serve({ port: 0, onListen() {} }, () => new Response(`${done}`));
  const tasks = Array.from({ length: 100 }, () =>
    turns.run(["a"], () => {
      for (const endMs = performance.now() + 3; performance.now() < endMs;);
      done += 1;
    }));
  const answer = await fetch(`http://127.0.0.1:${server.addr.port}`);
  const doneBefore = Number(await answer.text());
  assert(doneBefore < 50, `${doneBefore} of 100 were done before`);
  await Promise.all(tasks);
});
