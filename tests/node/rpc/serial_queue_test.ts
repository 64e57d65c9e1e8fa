import assert from "node:assert/strict";
import { RpcError } from "../../../lib/protocol/jsonrpc.ts";
import { SerialQueue, WAITING_MAX } from "../../../services/node/rpc/serial_queue.ts";

/** A turnstile whose turns a test makes. */
function newTurnstile() {
  const turns: (() => void)[] = [];
  const turnstile = new SerialQueue((task) => turns.push(task));
  const turn = () => turns.shift()?.();
  return { turnstile, turn, turns };
}

Deno.test("SerialQueue: one task a turn, in the order in which they came", async () => {
  const { turnstile, turn, turns } = newTurnstile();
  const done: number[] = [];
  const results = [1, 2, 3].map((number) => turnstile.run(() => done.push(number)));
  for (const expected of [[], [1], [1, 2], [1, 2, 3]]) {
    assert.deepEqual(done, expected);
    assert.ok(turns.length <= 1);
    turn();
  }
  assert.deepEqual(await Promise.all(results), [1, 2, 3]);
  assert.deepEqual([turnstile.waiting, turns.length], [0, 0]);
});

Deno.test("SerialQueue: what a task throws is thrown, and the next one passes", async () => {
  const { turnstile, turn } = newTurnstile();
  const failing = turnstile.run(() => {
    throw new TypeError("no");
  });
  const passing = turnstile.run(() => "yes");
  turn();
  turn();
  await assert.rejects(failing, TypeError);
  assert.equal(await passing, "yes");
});

Deno.test("SerialQueue: nothing passes while it is closed", async () => {
  const { turnstile, turn, turns } = newTurnstile();
  const done: string[] = [];
  const before = turnstile.run(() => done.push("before"));
  const { promise, resolve } = Promise.withResolvers<void>();
  const closed = turnstile.closedDuring(() => promise);
  const during = turnstile.run(() => done.push("during"));
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
  const { turnstile, turn } = newTurnstile();
  await assert.rejects(turnstile.closedDuring(() => Promise.reject(new TypeError("pull"))));
  const passing = turnstile.run(() => 1);
  turn();
  assert.equal(await passing, 1);
});

Deno.test("SerialQueue: refuses more than may wait", async () => {
  const { turnstile, turn } = newTurnstile();
  const waiting = Array.from({ length: WAITING_MAX }, () => turnstile.run(() => 1));
  await assert.rejects(turnstile.run(() => 1), (thrown) => {
    assert.ok(thrown instanceof RpcError);
    return thrown.rpcCode === -32005;
  });
  for (let turns = 0; turns < WAITING_MAX; turns++) turn();
  await Promise.all(waiting);
  assert.equal(turnstile.waiting, 0);
});
