import assert from "node:assert/strict";
import { StoreError } from "../../../lib/intents/intent.ts";
import { WriteQueue, WRITES_WAITING_MAX } from "../../../lib/intents/write_queue.ts";

/** A queue that notes what happens, and whose flushes end when they are told to. */
function heldQueue() {
  const events: string[] = [];
  const flushes: PromiseWithResolvers<void>[] = [];
  const queue = new WriteQueue({
    commit(run) {
      run();
      events.push("commit");
    },
    flush() {
      const flush = Promise.withResolvers<void>();
      flushes.push(flush);
      began.resolve(flush);
      began = Promise.withResolvers();
      return flush.promise;
    },
  });
  let began = Promise.withResolvers<PromiseWithResolvers<void>>();
  const write = (name: string) =>
    queue.run(() => {
      events.push(`write ${name}`);
      return name;
    }).then((result) => events.push(`done ${result}`));
  /** Resolves when the next flush begins, with its end. */
  const nextFlush = () => began.promise;
  return { queue, events, write, nextFlush };
}

const flushed = () => Promise.resolve();

Deno.test("WriteQueue: the writes of one turn share a commit and a flush, and resolve after it", async () => {
  const { events, write, nextFlush } = heldQueue();
  const next = nextFlush();
  const writes = Promise.all(["1", "2", "3"].map(write));
  const flush = await next;
  events.push("flushed");
  flush.resolve();
  await writes;
  assert.deepEqual(events, [
    ...["write 1", "write 2", "write 3", "commit", "flushed"],
    ...["done 1", "done 2", "done 3"],
  ]);
});

Deno.test("WriteQueue: writes that arrive during a flush wait for it, and share the next commit", async () => {
  const { events, write, nextFlush } = heldQueue();
  const next = nextFlush();
  const first = write("1");
  const flush = await next;
  const afterwards = nextFlush();
  const later = Promise.all(["2", "3"].map(write));
  events.push("flushed");
  flush.resolve();
  await first;
  (await afterwards).resolve();
  await later;
  assert.deepEqual(events, [
    ...["write 1", "commit", "flushed", "done 1"],
    ...["write 2", "write 3", "commit", "done 2", "done 3"],
  ]);
});

Deno.test("WriteQueue: what is committed is flushed once its flush has ended", async () => {
  const { queue, events, write, nextFlush } = heldQueue();
  await queue.flushed();
  const next = nextFlush();
  const done = write("1");
  const flush = await next;
  const isFlushed = queue.flushed().then(() => events.push("read"));
  events.push("flushed");
  flush.resolve();
  await Promise.all([done, isFlushed]);
  assert.deepEqual(events.slice(0, 3), ["write 1", "commit", "flushed"]);
  assert.ok(events.includes("read"));
  await queue.flushed();
});

Deno.test("WriteQueue: a flush that fails fails every write in it, and who waits for it", async () => {
  const { queue, write, nextFlush } = heldQueue();
  const next = nextFlush();
  const writes = [write("1"), write("2")].map((one) => assert.rejects(one, /I\/O error/));
  const flush = await next;
  const waiting = assert.rejects(queue.flushed(), /I\/O error/);
  flush.reject(new StoreError("I/O error"));
  await Promise.all([...writes, waiting]);
});

Deno.test("WriteQueue: a commit that fails fails every write in it, and not the next", async () => {
  let full = true;
  const commit = (run: () => void) => {
    run();
    if (full) throw new Error("full");
  };
  const queue = new WriteQueue({ commit, flush: flushed });
  const results = await Promise.allSettled([queue.run(() => 1), queue.run(() => 2)]);
  assert.deepEqual(results.map(({ status }) => status), ["rejected", "rejected"]);
  full = false;
  assert.equal(await queue.run(() => 3), 3);
});

Deno.test("WriteQueue: more waiting writes than its bound are refused", async () => {
  const queue = new WriteQueue({ commit: (run) => run(), flush: flushed });
  const writes = Array.from({ length: WRITES_WAITING_MAX }, () => queue.run(() => {}));
  await assert.rejects(() => queue.run(() => {}), /Store is busy: 10000 writes are waiting/);
  await Promise.all(writes);
  await queue.run(() => {});
});

Deno.test("WriteQueue: is idle when nothing waits and all is flushed", async () => {
  const { queue, events, write, nextFlush } = heldQueue();
  await queue.idle();
  const next = nextFlush();
  const done = write("1");
  const idle = queue.idle().then(() => events.push("idle"));
  (await next).resolve();
  await Promise.all([done, idle]);
  assert.deepEqual(events, ["write 1", "commit", "done 1", "idle"]);
});
