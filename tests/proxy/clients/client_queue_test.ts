import assert from "node:assert/strict";
import { ByteBudget, CallerBytes } from "../../../services/proxy/shared/limits.ts";
import {
  ANSWER_BYTES,
  ClientBuffers,
  ClientQueue,
  GUARANTEED_BYTES,
} from "../../../services/proxy/clients/client_queue.ts";
import { OutgoingMessage } from "../../../services/proxy/hub/notifications.ts";
import { ReplyBody } from "../../../services/proxy/node/reply_body.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { address } from "../hub/hub_scene.ts";
import { FakeClientSocket } from "./fake_client_socket.ts";

const MIB = 1024 * 1024;
const MAX = 16 * MIB;

function scene() {
  const budget = new ByteBudget(MAX);
  const clock = new FakeClock();
  let refusals = 0;
  const buffers = new ClientBuffers(budget, clock, () => refusals += 1);
  return { budget, clock, buffers, refusals: () => refusals };
}

/** A client that reads nothing, unless the test sets its unsent bytes. */
class Client {
  readonly socket: FakeClientSocket;
  readonly queue: ClientQueue;

  constructor(buffers: ClientBuffers, key: string, canTerminate: boolean) {
    this.socket = new FakeClientSocket(canTerminate);
    this.queue = new ClientQueue(this.socket, buffers, key);
  }

  /** Queues an answer. @returns False if it was refused. */
  answer(bytes: number): boolean {
    if (!this.queue.tryAdmitAnswer(bytes)) return false;
    this.notify(bytes);
    return true;
  }

  notify(bytes: number): void {
    this.queue.send([], bytes);
    this.socket.bufferedBytes += bytes;
  }

  overflowBytes(): number {
    return this.queue.overflowBytes();
  }
}

Deno.test("ClientBuffers: over the limit the connection with the most unsent bytes is terminated first", () => {
  const { budget, buffers, refusals } = scene();
  const clients = [2, 6, 4].map((mib, n) => {
    const client = new Client(buffers, `${n}`, true);
    assert(client.answer(mib * MIB));
    return client;
  });
  const next = new Client(buffers, "next", true);
  assert(next.answer(3 * MIB));
  assert.deepEqual(clients.map(({ socket }) => socket.isTerminated), [false, true, false]);
  assert.deepEqual([budget.used, refusals()], [9 * MIB, 1]);
  assert(!next.answer(7 * MIB), "it would hold the most itself");
  assert.deepEqual(clients.map(({ socket }) => socket.isTerminated), [false, true, false]);
});

Deno.test("ClientBuffers: if no connection can be terminated, large answers are refused, small ones still pass", () => {
  const { budget, buffers } = scene();
  const deaf = Array.from({ length: 3 }, (_, n) => new Client(buffers, `${n}`, false));
  assert.deepEqual(deaf.map((client) => client.answer(4 * MIB)), [true, true, true]);
  const honest = new Client(buffers, "honest", false);
  assert(!honest.answer(MIB));
  for (let n = 0; n < 64; n += 1) assert(honest.answer(1_000));
  assert(budget.used <= MAX);
  assert(deaf.every(({ socket }) => !socket.isTerminated));
});

Deno.test("ClientBuffers: one address can use half of the budget for large answers", () => {
  const { buffers } = scene();
  const clients = Array.from({ length: 5 }, () => new Client(buffers, "one", true));
  const admitted = clients.map((client) => client.answer(2 * MIB));
  assert.deepEqual(admitted, [true, true, true, true, false]);
  assert(new Client(buffers, "other", true).answer(2 * MIB));
  assert(!new Client(buffers, "one", true).answer(64 * 1024 + 1));
  assert(new Client(buffers, "one", true).answer(GUARANTEED_BYTES), "short ones always pass");
});

Deno.test("ClientBuffers: short answers that one address does not read leave room for large ones of others", () => {
  const { budget, buffers } = scene();
  const deaf = Array.from({ length: 3 }, () => new Client(buffers, "one", false));
  for (const client of deaf) while (client.answer(1_000)) assert(budget.used <= MAX);
  assert(budget.used <= MAX / 2 + deaf.length * GUARANTEED_BYTES);
  assert(new Client(buffers, "other", false).answer(2 * MIB));
  for (const { queue } of deaf) buffers.remove(queue);
  assert(new Client(buffers, "one", false).answer(2 * MIB), "its share is free again");
});

Deno.test("ClientBuffers: bytes are free again after they were sent, or after the connection ended", () => {
  const { budget, clock, buffers } = scene();
  const reader = new Client(buffers, "a", false);
  for (let n = 0; n < 100; n += 1) {
    clock.advance(50);
    assert(reader.answer(6 * MIB));
    reader.socket.bufferedBytes = 0;
  }
  const deaf = new Client(buffers, "b", false);
  clock.advance(50);
  assert(deaf.answer(6 * MIB));
  buffers.remove(deaf.queue);
  buffers.remove(reader.queue);
  buffers.remove(deaf.queue);
  assert.equal(budget.used, 0);
});

Deno.test("ClientBuffers: notifications may use half of the budget", () => {
  const { buffers } = scene();
  const deaf = Array.from({ length: 4 }, (_, n) => new Client(buffers, `${n}`, false));
  for (const client of deaf) {
    while (buffers.writableBytes(MIB) >= MIB) client.notify(MIB);
  }
  assert.equal(deaf[0]?.socket.bufferedBytes, MAX / 2);
  const honest = new Client(buffers, "honest", false);
  assert(honest.answer(4 * MIB));
});

Deno.test("ClientBuffers: short answers pass when the budget is full", () => {
  const { budget, buffers, refusals } = scene();
  new Client(buffers, "deaf", false).notify(MAX);
  const honest = new Client(buffers, "honest", false);
  assert(honest.answer(GUARANTEED_BYTES));
  assert(!honest.answer(1));
  assert.deepEqual([budget.used, refusals()], [MAX + GUARANTEED_BYTES, 1]);
});

Deno.test("ClientBuffers: overflow ends when a client has as many unsent bytes as are free for others", () => {
  const { buffers } = scene();
  const free = [1, 2, 3].map((n) => {
    const client = new Client(buffers, `${n}`, true);
    client.notify(client.overflowBytes() / 2);
    assert.equal(client.overflowBytes(), 0);
    return client.socket.bufferedBytes / MIB;
  });
  assert.deepEqual(free, [4, 2, 1], "of 8 MiB for notifications");
});

Deno.test("ClientBuffers: a client that read nothing for a second has no overflow until it reads again", () => {
  const { clock, buffers } = scene();
  const client = new Client(buffers, "a", true);
  clock.advance(60_000); // nothing to read is no reason
  client.notify(1_000);
  assert(client.overflowBytes() > 0);
  clock.advance(999);
  client.notify(1_000);
  assert(client.overflowBytes() > 0);
  clock.advance(1);
  assert.equal(client.overflowBytes(), 0);
  client.socket.bufferedBytes -= 1;
  assert(client.overflowBytes() > 0);
  clock.advance(1_000);
  assert.equal(client.overflowBytes(), 0);
  client.socket.bufferedBytes = 0;
  clock.advance(60_000);
  client.notify(1_000);
  assert(client.overflowBytes() > 0);
});

Deno.test("ClientBuffers: the bytes of a removed connection do not count, even if it is looked at again", () => {
  const { budget, clock, buffers } = scene();
  const ended = new Client(buffers, "a", true);
  ended.notify(2 * MIB);
  buffers.remove(ended.queue);
  clock.advance(10);
  ended.socket.bufferedBytes = 7;
  ended.overflowBytes();
  assert.deepEqual([ended.queue.unsentUpperBound, budget.used], [7, 0]);
});

Deno.test("ClientBuffers: unsent bytes are read again when needed, at most every 10 ms", () => {
  const { clock, buffers } = scene();
  const client = new Client(buffers, "a", false);
  client.notify(MAX / 2);
  client.socket.bufferedBytes = 0;
  assert.equal(buffers.writableBytes(1), MAX / 2);
  client.notify(MAX / 2);
  client.socket.bufferedBytes = 0;
  clock.advance(9);
  assert.equal(buffers.writableBytes(1), 0, "it was looked for a moment ago");
  clock.advance(1);
  assert.equal(buffers.writableBytes(1), MAX / 2);
  client.notify(1_000);
  client.socket.bufferedBytes = 0;
  clock.advance(10);
  assert.equal(
    buffers.writableBytes(MAX / 2 - 1_000),
    MAX / 2 - 1_000,
    "that much is free in any case",
  );
  assert.equal(buffers.writableBytes(MAX / 2), MAX / 2);
});

Deno.test("ClientBuffers: a connection is not terminated for another that would have as many unsent bytes", () => {
  for (const more of [0, -1]) {
    const { buffers } = scene();
    const clients = [1, 2].map((n) => new Client(buffers, `${n}`, true));
    for (const client of clients) assert(client.answer(6 * MIB));
    const next = new Client(buffers, "next", true);
    assert.equal(next.answer(6 * MIB + more), more < 0);
    assert.deepEqual(clients.map(({ socket }) => socket.isTerminated), [more < 0, false]);
  }
});

Deno.test("ClientBuffers: what clients have read leaves room for large messages and answers of others, and for the gauge", () => {
  const uses: [what: string, use: (budget: ByteBudget) => unknown, result: unknown][] = [
    ["a body", (budget) => new CallerBytes(budget).tryAdd(address(), MIB), true],
    ["an answer", (budget) => new CallerBytes(budget).fitsAnswer(address(), MIB), true],
    ["a node's answer", (budget) => new ReplyBody(budget).reserve(MIB), undefined],
    ["the gauge", (budget) => budget.recount(), 0],
  ];
  for (const [what, use, result] of uses) {
    const { budget, buffers, refusals } = scene();
    const readers = ["a", "b"].map((key) => new Client(buffers, key, false));
    for (const reader of readers) {
      assert(reader.answer(6 * MIB));
      reader.socket.bufferedBytes = 0;
    }
    assert.equal(budget.used, 12 * MIB);
    assert.equal(use(budget), result, what);
    assert.equal(refusals(), 0);
  }
});

Deno.test("ClientQueue: each unread answer counts with more than its bytes, until it is read", () => {
  const { budget, clock, buffers } = scene();
  const { queue, socket } = new Client(buffers, "a", false);
  const answer = new OutgoingMessage('"short"');
  const { byteLength } = answer;
  const each = byteLength + ANSWER_BYTES;
  const recount = () => {
    clock.advance(50);
    queue.recount(clock.now());
    assert.equal(queue.unsentUpperBound, budget.used);
    return budget.used;
  };
  for (let n = 1; n <= 10; n += 1) {
    queue.sendAnswer(answer);
    socket.bufferedBytes += byteLength;
    assert.equal(budget.used, n * each);
  }
  assert.equal(recount(), 10 * each);
  socket.bufferedBytes -= 3 * byteLength - 1;
  assert.equal(recount(), 8 * each - byteLength + 1, "the third one is not read to its end");
  queue.send([answer], byteLength); // a notification
  socket.bufferedBytes = byteLength;
  assert.equal(recount(), byteLength);
  socket.bufferedBytes = 0;
  assert.equal(recount(), 0);
});
