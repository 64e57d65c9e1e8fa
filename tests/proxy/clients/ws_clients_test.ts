import assert from "node:assert/strict";
import { AddressCounts } from "../../../services/proxy/address_counts.ts";
import { setImmediate } from "node:timers";
import { Registry } from "prom-client";
import { ByteBudget } from "../../../services/proxy/byte_budget.ts";
import { WsClients } from "../../../services/proxy/clients/ws_clients.ts";
import { ProxyMetrics } from "../../../services/proxy/metrics.ts";
import { FakeClock } from "../../support/fake_clock.ts";

/** Clients of a hub that notes what it is asked to do. */
function scene() {
  const hub = {
    flushes: 0,
    stuck: new Set<number>(),
    reading: new Set<number>(),
    resumed: new Array<number>(),
    flush: () => hub.flushes += 1,
    resume(client: number) {
      hub.resumed.push(client);
      if (hub.reading.delete(client)) hub.reading.add(client);
    },
  };
  const clock = new FakeClock();
  const clients = new WsClients({
    openRequests: new AddressCounts(256, 1_000),
    // These parts of a hub and of the other options are all that is used here.
    hub: hub as never,
    router: undefined as never,
    cors: undefined as never,
    clock,
    metrics: new ProxyMetrics(new Registry()),
    budget: new ByteBudget(1_000_000),
    maxClients: 10,
    maxClientsPerAddress: 10,
    maxMessageBytes: 1_000,
    maxSubscriptionsPerClient: 10,
  });
  return { hub, clock, clients };
}

const turn = () => new Promise<void>((resolve) => setImmediate(() => resolve()));

Deno.test("WsClients: notifications that arrive turn after turn are sent together, and soon", async () => {
  const { hub, clients } = scene();
  clients.flushSoon();
  await turn();
  assert.equal(hub.flushes, 0);
  clients.flushSoon();
  await turn();
  await turn();
  assert.equal(hub.flushes, 1);
  for (let turns = 0; turns < 30; turns += 1) {
    clients.flushSoon();
    await turn();
  }
  assert.equal(hub.flushes, 1 + 10, "every third turn though more keep coming");
  await turn();
  await turn();
  assert.equal(hub.flushes, 1 + 10, "nothing more has come");
});

Deno.test("WsClients: clients that read are looked at every millisecond, the others every twentieth", async () => {
  const { hub, clock, clients } = scene();
  hub.stuck = new Set([1, 2]);
  hub.reading = new Set([2]);
  clients.flushSoon();
  await turn();
  await turn();
  assert.deepEqual(hub.resumed, [2], "at once after a flush");
  hub.resumed = [];
  for (let ms = 0; ms < 19; ms += 1) clock.advance(1);
  assert.deepEqual(hub.resumed, new Array(19).fill(2));
  clock.advance(1);
  assert.equal(hub.resumed.filter((client) => client === 1).length, 1);
  hub.stuck.clear();
  hub.reading.clear();
  clock.advance(20);
  assert.equal(clock.pending, 0, "nobody is behind");
});

Deno.test("WsClients: of many that read, each has its turn, and one look takes a bounded time", async () => {
  const { hub, clock, clients } = scene();
  for (let client = 0; client < 1_000; client += 1) {
    hub.stuck.add(client);
    hub.reading.add(client);
  }
  clients.flushSoon();
  await turn();
  await turn();
  assert.equal(hub.resumed.length, 256);
  for (let ms = 0; ms < 3; ms += 1) clock.advance(1);
  assert.equal(new Set(hub.resumed).size, 1_000);
  assert.equal(hub.resumed.length, 4 * 256);
  clients.stop();
  assert.equal(clock.pending, 0);
});
