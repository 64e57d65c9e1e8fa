import assert from "node:assert/strict";
import { rpcErrorBody } from "../../../services/node/rpc/errors.ts";
import {
  NodeBusyError,
  SerialQueue,
  WAITING_MAX,
} from "../../../services/node/rpc/serial_queue.ts";

/** A queue whose turns a test makes. */
function newQueue() {
  const turns: (() => void)[] = [];
  const queue = new SerialQueue((task) => turns.push(task));
  const turn = () => turns.shift()?.();
  return { queue, turn, turns };
}

Deno.test("SerialQueue: one task a turn, in the order in which they came", async () => {
  const { queue, turn, turns } = newQueue();
  const done: number[] = [];
  const results = [1, 2, 3].map((number) => queue.run("write", () => done.push(number)));
  for (const expected of [[], [1], [1, 2], [1, 2, 3]]) {
    assert.deepEqual(done, expected);
    assert.ok(turns.length <= 1);
    turn();
  }
  assert.deepEqual(await Promise.all(results), [1, 2, 3]);
  assert.deepEqual([queue.waiting, turns.length], [0, 0]);
});

Deno.test("SerialQueue: what a task throws is thrown, and the next one passes", async () => {
  const { queue, turn } = newQueue();
  const failing = queue.run("write", () => {
    throw new TypeError("no");
  });
  const passing = queue.run("write", () => "yes");
  turn();
  turn();
  await assert.rejects(failing, TypeError);
  assert.equal(await passing, "yes");
});

Deno.test("SerialQueue: nothing passes while it is closed", async () => {
  const { queue, turn, turns } = newQueue();
  const done: string[] = [];
  const before = queue.run("write", () => done.push("before"));
  const { promise, resolve } = Promise.withResolvers<void>();
  const closed = queue.closedDuring(() => promise);
  const during = queue.run("write", () => done.push("during"));
  turn();
  assert.deepEqual([done, turns.length], [[], 0]);
  resolve();
  await closed;
  turn();
  turn();
  await Promise.all([before, during]);
  assert.deepEqual(done, ["before", "during"]);
});

Deno.test("SerialQueue: opens again after what it was closed for failed", async () => {
  const { queue, turn } = newQueue();
  await assert.rejects(queue.closedDuring(() => Promise.reject(new TypeError("pull"))));
  const passing = queue.run("write", () => 1);
  turn();
  assert.equal(await passing, 1);
});

Deno.test("SerialQueue: refuses more than may wait", async () => {
  const { queue, turn } = newQueue();
  const waiting = Array.from({ length: WAITING_MAX }, () => queue.run("write", () => 1));
  await assert.rejects(queue.run("write", () => 1), (thrown) => {
    assert.ok(thrown instanceof NodeBusyError);
    return rpcErrorBody(thrown).code === -32005;
  });
  for (let turns = 0; turns < WAITING_MAX; turns++) turn();
  await Promise.all(waiting);
  assert.equal(queue.waiting, 0);
});

Deno.test("SerialQueue: reads do not displace writes, and writes do not stop reads", async () => {
  const { queue, turn } = newQueue();
  const done: string[] = [];
  const reads = Array.from({ length: WAITING_MAX }, () => queue.run("read", () => done.push("r")));
  await assert.rejects(queue.run("read", () => 1), NodeBusyError);
  const writes = Array.from({ length: 9 }, () => queue.run("write", () => done.push("w")));
  for (let turns = 0; turns < 12; turns++) turn();
  assert.equal(done.join(""), "wwwrwwwrwwwr");
  for (let turns = 12; turns < WAITING_MAX + 9; turns++) turn();
  await Promise.all([...reads, ...writes]);
  assert.equal(queue.waiting, 0);
});
