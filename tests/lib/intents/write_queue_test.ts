import assert from "node:assert/strict";
import { WriteQueue, WRITES_WAITING_MAX } from "../../../lib/intents/write_queue.ts";

Deno.test("WriteQueue: the writes of one turn share a commit and resolve after it", async () => {
  const events: string[] = [];
  const queue = new WriteQueue((run) => {
    run();
    events.push("commit");
  });
  const writes = [1, 2, 3].map((value) =>
    queue.run(() => {
      events.push(`write ${value}`);
      return value;
    }).then((result) => events.push(`done ${result}`))
  );
  await Promise.all(writes);
  assert.deepEqual(events, [
    ...["write 1", "write 2", "write 3", "commit"],
    ...["done 1", "done 2", "done 3"],
  ]);
});

Deno.test("WriteQueue: a commit that fails fails every write in it, and not the next", async () => {
  let full = true;
  const queue = new WriteQueue((run) => {
    run();
    if (full) throw new Error("full");
  });
  const results = await Promise.allSettled([queue.run(() => 1), queue.run(() => 2)]);
  assert.deepEqual(results.map(({ status }) => status), ["rejected", "rejected"]);
  full = false;
  assert.equal(await queue.run(() => 3), 3);
});

Deno.test("WriteQueue: more waiting writes than its bound are refused", async () => {
  const queue = new WriteQueue((run) => run());
  const writes = Array.from({ length: WRITES_WAITING_MAX }, () => queue.run(() => {}));
  await assert.rejects(() => queue.run(() => {}), /Store is busy: 10000 writes are waiting/);
  await Promise.all(writes);
  await queue.run(() => {});
});

Deno.test("WriteQueue: flush commits what waits at once", async () => {
  let commits = 0;
  const queue = new WriteQueue((run) => {
    run();
    commits += 1;
  });
  const write = queue.run(() => {});
  queue.flush();
  queue.flush();
  assert.equal(commits, 1);
  await write;
});
