import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { DeliveryLoop } from "../../../services/proxy/hub/delivery_loop.ts";
import { HubClient } from "../../../services/proxy/hub/subscriptions.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { address, OPEN_SINK } from "./hub_scene.ts";

function scene() {
  const hub = {
    flushes: 0,
    clientsBehind: new Set<HubClient>(),
    caughtUp: new Array<HubClient>(),
    swept: new Array<number>(),
    sweep: (nowMs: number) => hub.swept.push(nowMs),
    flush: () => hub.flushes += 1,
    catchUp(client: HubClient) {
      hub.caughtUp.push(client);
      if (hub.clientsBehind.delete(client)) hub.clientsBehind.add(client);
    },
  };
  const clock = new FakeClock();
  const loop = new DeliveryLoop(hub, clock);
  loop.start();
  return { hub, clock, loop };
}

const newClient = () => new HubClient(OPEN_SINK, address());

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

Deno.test("DeliveryLoop: retries clients that are behind every 5 ms, 512 at a time, until none is left", async () => {
  const { hub, clock, loop } = scene();
  for (let count = 0; count < 1_000; count += 1) hub.clientsBehind.add(newClient());
  loop.flushSoon();
  await turn();
  await turn();
  clock.advance(4);
  assert.equal(hub.caughtUp.length, 0);
  clock.advance(1);
  assert.equal(hub.caughtUp.length, 512);
  clock.advance(5);
  assert.equal(new Set(hub.caughtUp).size, 1_000);
  assert.equal(hub.caughtUp.length, 2 * 512);
  hub.clientsBehind.clear();
  clock.advance(5);
  assert.equal(clock.pending, 1, "nobody is behind: only the sweep is due");
});

Deno.test("DeliveryLoop: ends expired subscribes every second, until it is stopped", async () => {
  const { hub, clock, loop } = scene();
  const startMs = clock.now();
  clock.advance(2_500);
  assert.deepEqual(hub.swept, [startMs + 1_000, startMs + 2_000]);
  hub.clientsBehind.add(newClient());
  loop.flushSoon();
  for (let times = 0; times < 2; times += 1) {
    await turn();
    await turn();
    assert.equal(clock.pending, 2, "one for each kind");
    loop.flushSoon();
  }
  await turn();
  await turn();
  loop.stop();
  assert.equal(clock.pending, 0);
});

Deno.test("DeliveryLoop: a stop in the turn of a notification ends its flush and the retries after it", async () => {
  const { hub, clock, loop } = scene();
  hub.clientsBehind.add(newClient());
  loop.flushSoon();
  loop.stop();
  await turn();
  await turn();
  assert.deepEqual({ flushes: hub.flushes, pending: clock.pending }, { flushes: 0, pending: 0 });
});
