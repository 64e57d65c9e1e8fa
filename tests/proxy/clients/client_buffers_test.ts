import assert from "node:assert/strict";
import { ByteBudget } from "../../../services/proxy/shared/byte_budget.ts";
import { ClientBuffers, GUARANTEED_BYTES } from "../../../services/proxy/clients/client_buffers.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { FakeConnection } from "./fake_connection.ts";

const MIB = 1024 * 1024;
const MAX = 16 * MIB;

function scene() {
  const budget = new ByteBudget(MAX);
  const clock = new FakeClock();
  let refusals = 0;
  const buffers = new ClientBuffers(budget, clock, () => refusals += 1);
  return { budget, clock, buffers, refusals: () => refusals };
}

/** A connection whose client reads nothing, unless the test sets its unsent bytes. */
class Connection extends FakeConnection {
  constructor(buffers: ClientBuffers | undefined, key: string, canTerminate: boolean) {
    super(canTerminate);
    if (buffers !== undefined) this.register(buffers, key);
  }

  /** Queues an answer. @returns False if it was refused. */
  answer(bytes: number): boolean {
    if (!this.admitAnswer(bytes)) return false;
    this.notify(bytes);
    return true;
  }

  /** Queues notifications, whether they fit or not. */
  notify(bytes: number): void {
    this.countQueued(bytes);
    this.unsentBytes += bytes;
  }
}

Deno.test("ClientBuffers: over the limit the connection with the most unsent bytes is terminated first", () => {
  const { budget, buffers, refusals } = scene();
  const clients = [2, 6, 4].map((mib, n) => {
    const client = new Connection(buffers, `${n}`, true);
    assert(client.answer(mib * MIB));
    return client;
  });
  const next = new Connection(buffers, "next", true);
  assert(next.answer(3 * MIB));
  assert.deepEqual(clients.map(({ isTerminated }) => isTerminated), [false, true, false]);
  assert.deepEqual([budget.used, refusals()], [9 * MIB, 1]);
  assert(!next.answer(7 * MIB), "it would hold the most itself");
  assert.deepEqual(clients.map(({ isTerminated }) => isTerminated), [false, true, false]);
});

Deno.test("ClientBuffers: if no connection can be terminated, large answers are refused, small ones still pass", () => {
  const { budget, buffers } = scene();
  const deaf = Array.from({ length: 3 }, (_, n) => new Connection(buffers, `${n}`, false));
  assert.deepEqual(deaf.map((client) => client.answer(4 * MIB)), [true, true, true]);
  const honest = new Connection(buffers, "honest", false);
  assert(!honest.answer(MIB));
  for (let n = 0; n < 64; n += 1) assert(honest.answer(1_000));
  assert(budget.used <= MAX);
  assert(deaf.every(({ isTerminated }) => !isTerminated));
});

Deno.test("ClientBuffers: one address can use half of the budget for large answers", () => {
  const { buffers } = scene();
  const clients = Array.from({ length: 5 }, () => new Connection(buffers, "one", true));
  const admitted = clients.map((client) => client.answer(2 * MIB));
  assert.deepEqual(admitted, [true, true, true, true, false]);
  assert(new Connection(buffers, "other", true).answer(2 * MIB));
  assert(!new Connection(buffers, "one", true).answer(64 * 1024 + 1));
  assert(new Connection(buffers, "one", true).answer(64 * 1024), "short ones always pass");
});

Deno.test("ClientBuffers: bytes are free again after they were sent, or after the connection ended", () => {
  const { budget, clock, buffers } = scene();
  const reader = new Connection(buffers, "a", false);
  for (let n = 0; n < 100; n += 1) {
    clock.advance(50);
    assert(reader.answer(6 * MIB));
    reader.unsentBytes = 0;
  }
  const deaf = new Connection(buffers, "b", false);
  clock.advance(50);
  assert(deaf.answer(6 * MIB));
  deaf.unregister();
  reader.unregister();
  deaf.unregister();
  assert.equal(budget.used, 0);
});

Deno.test("ClientBuffers: notifications may use half of the budget", () => {
  const { buffers } = scene();
  const deaf = Array.from({ length: 4 }, (_, n) => new Connection(buffers, `${n}`, false));
  for (const client of deaf) {
    while (client.sharedWritableBytes(MIB) >= MIB) client.notify(MIB);
  }
  assert.equal(deaf[0]?.unsentBytes, MAX / 2);
  const honest = new Connection(buffers, "honest", false);
  assert(honest.answer(4 * MIB));
});

Deno.test("ClientBuffers: short answers pass when the budget is full", () => {
  const { budget, buffers, refusals } = scene();
  new Connection(buffers, "deaf", false).notify(MAX);
  const honest = new Connection(buffers, "honest", false);
  assert(honest.answer(GUARANTEED_BYTES));
  assert(!honest.answer(1));
  assert.deepEqual([budget.used, refusals()], [MAX + GUARANTEED_BYTES, 1]);
});

Deno.test("ClientBuffers: overflow ends when a client has as many unsent bytes as are free for others", () => {
  const { buffers } = scene();
  const free = [1, 2, 3].map((n) => {
    const client = new Connection(buffers, `${n}`, true);
    client.notify(client.overflowBytes() / 2);
    assert.equal(client.overflowBytes(), 0);
    return client.unsentBytes / MIB;
  });
  assert.deepEqual(free, [4, 2, 1], "of 8 MiB for notifications");
});

Deno.test("ClientBuffers: a client that read nothing for a second has no overflow until it reads again", () => {
  const { clock, buffers } = scene();
  const client = new Connection(buffers, "a", true);
  clock.advance(60_000); // nothing to read is no reason
  client.notify(1_000);
  assert(client.overflowBytes() > 0);
  clock.advance(999);
  client.notify(1_000);
  assert(client.overflowBytes() > 0);
  clock.advance(1);
  assert.equal(client.overflowBytes(), 0);
  client.unsentBytes -= 1;
  assert(client.overflowBytes() > 0);
  clock.advance(1_000);
  assert.equal(client.overflowBytes(), 0);
  client.unsentBytes = 0;
  clock.advance(60_000);
  client.notify(1_000);
  assert(client.overflowBytes() > 0);
});

Deno.test("ClientBuffers: an unregistered connection is limited only by its own bounds", () => {
  const { budget, buffers } = scene();
  const ended = new Connection(buffers, "a", true);
  ended.unregister();
  for (const client of [ended, new Connection(undefined, "b", true)]) {
    assert(client.answer(2 * MAX));
    assert.deepEqual([client.sharedWritableBytes(1), client.overflowBytes()], [Infinity, 0]);
    client.unsentBytes = 7;
    client.recount();
    assert.deepEqual([client.unsentUpperBound, budget.used], [7, 0]);
  }
});

Deno.test("ClientBuffers: unsent bytes are read again when needed, at most every 10 ms", () => {
  const { clock, buffers } = scene();
  const client = new Connection(buffers, "a", false);
  client.notify(MAX / 2);
  client.unsentBytes = 0;
  assert.equal(client.sharedWritableBytes(1), MAX / 2);
  client.notify(MAX / 2);
  client.unsentBytes = 0;
  clock.advance(9);
  assert.equal(client.sharedWritableBytes(1), 0, "it was looked for a moment ago");
  clock.advance(1);
  assert.equal(client.sharedWritableBytes(1), MAX / 2);
  client.notify(1_000);
  client.unsentBytes = 0;
  clock.advance(10);
  assert.equal(
    client.sharedWritableBytes(MAX / 2 - 1_000),
    MAX / 2 - 1_000,
    "that much is free in any case",
  );
  assert.equal(client.sharedWritableBytes(MAX / 2), MAX / 2);
});

Deno.test("ClientBuffers: a connection is not terminated for another that would have as many unsent bytes", () => {
  for (const more of [0, -1]) {
    const { buffers } = scene();
    const clients = [1, 2].map((n) => new Connection(buffers, `${n}`, true));
    for (const client of clients) assert(client.answer(6 * MIB));
    const next = new Connection(buffers, "next", true);
    assert.equal(next.answer(6 * MIB + more), more < 0);
    assert.deepEqual(clients.map(({ isTerminated }) => isTerminated), [more < 0, false]);
  }
});
