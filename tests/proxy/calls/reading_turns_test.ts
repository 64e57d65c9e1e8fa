import assert from "node:assert/strict";
import { ReadingTurns } from "../../../services/proxy/calls/reading_turns.ts";

/** Uses the processor for a time. */
function work(ms: number): void {
  for (const endMs = performance.now() + ms; performance.now() < endMs;);
}

Deno.test("ReadingTurns: others are served while many short texts that take long are read", async () => {
  const turns = new ReadingTurns();
  let read = 0;
  await using server = Deno.serve({ port: 0, onListen() {} }, () => new Response(`${read}`));
  const texts = Array.from({ length: 100 }, () =>
    turns.run("a", 2_000, () => {
      work(3);
      read += 1;
    }));
  const answer = await fetch(`http://127.0.0.1:${server.addr.port}`);
  const readBefore = Number(await answer.text());
  assert(readBefore < 50, `${readBefore} of 100 were read before`);
  await Promise.all(texts);
});

Deno.test("ReadingTurns: reads at once while a turn has time, then callers take turns", async () => {
  const turns = new ReadingTurns(1);
  const order: string[] = [];
  const run = (caller: string, bytes = 100) =>
    turns.run(caller, bytes, () => {
      order.push(caller);
      work(1);
    });
  const runs = [run("a"), run("a"), run("a"), run("b")];
  assert.deepEqual(order, ["a"]);
  await Promise.all(runs);
  assert.deepEqual(order, ["a", "a", "b", "a"]);
});

Deno.test("ReadingTurns: a long text has a turn of its own, and errors are passed on", async () => {
  const turns = new ReadingTurns(60_000);
  let read = 0;
  const runs = [1, 2].map(() => turns.run("a", 40_000, () => read += 1));
  assert.equal(read, 1);
  const failed = turns.run("a", 1, () => {
    throw new TypeError("not readable");
  });
  assert.deepEqual(await Promise.all(runs), [1, 2]);
  await assert.rejects(failed, TypeError);
});
