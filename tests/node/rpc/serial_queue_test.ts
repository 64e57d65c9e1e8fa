import assert from "node:assert/strict";
import { rpcErrorBody } from "../../../services/node/rpc/dispatcher.ts";
import { NodeBusyError, SerialQueue } from "../../../services/node/rpc/serial_queue.ts";

/** As `docs/protocol.md` states it, under "Limits". */
const TASKS_WAITING_MAX = 4_096;

const BRIDGE = ["192.0.2.1"];

/** A queue whose turns the test runs, with tasks of this duration. */
function newQueue(taskMs = 1) {
  const turns: (() => void)[] = [];
  let nowMs = 0;
  const queue = new SerialQueue((task) => turns.push(task), () => nowMs += taskMs);
  const turn = () => turns.shift()?.();
  return { queue, turn, turns };
}

Deno.test("SerialQueue: runs several short tasks in a turn, until its time is used up", async () => {
  const { queue, turn, turns } = newQueue(0.25);
  const done: number[] = [];
  const tasks = Array.from({ length: 6 }, (_, number) => number);
  const results = tasks.map((number) => queue.run("write", BRIDGE, () => done.push(number)));
  turn();
  assert.deepEqual([done, turns.length], [[0, 1, 2, 3], 1]);
  turn();
  await Promise.all(results);
  assert.deepEqual([done, turns.length], [tasks, 0]);
});

Deno.test("SerialQueue: after each 16 ms of tasks, sockets are served, also between tasks that come one by one", async () => {
  let nowMs = 0;
  const turns: [task: () => void, isAfterInput: boolean][] = [];
  const queue = new SerialQueue((...turn) => turns.push(turn), () => nowMs += 4);
  const served: boolean[] = [];
  for (const _ of Array.from({ length: 10 })) {
    const result = queue.run("read", BRIDGE, () => {});
    const [task, isAfterInput] = turns.shift()!; // each task has a turn
    served.push(isAfterInput);
    task();
    await result;
  }
  assert.deepEqual(served, [0, 0, 0, 0, 1, 0, 0, 0, 1, 0].map(Boolean));
});

Deno.test("SerialQueue: while tasks wait, a request that arrives is answered before the last of them", async () => {
  await using server = Deno.serve({ port: 0, onListen() {} }, () => new Response("served"));
  const queue = new SerialQueue();
  let done = 0;
  const busyUntil = (endMs: number) => {
    while (performance.now() < endMs);
    done += 1;
  };
  const tasks = Array.from(
    { length: 200 },
    () => queue.run("read", BRIDGE, () => busyUntil(performance.now() + 2)),
  );
  const answer = await fetch(`http://127.0.0.1:${server.addr.port}`);
  assert.equal(await answer.text(), "served");
  assert(done < 100, `${done} tasks were first`);
  await Promise.all(tasks);
});

Deno.test("SerialQueue: runs no task while it is paused", async () => {
  const { queue, turn, turns } = newQueue();
  const done: string[] = [];
  const before = queue.run("write", BRIDGE, () => done.push("before"));
  const { promise, resolve } = Promise.withResolvers<void>();
  const closed = queue.pausedDuring(() => promise);
  const during = queue.run("write", BRIDGE, () => done.push("during"));
  turn();
  assert.deepEqual([done, turns.length], [[], 0]);
  resolve();
  await closed;
  turn();
  turn();
  await Promise.all([before, during]);
  assert.deepEqual(done, ["before", "during"]);
});

Deno.test("SerialQueue: continues after a failed pause", async () => {
  const { queue, turn } = newQueue();
  await assert.rejects(queue.pausedDuring(() => Promise.reject(new TypeError("pull"))));
  const passing = queue.run("write", BRIDGE, () => 1);
  turn();
  assert.equal(await passing, 1);
});

/** Fills a lane as far as the callers may. @returns How many tasks of each wait then. */
function fill(queue: SerialQueue, ...paths: string[][]): number[] {
  const waiting = paths.map(() => 0);
  for (let isRefused = false; !isRefused;) {
    const atStart = queue.waiting;
    for (const [caller, path] of paths.entries()) {
      const before = queue.waiting;
      void queue.run("write", path, () => {}).catch(() => {});
      if (queue.waiting > before) waiting[caller]! += 1; // the index is that of a path
    }
    isRefused = queue.waiting === atStart;
  }
  return waiting;
}

function proxied(address: string): string[] {
  return ["via 192.0.2.2", `${address} via 192.0.2.2`];
}

Deno.test("SerialQueue: each caller can fill half of the remaining places, so others still find some", () => {
  const { queue } = newQueue();
  assert.deepEqual(fill(queue, ["192.0.2.9"]), [TASKS_WAITING_MAX / 2]);
  assert.deepEqual(fill(queue, BRIDGE), [TASKS_WAITING_MAX / 4]);
  assert.deepEqual(fill(queue, ["192.0.2.3"]), [TASKS_WAITING_MAX / 8]);
  assert.deepEqual(fill(queue, ["192.0.2.9"], BRIDGE), [0, 0]);
});

Deno.test("SerialQueue: all callers of a proxy share half of the places, and each gets half of the rest", () => {
  const { queue } = newQueue();
  assert.deepEqual(fill(queue, proxied("198.51.100.1")), [TASKS_WAITING_MAX / 4]);
  const [victim = 0, ...forged] = fill(
    queue,
    proxied("198.51.100.2"),
    ...Array.from({ length: TASKS_WAITING_MAX }, (_, n) => proxied(`forged ${n}`)),
  );
  assert.equal(victim, 1, "it came before the forged ones took what there was");
  assert.equal(forged.reduce((sum, one) => sum + one, 0), TASKS_WAITING_MAX / 4 - 1);
  assert.deepEqual(
    fill(queue, BRIDGE),
    [TASKS_WAITING_MAX / 4],
    "a direct caller finds as much as ever",
  );
});

Deno.test("SerialQueue: callers take turns, also behind a proxy, and each keeps its order", async () => {
  const { queue, turn } = newQueue();
  const done: string[] = [];
  const callers = {
    a: proxied("198.51.100.1"),
    b: proxied("198.51.100.2"),
    bridge: BRIDGE,
    behindB: [...proxied("198.51.100.2"), "203.0.113.1"],
  };
  const results = Object.entries(callers).flatMap(([name, path]) =>
    [1, 2, 3].map((number) => queue.run("write", path, () => done.push(`${name}${number}`)))
  );
  for (let turns = 0; turns < results.length; turns++) turn();
  await Promise.all(results);
  const first = "a1 bridge1 b1 bridge2 a2 bridge3";
  assert.equal(done.join(" "), `${first} behindB1 a3 b2 behindB2 b3 behindB3`);
});

Deno.test("SerialQueue: a place is free again after its task has run or thrown", async () => {
  const { queue, turn } = newQueue();
  const run = (task: () => void) => queue.run("write", BRIDGE, task);
  const failing = run(() => {
    throw new TypeError("no");
  });
  const others = Array.from({ length: TASKS_WAITING_MAX / 2 - 1 }, () => run(() => {}));
  await assert.rejects(run(() => {}), (thrown) => {
    assert.ok(thrown instanceof NodeBusyError);
    return rpcErrorBody(thrown).code === -32005;
  });
  turn();
  await assert.rejects(failing, TypeError);
  const next = run(() => {});
  await assert.rejects(run(() => {}), NodeBusyError);
  for (let turns = 0; turns < TASKS_WAITING_MAX / 2; turns++) turn();
  await Promise.all([...others, next]);
  assert.equal(queue.waiting, 0);
});

Deno.test("SerialQueue: all callers together get no more than the total of places", () => {
  const { queue } = newQueue();
  fill(queue, ...Array.from({ length: TASKS_WAITING_MAX }, (_, n) => [`caller ${n}`]));
  assert.equal(queue.waiting, TASKS_WAITING_MAX);
});

Deno.test("SerialQueue: waiting reads do not take places of writes, and writes do not block reads", async () => {
  const { queue, turn } = newQueue();
  const done: string[] = [];
  const share = TASKS_WAITING_MAX / 2;
  const run = (lane: "read" | "write") => queue.run(lane, BRIDGE, () => done.push(lane[0]!));
  const reads = Array.from({ length: share }, () => run("read"));
  await assert.rejects(run("read"), NodeBusyError);
  const writes = Array.from({ length: 9 }, () => run("write"));
  for (let turns = 0; turns < 12; turns++) turn();
  assert.equal(done.join(""), "wwwrwwwrwwwr");
  for (let turns = 12; turns < share + 9; turns++) turn();
  await Promise.all([...reads, ...writes]);
  assert.equal(queue.waiting, 0);
});
