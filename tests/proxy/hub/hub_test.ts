import assert from "node:assert/strict";
import type { HubClient } from "../../../services/proxy/hub/hub_client.ts";
import { address } from "../address.ts";
import type { OutgoingMessage } from "../../../services/proxy/hub/messages.ts";
import { subscriptionNotice } from "../../support/fake_feed.ts";
import { HubScene, NO_EVENTS } from "./hub_scene.ts";

const CAPACITY = 4;

/** A hub whose node grants every subscription, and the hub's reports. */
class Scene extends HubScene {
  sent = 0;
  lagged = 0;
  received = 0;
  /** Subscriptions of all clients, as last reported. */
  subscribed = 0;
  /** How often the hub reported how many were sent. */
  sentReports = 0;

  constructor(slowClients: "lag" | "close" = "lag", capacity = CAPACITY) {
    super({
      capacity,
      slowClients,
      events: {
        ...NO_EVENTS,
        received: () => this.received += 1,
        subscribed: (total) => this.subscribed = total,
        lagged: (count) => this.lagged += count,
        sent: (count) => {
          this.sent += count;
          this.sentReports += 1;
        },
      },
    });
    this.hub.upstreamOpened(0);
  }

  /** Connects a client and subscribes it. */
  client(...topics: string[]): Client {
    const client = new Client(this);
    for (const topic of topics) void client.subscribe(topic);
    return client;
  }

  notifyAll(topic: string, ...results: number[]): void {
    for (const result of results) this.notify(topic, result);
  }
}

class Client {
  writable = Infinity;
  overflow = 0;
  /** Lists of messages as they were handed to the connection. */
  readonly lists: (readonly OutgoingMessage[])[] = [];
  readonly client: HubClient;
  readonly #scene: Scene;

  constructor(scene: Scene) {
    this.#scene = scene;
    this.client = scene.hub.connect({
      writableBytes: () => this.writable,
      overflowBytes: () => this.overflow,
      send: (messages) => this.lists.push(messages),
      close: () => assert.fail("Not closed"),
    }, address());
  }

  subscribe(topic: string): Promise<unknown> {
    const outcome = this.#scene.subscribe(this.client, topic);
    this.#scene.grant();
    return outcome;
  }

  get got(): number[] {
    return this.lists.flat().map(({ text }) => JSON.parse(text).params.result);
  }
}

Deno.test("Hub: clients with the same pending notifications share a list", () => {
  const scene = new Scene();
  const [one, same, both] = [scene.client("a"), scene.client("a"), scene.client("a", "b")];
  scene.notifyAll("a", 1);
  scene.notifyAll("b", 2);
  scene.hub.flush();
  assert.equal(one.lists[0], same.lists[0]);
  assert.deepEqual([scene.sent, scene.sentReports], [4, 1], "reported together");
  scene.notifyAll("a", 3);
  scene.hub.flush();
  assert.equal(one.lists[1], both.lists[1]);
  scene.notifyAll("a", 4, 5);
  scene.notifyAll("a", 6, 7);
  scene.hub.flush();
  assert.equal(one.lists.length, 3, "a burst as long as the ring is one list");
});

Deno.test("Hub: a client that is behind does not split the lists of other clients", () => {
  const scene = new Scene("lag", 64);
  const [slow, fast] = [scene.client("a"), scene.client("a")];
  slow.writable = 0;
  scene.notifyAll("a", 1);
  scene.hub.flush();
  scene.notifyAll("a", 2, 3, 4);
  scene.notifyAll("a", 5, 6, 7);
  scene.hub.flush();
  assert.deepEqual(fast.lists.map(({ length }) => length), [1, 6]);
});

Deno.test("Hub: a client that does not read misses what the ring overwrote, then continues", () => {
  const scene = new Scene();
  const [deaf, both] = [scene.client("a"), scene.client("a", "b")];
  deaf.writable = both.writable = 0;
  for (let number = 0; number < 50; number += 1) scene.notifyAll("a", number);
  scene.notifyAll("b", 50);
  scene.hub.flush();
  assert.deepEqual([scene.sent, scene.sentReports, scene.lagged], [0, 0, 0]);
  for (const client of [deaf, both]) {
    scene.hub.resume(client.client);
    assert.equal(scene.sentReports, 0, "none was sent, and none is reported");
  }
  assert.deepEqual([deaf.lists, both.lists], [[], []]);
  deaf.writable = both.writable = Infinity;
  scene.hub.resume(deaf.client);
  assert.deepEqual([deaf.got, scene.lagged], [[47, 48, 49], 2 * 47]);
  scene.hub.resume(both.client);
  assert.deepEqual([both.got, scene.lagged], [[47, 48, 49, 50], 2 * 47]);
  scene.notifyAll("a", 51);
  scene.hub.flush();
  assert.deepEqual([deaf.got.at(-1), scene.lagged], [51, 2 * 47], "counted once");
});

Deno.test("Hub: missed notifications are counted when a client unsubscribes or disconnects", () => {
  for (const leave of ["unsubscribe", "disconnect"]) {
    const scene = new Scene();
    const deaf = scene.client("a", "b");
    deaf.writable = 0;
    for (let number = 0; number < 10; number += 1) scene.notifyAll("a", number);
    scene.hub.flush();
    if (leave === "disconnect") scene.hub.disconnect(deaf.client);
    else assert(scene.hub.unsubscribe(deaf.client, "a"));
    assert.equal(scene.lagged, 10 - CAPACITY, leave);
    assert.equal(scene.hub.behind.size, leave === "disconnect" ? 0 : 1);
  }
});

Deno.test("Hub: rejects frames that are no objects, ignores notifications without a method", () => {
  const scene = new Scene();
  const client = scene.client("a");
  const frames = scene.received;
  for (const text of ["no JSON", "7", "null", '"text"']) assert(!scene.hub.receive(text), text);
  assert.equal(scene.received, frames);
  const params = { subscription: "a", result: 1 };
  for (
    const frame of [{ params }, { method: 7, params }, { id: 9, method: "x_subscription", params }]
  ) {
    assert(scene.hub.receive(JSON.stringify(frame)));
  }
  for (const params of [undefined, null, {}, { subscription: 7 }]) {
    assert(scene.hub.receive(JSON.stringify({ method: "x_subscription", params })));
  }
  assert.equal(scene.received, frames + 7);
  scene.hub.flush();
  assert.deepEqual(client.got, []);
});

Deno.test("Hub: a client that reads gets notifications just before the ring overwrites them", () => {
  const scene = new Scene();
  const [slow, other] = [scene.client("a"), scene.client("a", "b")];
  for (const client of [slow, other]) {
    client.writable = 0;
    client.overflow = Infinity;
  }
  for (let number = 0; number < 10 * CAPACITY; number += 1) {
    scene.notifyAll("a", number);
    scene.hub.flush();
    const lost = number - CAPACITY;
    for (const { got } of [slow, other]) assert((got.at(-1) ?? -1) >= lost, `${number} came`);
    if (number < CAPACITY) assert.deepEqual(slow.got, [], "the ring still has all of it");
  }
  assert.equal(scene.sent, slow.got.length + other.got.length);
  for (const client of [slow, other]) {
    client.writable = Infinity;
    scene.hub.resume(client.client);
    assert.deepEqual(client.got, Array.from({ length: 10 * CAPACITY }, (_, number) => number));
  }
  assert.equal(scene.lagged, 0);
});

Deno.test("Hub: a disconnected client's subscribe is refused", async () => {
  const scene = new Scene();
  const client = scene.client("a");
  scene.hub.disconnect(client.client);
  const outcome = await client.subscribe("b");
  assert.match(JSON.stringify(outcome), /cannot be reached/);
  scene.notifyAll("b", 1);
  scene.hub.flush();
  assert.deepEqual([scene.sent, client.got], [0, []]);
});

Deno.test("Hub: with --slow-clients close, one missed notification closes the client", () => {
  for (const missed of [0, 1]) {
    const closed: string[] = [];
    const scene = new Scene("close");
    const client = scene.client("a");
    client.client.sink.close = (code, reason) => closed.push(`${code} ${reason}`);
    client.writable = 0;
    for (let n = 0; n < CAPACITY + missed; n += 1) {
      scene.notifyAll("a", n);
      scene.hub.flush();
    }
    client.writable = Infinity;
    scene.hub.resume(client.client);
    assert.deepEqual(closed, missed === 0 ? [] : ["1013 Too slow: 1 messages missed"]);
    assert.equal(client.got.length, missed === 0 ? CAPACITY : 0);
    assert.equal(scene.lagged, missed);
  }
});

Deno.test("Hub: a connection with room for exactly the new messages gets the shared list", () => {
  const scene = new Scene();
  const [exact, other] = [scene.client("a"), scene.client("a")];
  scene.notifyAll("a", 1, 2);
  exact.writable = 2 * subscriptionNotice("a", 1).length;
  scene.hub.flush();
  assert.equal(exact.lists[0], other.lists[0]);
});
