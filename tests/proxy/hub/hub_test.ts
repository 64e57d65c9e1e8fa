import assert from "node:assert/strict";
import { Hub } from "../../../services/proxy/hub/hub.ts";
import type { HubClient } from "../../../services/proxy/hub/hub_client.ts";
import { address } from "../address.ts";
import type { OutgoingMessage } from "../../../services/proxy/hub/messages.ts";

const CAPACITY = 4;

/** A hub whose node grants every subscription, under the topic's name as the id. */
class Scene {
  sent = 0;
  lagged = 0;
  /** How often the hub reported how many were sent. */
  sentReports = 0;
  readonly hub: Hub;

  constructor(slowClients: "lag" | "close" = "lag") {
    this.hub = new Hub({
      capacity: CAPACITY,
      random: () => 0.5,
      maxSubscriptions: 10_000,
      subscribeTimeoutMs: 1_000,
      slowClients,
      upstream: { send: (text) => this.#grant(text), drop: () => assert.fail("Not dropped") },
      events: {
        received: () => {},
        subscribed: () => {},
        lagged: (count) => this.lagged += count,
        sent: (count) => {
          this.sent += count;
          this.sentReports += 1;
        },
      },
    });
    this.hub.upstreamOpened(0);
  }

  #grant(text: string): boolean {
    const { id, method, params } = JSON.parse(text);
    if (method !== "eth_subscribe") return true;
    queueMicrotask(() =>
      this.hub.receive(JSON.stringify({ jsonrpc: "2.0", id, result: params[0] }))
    );
    return true;
  }

  /** Connects a client and subscribes it. */
  async client(...topics: string[]): Promise<Client> {
    const client = new Client(this.hub);
    for (const topic of topics) await client.subscribe(topic);
    return client;
  }

  notify(topic: string, ...results: number[]): void {
    for (const result of results) {
      const params = { subscription: topic, result };
      this.hub.receive(JSON.stringify({ jsonrpc: "2.0", method: "eth_subscription", params }));
    }
  }
}

class Client {
  room = Infinity;
  /** Lists of messages as they were handed to the connection. */
  readonly lists: (readonly OutgoingMessage[])[] = [];
  readonly client: HubClient;
  readonly #hub: Hub;

  constructor(hub: Hub) {
    this.#hub = hub;
    this.client = hub.connect({
      room: () => this.room,
      send: (messages) => this.lists.push(messages),
      close: () => assert.fail("Not closed"),
    }, address());
  }

  subscribe(topic: string): Promise<unknown> {
    const request = { namespace: "eth", paramsText: `["${topic}"]`, key: topic };
    return new Promise((resolve) => this.#hub.subscribe(this.client, request, 0, resolve));
  }

  get got(): number[] {
    return this.lists.flat().map(({ text }) => JSON.parse(text).params.result);
  }
}

Deno.test("Hub: a burst longer than the ring costs a client that keeps up nothing", async () => {
  const scene = new Scene();
  const client = await scene.client("a");
  const burst = Array.from({ length: 3 * CAPACITY + 1 }, (_, number) => number);
  scene.notify("a", ...burst);
  scene.hub.flush();
  assert.deepEqual(client.got, burst);
  assert.equal(scene.lagged, 0);
});

Deno.test("Hub: nor a client of several feeds, which reads it from the ring", async () => {
  for (let length = CAPACITY - 1; length <= 3 * CAPACITY + 1; length += 1) {
    const scene = new Scene();
    const client = await scene.client("a", "b");
    const burst = Array.from({ length }, (_, number) => number);
    for (const number of burst) scene.notify(number % 2 === 0 ? "a" : "b", number);
    scene.hub.flush();
    assert.deepEqual([client.got, scene.lagged], [burst, 0]);
  }
});

Deno.test("Hub: clients of one feed are handed the same list, and are counted together", async () => {
  const scene = new Scene();
  const clients = [await scene.client("a"), await scene.client("a"), await scene.client("a")];
  scene.notify("a", 1, 2);
  scene.hub.flush();
  const [first, ...others] = clients.map(({ lists }) => lists);
  assert.equal(first?.length, 1);
  for (const lists of others) assert.equal(lists[0], first[0]);
  assert.deepEqual([scene.sent, scene.sentReports], [6, 1]);
});

Deno.test("Hub: a client of several feeds gets them in the order of the node", async () => {
  const scene = new Scene();
  const both = await scene.client("a", "b");
  const one = await scene.client("b");
  scene.notify("a", 1);
  scene.notify("b", 2);
  scene.notify("a", 3);
  scene.hub.flush();
  assert.deepEqual(both.got, [1, 2, 3]);
  assert.deepEqual(one.got, [2]);
});

Deno.test("Hub: a newcomer is not sent what came before it, even if it was not flushed", async () => {
  const scene = new Scene();
  const early = await scene.client("a");
  scene.notify("a", 1);
  const late = await scene.client("a");
  scene.notify("a", 2);
  scene.hub.flush();
  assert.deepEqual(early.got, [1, 2]);
  assert.deepEqual(late.got, [2]);
});

Deno.test("Hub: a client that catches up before a flush is not sent the same again by it", async () => {
  const scene = new Scene();
  const client = await scene.client("a");
  client.room = 0;
  scene.notify("a", 1);
  scene.hub.flush();
  assert.equal(scene.hub.stuck.size, 1);
  scene.notify("a", 2);
  client.room = Infinity;
  scene.hub.resume(client.client);
  scene.hub.flush();
  assert.deepEqual(client.got, [1, 2]);
  assert.equal(scene.hub.stuck.size, 0);
});

Deno.test("Hub: of a burst, a connection is handed what it has room for, the rest later", async () => {
  const scene = new Scene();
  const client = await scene.client("a");
  client.room = 1; // the first message is always taken
  scene.notify("a", 1, 2, 3);
  scene.hub.flush();
  assert.deepEqual(client.got, [1]);
  client.room = Infinity;
  scene.hub.resume(client.client);
  assert.deepEqual(client.got, [1, 2, 3]);
  assert.equal(scene.lagged, 0);
});

Deno.test("Hub: a client that is gone is refused what it still asks for, and holds no feed", async () => {
  const scene = new Scene();
  const client = await scene.client("a");
  scene.hub.disconnect(client.client);
  const outcome = await client.subscribe("b");
  assert.match(JSON.stringify(outcome), /cannot be reached/);
  scene.notify("b", 1);
  scene.hub.flush();
  assert.deepEqual([scene.sent, client.got], [0, []]);
});

Deno.test("Hub: with slow clients to be closed, one missed notification closes, and none does not", async () => {
  for (const missed of [0, 1]) {
    const closed: string[] = [];
    const scene = new Scene("close");
    const client = await scene.client("a");
    client.client.sink.close = (code, reason) => closed.push(`${code} ${reason}`);
    client.room = 0;
    for (let n = 0; n < CAPACITY + missed; n += 1) {
      scene.notify("a", n);
      scene.hub.flush();
    }
    client.room = Infinity;
    scene.hub.resume(client.client);
    assert.deepEqual(closed, missed === 0 ? [] : ["1013 Too slow: 1 messages missed"]);
    assert.equal(client.got.length, missed === 0 ? CAPACITY : 0);
    assert.equal(scene.lagged, missed);
  }
});
