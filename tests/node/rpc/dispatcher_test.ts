import assert from "node:assert/strict";
import { RangemakerError } from "../../../lib/errors.ts";
import { RpcCode } from "../../../lib/protocol/jsonrpc.ts";
import { Dispatcher, rpcErrorBody } from "../../../services/node/rpc/dispatcher.ts";
import type { CallableMethod } from "../../../services/node/rpc/method.ts";
import { SerialQueue } from "../../../services/node/rpc/serial_queue.ts";
import { StorageError } from "../../../services/node/store/database.ts";
import { nextTurn } from "../../support/eventually.ts";
import { withLogs } from "../../support/recorded_logs.ts";

/** Bounds that `docs/protocol.md` states, under "Limits". */
const CALLS_PER_BATCH_MAX = 100;
const BATCH_ANSWER_CHARS_MAX = 768 * 1024;
const TASKS_WAITING_MAX = 4_096;

const groups = () => ["192.0.2.1"];

/** A dispatcher whose queue runs a turn only when the test asks for it. */
function setUp(methods: Record<string, CallableMethod>) {
  const scheduled: (() => void)[] = [];
  const queue = new SerialQueue((task) => scheduled.push(task));
  const dispatcher = new Dispatcher({
    methods: new Map(Object.entries(methods)),
    onCallEnded: () => {},
    queue,
    beforeAnswer: () => Promise.resolve(),
  });
  const batchOf = (method: string, calls: number) =>
    JSON.stringify(Array.from({ length: calls }, (_, id) => ({ jsonrpc: "2.0", id, method })));
  const handle = (text: string) => dispatcher.handle(text, { isReadOnly: false, groups });
  const runAll = async () => {
    await nextTurn();
    for (let turn = scheduled.shift(); turn !== undefined; turn = scheduled.shift()) {
      turn();
      await nextTurn();
    }
  };
  return { handle, queue, scheduled, batchOf, runAll };
}

Deno.test("Dispatcher: if the node is busy, a whole batch is refused after one turn", async () => {
  let calls = 0;
  const { handle, queue, scheduled, batchOf } = setUp({ cheap: { call: () => calls++ } });
  for (let task = 0; task < TASKS_WAITING_MAX / 2; task++) {
    void queue.run("read", groups(), () => {});
  }
  let isDone = false;
  const answer = handle(batchOf("cheap", CALLS_PER_BATCH_MAX)).finally(() => isDone = true);
  await nextTurn();
  assert.equal(isDone, false);
  for (const turn of scheduled.splice(0)) turn();
  const answers: { error: { data: { code: string } } }[] = JSON.parse((await answer).text ?? "");
  assert.deepEqual(
    answers.map(({ error }) => error.data.code),
    Array(CALLS_PER_BATCH_MAX).fill("NODE_BUSY"),
  );
  assert.equal(calls, 0);
});

Deno.test("Dispatcher: in a batch that is refused, a call without an id gets no answer", async () => {
  const { handle, queue, runAll } = setUp({ cheap: { call: () => 1 } });
  for (let task = 0; task < TASKS_WAITING_MAX / 2; task++) {
    void queue.run("read", groups(), () => {});
  }
  const call = { jsonrpc: "2.0", method: "cheap" };
  const answer = handle(JSON.stringify([{ ...call, id: 1 }, call, { ...call, id: 2 }]));
  await runAll();
  const answers: { id: number }[] = JSON.parse((await answer).text ?? "");
  assert.deepEqual(answers.map(({ id }) => id), [1, 2]);
});

/** Items of a batch, which has as many as a batch may have. */
const ITEMS: Record<string, unknown> = {
  "cheap call": { jsonrpc: "2.0", id: 1, method: "cheap" },
  "call of an unknown method": { jsonrpc: "2.0", id: 1, method: "foo" },
  "item that is no call": 5,
};

for (const [name, item] of Object.entries(ITEMS)) {
  Deno.test(`Dispatcher: in a batch, each ${name} waits for a turn of its own`, async () => {
    let calls = 0;
    const { handle, scheduled } = setUp({ cheap: { call: () => calls += 1 } });
    const batch = JSON.stringify(Array(CALLS_PER_BATCH_MAX).fill(item));
    let isDone = false;
    const answer = handle(batch).finally(() => isDone = true);
    for (let turn = 0; turn < CALLS_PER_BATCH_MAX; turn++) {
      await nextTurn();
      assert.deepEqual([scheduled.length, isDone], [1, false], `turn ${turn}`);
      assert.ok(calls <= turn);
      scheduled.shift()!();
    }
    assert.equal(JSON.parse((await answer).text!).length, CALLS_PER_BATCH_MAX);
  });
}

Deno.test("Dispatcher: waiting reads do not delay a write", async () => {
  const done: string[] = [];
  const { handle, batchOf, runAll } = setUp({
    read: { isCostly: true, call: () => done.push("read") },
    write: { isCostly: true, access: "write", call: () => done.push("write") },
  });
  const answers = ["read", "read", "read", "write"].map((method) => handle(batchOf(method, 1)));
  await runAll();
  await Promise.all(answers);
  assert.deepEqual(done, ["write", "read", "read", "read"]);
});

Deno.test("Dispatcher: a batch stops once its answers are too long", async () => {
  let calls = 0;
  const page = "x".repeat(300_000);
  const pageChars = page.length + 2;
  const { handle, batchOf, runAll } = setUp({
    history: {
      isCostly: true,
      call() {
        calls += 1;
        return page;
      },
    },
  });
  const answer = handle(batchOf("history", CALLS_PER_BATCH_MAX));
  await runAll();
  const { text = "" } = await answer;
  const expected = Math.ceil(BATCH_ANSWER_CHARS_MAX / pageChars);
  assert.equal(calls, expected);
  assert(text.length < BATCH_ANSWER_CHARS_MAX + pageChars + 20_000, `${text.length} characters`);
  const answers: { id: number; error?: { code: number } }[] = JSON.parse(text);
  assert.equal(answers.length, CALLS_PER_BATCH_MAX);
  assert.deepEqual(
    answers.map(({ id, error }) => [id, error?.code]),
    answers.map((_, id) => [id, id < expected ? undefined : -32005]),
  );
});

Deno.test("rpcErrorBody: other errors hide their message, and are logged unless they come from the storage", () =>
  withLogs("info", (records) => {
    const storage = rpcErrorBody(new StorageError("Database /secret cannot be written"));
    assert.deepEqual([storage.code, storage.data], [
      RpcCode.resourceUnavailable,
      { code: "STORAGE" },
    ]);
    assert.equal(records.length, 0);
    const unknown = [new TypeError("/secret"), new RangemakerError("OTHER", "/secret"), "/secret"];
    for (const thrown of unknown) {
      const { message: _, ...rest } = rpcErrorBody(thrown);
      assert.deepEqual(rest, { code: RpcCode.internalError });
    }
    assert.deepEqual(records.map(({ level }) => level), ["error", "error", "error"]);
    const messages = [storage, ...unknown.map(rpcErrorBody)].map(({ message }) => message);
    assert.doesNotMatch(messages.join(), /secret/);
  }));
