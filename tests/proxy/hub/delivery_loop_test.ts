import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { DeliveryLoop } from "../../../services/proxy/hub/delivery_loop.ts";
import { FakeClock } from "../../support/fake_clock.ts";

/** A hub that notes what it is asked to do. */
function scene() {
  const hub = {
    flushes: 0,
    behind: new Set<unknown>(),
    reading: new Set<unknown>(),
    resumed: new Array<unknown>(),
    swept: new Array<number>(),
    sweep: (nowMs: number) => hub.swept.push(nowMs),
    flush: () => hub.flushes += 1,
    resume(client: unknown) {
      hub.resumed.push(client);
      if (hub.reading.delete(client)) hub.reading.add(client);
    },
  };
  const clock = new FakeClock();
  // These parts of a hub are all that the loop uses.
  return { hub, clock, loop: new DeliveryLoop(hub as never, clock) };
}

const turn = () => new Promise<void>((resolve) => setImmediate(() => resolve()));

Deno.test("DeliveryLoop: sends notifications of consecutive turns together, after three turns at most", async () => {
  const { hub, loop } = scene();
  loop.flushSoon();
  await turn();
  assert.equal(hub.flushes, 0);
  loop.flushSoon();
  await turn();
  await turn();
  assert.equal(hub.flushes, 1);
  for (let turns = 0; turns < 30; turns += 1) {
    loop.flushSoon();
    await turn();
  }
  assert.equal(hub.flushes, 1 + 10, "every third turn though more keep coming");
  await turn();
  await turn();
  assert.equal(hub.flushes, 1 + 10, "nothing more has come");
});

Deno.test("DeliveryLoop: retries clients that read every millisecond, the others every 20 ms", async () => {
  const { hub, clock, loop } = scene();
  hub.behind = new Set([1, 2]);
  hub.reading = new Set([2]);
  loop.flushSoon();
  await turn();
  await turn();
  assert.deepEqual(hub.resumed, [2], "at once after a flush");
  hub.resumed = [];
  for (let ms = 0; ms < 19; ms += 1) clock.advance(1);
  assert.deepEqual(hub.resumed, new Array(19).fill(2));
  clock.advance(1);
  assert.equal(hub.resumed.filter((client) => client === 1).length, 1);
  hub.behind.clear();
  hub.reading.clear();
  clock.advance(20);
  assert.equal(clock.pending, 0, "nobody is behind");
});

Deno.test("DeliveryLoop: retries at most 256 clients at once, in turn", async () => {
  const { hub, clock, loop } = scene();
  for (let client = 0; client < 1_000; client += 1) {
    hub.behind.add(client);
    hub.reading.add(client);
  }
  loop.flushSoon();
  await turn();
  await turn();
  assert.equal(hub.resumed.length, 256);
  for (let ms = 0; ms < 3; ms += 1) clock.advance(1);
  assert.equal(new Set(hub.resumed).size, 1_000);
  assert.equal(hub.resumed.length, 4 * 256);
  loop.stop();
  assert.equal(clock.pending, 0);
});

Deno.test("DeliveryLoop: ends expired subscribes every second, until it is stopped", async () => {
  const { hub, clock, loop } = scene();
  loop.start();
  const startMs = clock.now();
  clock.advance(2_500);
  assert.deepEqual(hub.swept, [startMs + 1_000, startMs + 2_000]);
  hub.behind.add(1);
  hub.reading.add(1);
  loop.flushSoon();
  for (let times = 0; times < 2; times += 1) {
    await turn();
    await turn();
    assert.equal(clock.pending, 3, "one for each kind");
    loop.flushSoon();
  }
  await turn();
  await turn();
  loop.stop();
  assert.equal(clock.pending, 0);
});

Deno.test("DeliveryLoop: retries a client that is behind until it has caught up", () => {
  const { hub, clock, loop } = scene();
  hub.behind.add(1);
  loop.resumeSoon();
  for (const times of [1, 2]) {
    clock.advance(20);
    assert.equal(hub.resumed.length, times);
  }
  hub.behind.clear();
  clock.advance(20);
  assert.equal(clock.pending, 0);
});
