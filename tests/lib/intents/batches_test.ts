import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { Batches, ITEMS_WAITING_MAX } from "../../../lib/intents/batches.ts";

/** Batches that record what they run. */
function recorded(sizeMax: number, concurrency?: number) {
  const runs: number[][] = [];
  const batches = new Batches<number, number>(sizeMax, async (take) => {
    await setImmediate();
    const items = take();
    runs.push(items);
    if (items.includes(13)) throw new Error("unlucky");
    await setImmediate();
    return items.map((item) => item * 2);
  }, concurrency);
  return { batches, runs };
}

Deno.test("Batches: waiting items share batches of bounded size, and each gets its own result", async () => {
  const { batches, runs } = recorded(2);
  assert.deepEqual(await Promise.all([1, 2, 3].map((item) => batches.add(item))), [2, 4, 6]);
  assert.deepEqual(runs, [[1, 2], [3]]);
});

Deno.test("Batches: concurrency is bounded by the limit", async () => {
  const { batches, runs } = recorded(2, 2);
  const results = await Promise.all([1, 2, 3, 4, 5].map((item) => batches.add(item)));
  assert.deepEqual(results, [2, 4, 6, 8, 10]);
  assert.deepEqual(runs.filter((run) => run.length > 0).slice(0, 2), [[1, 2], [3, 4]]);
});

Deno.test("Batches: a failed batch rejects all of its items, and the next batch runs", async () => {
  const { batches } = recorded(9);
  const results = await Promise.allSettled([batches.add(1), batches.add(13)]);
  assert.deepEqual(results.map(({ status }) => status), ["rejected", "rejected"]);
  assert.equal(await batches.add(3), 6);
});

Deno.test("Batches: items beyond the queue bound are refused", async () => {
  const { batches } = recorded(ITEMS_WAITING_MAX);
  const items = Array.from({ length: ITEMS_WAITING_MAX }, (_, index) => batches.add(index + 20));
  await assert.rejects(batches.add(1), /Store is busy: 10000 requests are waiting/);
  await Promise.all(items);
  assert.equal(await batches.add(1), 2);
});
