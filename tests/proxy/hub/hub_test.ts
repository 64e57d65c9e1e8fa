import assert from "node:assert/strict";
import type { HubClient } from "../../../services/proxy/hub/subscriptions.ts";
import type { OutgoingMessage } from "../../../services/proxy/hub/notifications.ts";
import type { HubOptions } from "../../../services/proxy/hub/hub.ts";
import { NEW_HEADS_KEY } from "../../../services/proxy/hub/subscription_request.ts";
import { address, HubScene, NO_EVENTS, OPEN_SINK } from "./hub_scene.ts";
import { subscriptionNotice } from "../../support/fake_feed.ts";

const CAPACITY = 4;

/** A hub whose node grants every subscription, and the hub's reports. */
class Scene extends HubScene {
  sent = 0;
  lagged = 0;
  received = 0;
  /** How often the hub reported how many were sent. */
  sentReports = 0;

  constructor(slowClients: "lag" | "close" = "lag", capacity = CAPACITY) {
    super({
      capacity,
      slowClients,
      events: {
        ...NO_EVENTS,
        onReceived: () => this.received += 1,
        onLagged: (count) => this.lagged += count,
        onSent: (count) => {
          this.sent += count;
          this.sentReports += 1;
        },
      },
    });
  }

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
      send: (messages, bytes) => {
        assert.equal(bytes, messages.reduce((sum, { byteLength }) => sum + byteLength, 0));
        this.lists.push(messages);
      },
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

Deno.test("Hub: rejects frames that are no objects, ignores notifications without a method", () => {
  const scene = new Scene();
  const client = scene.client("a");
  const frames = scene.received;
  for (const text of ["no JSON", "7", "null", '"text"']) assert(!scene.receive(text), text);
  assert.equal(scene.received, frames);
  const params = { subscription: "a", result: 1 };
  for (
    const frame of [{ params }, { method: 7, params }, { id: 9, method: "x_subscription", params }]
  ) {
    assert(scene.receive(JSON.stringify(frame)));
  }
  for (const params of [undefined, null, {}, { subscription: 7 }]) {
    assert(scene.receive(JSON.stringify({ method: "x_subscription", params })));
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
    scene.hub.catchUp(client.client);
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
    scene.hub.catchUp(client.client);
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

// What the hub makes of a node that is silent, refuses, or confuses its ids.

const TIMEOUT_MS = 1_000;

/** Subscribes that may be unanswered before the connection is dropped. */
const UNANSWERED_MAX = 256;

class NodeScene extends HubScene {
  nowMs = 0;
  readonly closed: number[] = [];
  readonly got: unknown[] = [];

  constructor(overrides: Partial<HubOptions> = {}) {
    super({ subscribeTimeoutMs: TIMEOUT_MS, ...overrides });
  }

  client(from = address()): HubClient {
    return this.hub.connect({
      ...OPEN_SINK,
      send: (messages) => this.got.push(...messages.map(({ text }) => JSON.parse(text).params)),
      close: (code) => this.closed.push(code),
    }, from);
  }

  override subscribe(client: HubClient, topic: string) {
    return super.subscribe(client, topic, this.nowMs);
  }

  async grantTo(client: HubClient, topic: string, id = "0x1"): Promise<void> {
    const outcome = this.subscribe(client, topic);
    this.answer({ result: id });
    assert.deepEqual(await outcome, { id });
  }

  /** The node answers the oldest open request. */
  answer(body: { result: unknown } | { error: object }): void {
    const { id } = this.requests.shift() ?? assert.fail("The node was asked nothing");
    assert(this.reply(id, body));
  }

  /** What was ended at the node since the last call, which may have been asked for nothing else. */
  ended(): string[] {
    return this.requests.splice(0).map(({ method, params }) => `${method} ${params}`);
  }

  override notify(subscription: string, result: unknown): boolean {
    const isUnderstood = super.notify(subscription, result);
    this.hub.flush();
    return isUnderstood;
  }

  reconnect(): void {
    this.hub.onUpstreamClosed();
    this.requests.length = 0;
    this.hub.onUpstreamOpened(this.upstream, this.nowMs);
  }

  pass(ms: number): void {
    this.nowMs += ms;
    this.hub.sweep(this.nowMs);
  }

  /** So many subscribes, each for something else, are never answered. */
  async leaveUnanswered(count: number): Promise<void> {
    const client = this.client();
    const outcomes = Array.from({ length: count }, (_, n) => this.subscribe(client, `silent ${n}`));
    assert.equal(this.requests.length, count);
    this.pass(TIMEOUT_MS);
    for (const outcome of await Promise.all(outcomes)) {
      assert.match(JSON.stringify(outcome), /not made in time/);
    }
    this.requests.length = 0;
  }
}

Deno.test("Hub: drops a node with 257 unanswered subscribes, but not with 256", async () => {
  const scene = new NodeScene();
  await scene.leaveUnanswered(UNANSWERED_MAX);
  scene.reconnect(); // another connection, which has left none unanswered
  await scene.leaveUnanswered(UNANSWERED_MAX);
  assert.deepEqual(scene.dropped, []);
  await scene.leaveUnanswered(1);
  assert.deepEqual(scene.dropped, [`${UNANSWERED_MAX + 1} subscribe requests left unanswered`]);
});

Deno.test("Hub: a node that is slow to renew hundreds of subscriptions is waited for, and asked again for one that it left out", async () => {
  const scene = new NodeScene();
  const client = scene.client();
  const outcomes = Array.from({ length: 900 }, (_, n) => scene.subscribe(client, `topic ${n}`));
  scene.grant();
  await Promise.all(outcomes);
  scene.reconnect();
  scene.requests.splice(1, 1);
  for (let answered = 0; answered < 899; answered += 1) {
    scene.answer({ result: `0x${answered}` });
    if (answered % 100 === 99) scene.pass(TIMEOUT_MS);
  }
  assert.deepEqual(scene.dropped, []);
  assert.deepEqual(scene.requests.map(({ params }) => params), [["topic 1"]]);
});

Deno.test("Hub: a subscription granted too late is ended, and then counts as answered", async () => {
  const scene = new NodeScene();
  const client = scene.client();
  const outcome = scene.subscribe(client, "late");
  const [late] = scene.requests.splice(0);
  scene.pass(TIMEOUT_MS);
  assert.match(JSON.stringify(await outcome), /not made in time/);
  scene.requests.push(late ?? assert.fail("The node was asked nothing"));
  scene.answer({ result: "0x1" });
  assert.deepEqual(scene.requests.splice(0).map(({ method, params }) => [method, params]), [
    ["eth_unsubscribe", ["0x1"]],
  ]);
  await scene.leaveUnanswered(UNANSWERED_MAX);
  assert.deepEqual(scene.dropped, []);
});

Deno.test("Hub: if the node gives one id twice, the second subscribe fails", async () => {
  const scene = new NodeScene();
  const [first, second] = [scene.client(), scene.client()];
  const outcomes = [scene.subscribe(first, "a"), scene.subscribe(second, "b")];
  scene.answer({ result: "0x1" });
  scene.answer({ result: "0x1" });
  const error = { code: -32603, message: "The node gave one id to two subscriptions" };
  assert.deepEqual(await Promise.all(outcomes), [
    { id: "0x1" },
    { errorText: JSON.stringify(error) },
  ]);
  scene.notify("0x1", "for a");
  assert.deepEqual(scene.got, [{ subscription: "0x1", result: "for a" }]);
  assert.deepEqual(scene.requests, [], "nothing is ended at the node");
});

Deno.test("Hub: if a granted subscription is refused five times, its clients are closed with 1013", async () => {
  const scene = new NodeScene();
  const client = scene.client();
  await scene.grantTo(client, "a");
  const refuse = (times: number) => {
    for (let n = 0; n < times; n += 1) {
      scene.answer({ error: { code: -32000, message: "not now" } });
      scene.pass(1); // it is asked again
    }
  };
  // A subscription that was granted again starts over.
  for (const id of ["0x2", "0x3"]) {
    scene.reconnect();
    refuse(4);
    scene.answer({ result: id });
    scene.notify(id, id);
  }
  assert.deepEqual(scene.closed, []);
  assert.deepEqual(scene.got, [
    { subscription: "0x1", result: "0x2" },
    { subscription: "0x1", result: "0x3" },
  ]);
  scene.reconnect();
  refuse(5);
  assert.deepEqual([scene.closed, client.subscriptionCount], [[1013], 0]);
  assert.deepEqual(scene.requests, [], "and it is asked no more");
});

Deno.test("Hub: a subscribe that fails while the node is away leaves nothing behind", async () => {
  const scene = new NodeScene();
  scene.hub.onUpstreamClosed();
  const outcome = scene.subscribe(scene.client(), "a");
  scene.pass(TIMEOUT_MS);
  assert.match(JSON.stringify(await outcome), /not made in time/);
  assert.equal(scene.hub.table.count, 0);
});

Deno.test("Hub: unknown ids of an earlier connection are forgotten", () => {
  for (const sweptBefore of [true, false]) {
    const scene = new NodeScene();
    scene.notify("0x1", 1);
    if (sweptBefore) scene.pass(1);
    scene.reconnect();
    if (!sweptBefore) scene.pass(1);
    scene.notify("0x1", 2); // another subscription, which has just ended
    scene.pass(1);
    assert.deepEqual(scene.requests, []);
  }
});

Deno.test("Hub: ends at most 256 unknown subscriptions a sweep", () => {
  const scene = new NodeScene();
  for (let sweep = 0; sweep < 2; sweep += 1) {
    for (let n = 0; n < 300; n += 1) scene.notify(`0x${n}`, sweep);
    scene.pass(1);
  }
  const ended = scene.ended();
  assert.deepEqual([ended.length, ended[0]], [256, "eth_unsubscribe 0x0"]);
});

const NEW_HEADS = { namespace: "eth", paramsText: '["newHeads"]', key: NEW_HEADS_KEY };

Deno.test("Hub: a subscribe over the limit is refused without reaching the node", async () => {
  const refused: string[] = [];
  const events = { ...NO_EVENTS, onRefused: (limit: string) => refused.push(limit) };
  const scene = new NodeScene({ maxSubscriptions: 2, events });
  scene.hub.subscribe(scene.client(), NEW_HEADS, 0, () => {});
  scene.answer({ result: "0x0" }); // a feed without parameters is not counted
  for (const n of [1, 2]) await scene.grantTo(scene.client(address(`${n}`)), `${n}`, `0x${n}`);
  const third = scene.client(address("3"));
  assert.match(JSON.stringify(await scene.subscribe(third, "3")), /-32005/);
  assert.deepEqual(await scene.subscribe(third, "1"), { id: "0x1" }, "a shared one costs nothing");
  assert.deepEqual([refused, scene.requests], [["upstream_subscriptions"], []]);
});

Deno.test("Hub: when the node closes the socket on a subscribe, only pending subscribes fail", async () => {
  const scene = new NodeScene();
  await scene.grantTo(scene.client(), "granted");
  const suspects = ["a", "b"].map((topic) => scene.subscribe(scene.client(), topic));
  scene.hub.onUpstreamRejected(scene.nowMs);
  for (const outcome of await Promise.all(suspects)) {
    assert.match(JSON.stringify(outcome), /closed its connection/);
  }
  scene.requests.length = 0;
  scene.hub.onUpstreamOpened(scene.upstream, scene.nowMs);
  assert.deepEqual(scene.requests.map(({ params }) => params), [["granted"]]);
  scene.answer({ result: "0x2" });
  // One of two may have been innocent, so both may be asked for again. Alone, it is remembered.
  void scene.subscribe(scene.client(), "a");
  assert.equal(scene.requests.length, 1);
  scene.hub.onUpstreamRejected(scene.nowMs);
  scene.hub.onUpstreamOpened(scene.upstream, scene.nowMs);
  scene.requests.length = 0;
  assert.match(JSON.stringify(await scene.subscribe(scene.client(), "a")), /closed its connection/);
  scene.pass(600_000);
  scene.requests.length = 0;
  void scene.subscribe(scene.client(), "a");
  assert.deepEqual(scene.requests.map(({ params }) => params), [["a"]], "for ten minutes");
});

Deno.test("Hub: a client gets at most two ids for equal subscriptions", async () => {
  const scene = new NodeScene();
  const [client, other] = [scene.client(), scene.client(address("b"))];
  const outcomes = [scene.subscribe(client, "a"), scene.subscribe(client, "a")];
  const [first, second] = scene.requests.splice(0);
  assert(first && second && !scene.hub.table.isLive("a"));
  scene.requests.push(second);
  scene.answer({ result: "0x2" });
  assert(scene.hub.table.isLive("a"));
  assert.deepEqual(await scene.subscribe(other, "a"), { id: "0x2" }, "shares the one that is live");
  scene.requests.push(first);
  scene.answer({ result: "0x1" });
  assert.deepEqual(await Promise.all(outcomes), [{ id: "0x1" }, { id: "0x2" }]);
  assert.match(JSON.stringify(await scene.subscribe(client, "a")), /2 equal subscriptions/);
  scene.hub.unsubscribe(client, "0x1");
  assert.deepEqual(scene.ended(), ["eth_unsubscribe 0x1"]);
  scene.reconnect();
  assert.deepEqual(scene.requests.map(({ params }) => params), [["a"]], "the other one remains");
  assert.equal(scene.hub.table.isLive("a"), false);
});

Deno.test("Hub: the client gets the node's error, or an error if the node's answer has no id", async () => {
  for (const result of [7, null, undefined]) {
    const scene = new NodeScene();
    const outcome = scene.subscribe(scene.client(), "a");
    scene.answer(result === undefined ? { error: { code: -32000, data: 1.0 } } : { result });
    const answer = await outcome;
    const { code } = JSON.parse("errorText" in answer ? answer.errorText : assert.fail("Granted"));
    assert.equal(code, result === undefined ? -32000 : -32603);
    assert.deepEqual(scene.hub.table.size, {
      subscriptions: 0,
      upstreamIds: 0,
      publicIds: 0,
      requests: 0,
    });
  }
});

Deno.test("Hub: a subscription that the node granted once is renewed, however often the node closes the socket", async () => {
  const scene = new NodeScene();
  const client = scene.client();
  await scene.grantTo(client, "granted");
  scene.reconnect();
  scene.requests.length = 0;
  await scene.leaveUnanswered(1);
  for (let times = 0; times < 3; times += 1) {
    scene.hub.onUpstreamRejected(scene.nowMs);
    scene.requests.length = 0;
    scene.hub.onUpstreamOpened(scene.upstream, scene.nowMs);
    assert.deepEqual(scene.requests.map(({ params }) => params), [["granted"]]);
  }
  assert.deepEqual(scene.closed, []);
  void scene.subscribe(client, "granted");
  assert.equal(scene.requests.length, 2, "it is not refused from now on");
});

Deno.test("Hub: remembers the newest 256 subscribes on which the node closed the socket", async () => {
  const scene = new NodeScene();
  const isRefused = async (topic: string) => {
    const outcome = scene.subscribe(scene.client(), topic);
    if (scene.requests.length === 0) {
      return /closed its connection/.test(JSON.stringify(await outcome));
    }
    scene.hub.onUpstreamRejected(scene.nowMs);
    scene.hub.onUpstreamOpened(scene.upstream, scene.nowMs);
    scene.requests.length = 0;
    return false;
  };
  for (let n = 0; n < 256; n += 1) assert.equal(await isRefused(`${n}`), false);
  assert.deepEqual([await isRefused("0"), await isRefused("255")], [true, true]);
  assert.equal(await isRefused("256"), false);
  assert.deepEqual([await isRefused("1"), await isRefused("256")], [true, true]);
  assert.equal(await isRefused("0"), false, "it was replaced");
});

Deno.test("Hub: reports only heads, and does not send heads that its owner refuses", async () => {
  const announced: unknown[] = [];
  const isShown = (block: unknown) => {
    announced.push(block);
    return block !== "refused";
  };
  const scene = new NodeScene();
  scene.acceptsHead = isShown;
  const client = scene.client();
  const outcomes = [
    new Promise((answer) => scene.hub.subscribe(client, NEW_HEADS, 0, answer)),
    scene.subscribe(client, "other"),
  ];
  for (const result of ["0x1", "0x2"]) scene.answer({ result });
  await Promise.all(outcomes);
  const results = [{ number: "0x5", timestamp: "0x1" }, "no head", "refused"];
  for (const result of results) {
    scene.notify("0x1", result);
    scene.notify("0x2", result);
  }
  assert.deepEqual(announced, results);
  assert.equal(scene.got.length, 5, "all but the refused one");
});
