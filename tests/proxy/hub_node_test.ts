/** What the hub makes of a node that is silent, refuses, or confuses its ids. */
import assert from "node:assert/strict";
import { Hub, type HubOptions } from "../../services/proxy/hub/hub.ts";
import type { HubClient } from "../../services/proxy/hub/hub_client.ts";
import { address } from "./address.ts";

const TIMEOUT_MS = 1_000;

/** Subscribes that may be left unanswered before the connection is given up. */
const UNANSWERED_MAX = 256;

interface Asked {
  id: number;
  method: string;
  params: [string];
}

/** A hub whose node answers when the test says so. */
class Scene {
  nowMs = 0;
  readonly dropped: string[] = [];
  /** What the node was asked and has not answered. */
  readonly asked: Asked[] = [];
  readonly closed: number[] = [];
  readonly got: unknown[] = [];
  readonly hub: Hub;
  #connected = true;

  constructor(given: Partial<HubOptions> = {}) {
    this.hub = new Hub({
      capacity: 4,
      random: () => 0.5,
      maxSubscriptions: 10_000,
      subscribeTimeoutMs: TIMEOUT_MS,
      slowClients: "lag",
      upstream: {
        send: (text) => {
          if (this.#connected) this.asked.push(JSON.parse(text));
          return this.#connected;
        },
        drop: (reason) => this.dropped.push(reason),
      },
      events: { received() {}, sent() {}, lagged() {}, subscribed() {} },
      ...given,
    });
  }

  client(from = address()): HubClient {
    return this.hub.connect({
      room: () => Infinity,
      spareRoom: () => 0,
      send: (messages) => this.got.push(...messages.map(({ text }) => JSON.parse(text).params)),
      close: (code) => this.closed.push(code),
    }, from);
  }

  subscribe(client: HubClient, topic: string): Promise<unknown> {
    const request = { namespace: "eth", paramsText: `["${topic}"]`, key: topic };
    return new Promise((answer) => this.hub.subscribe(client, request, this.nowMs, answer));
  }

  /** The node answers the oldest open request. */
  answer(body: { result: unknown } | { error: object }): void {
    const id = this.asked.shift()?.id ?? assert.fail("The node was asked nothing");
    assert(this.hub.receive(JSON.stringify({ jsonrpc: "2.0", id, ...body })));
  }

  notify(subscription: string, result: unknown): void {
    const params = { subscription, result };
    this.hub.receive(JSON.stringify({ jsonrpc: "2.0", method: "eth_subscription", params }));
    this.hub.flush();
  }

  reconnect(): void {
    this.#connected = false;
    this.hub.upstreamClosed();
    this.asked.length = 0;
    this.#connected = true;
    this.hub.upstreamOpened(this.nowMs);
  }

  /** Time passes, and the hub looks at what is due. */
  pass(ms: number): void {
    this.nowMs += ms;
    this.hub.sweep(this.nowMs);
  }

  /** So many subscribes, each for something else, are never answered. */
  async leaveUnanswered(count: number): Promise<void> {
    const client = this.client();
    const outcomes = Array.from({ length: count }, (_, n) => this.subscribe(client, `silent ${n}`));
    assert.equal(this.asked.length, count);
    this.pass(TIMEOUT_MS);
    for (const outcome of await Promise.all(outcomes)) {
      assert.match(JSON.stringify(outcome), /not made in time/);
    }
    this.asked.length = 0;
  }
}

Deno.test("Hub: a node that leaves more than 256 subscribes unanswered is dropped, not one that leaves 256", async () => {
  const scene = new Scene();
  await scene.leaveUnanswered(UNANSWERED_MAX);
  assert.deepEqual(scene.dropped, []);
  await scene.leaveUnanswered(1);
  assert.deepEqual(scene.dropped, [`${UNANSWERED_MAX + 1} subscribe requests left unanswered`]);
});

Deno.test("Hub: what a node left unanswered does not count against the connection after it", async () => {
  const scene = new Scene();
  await scene.leaveUnanswered(UNANSWERED_MAX);
  scene.reconnect();
  await scene.leaveUnanswered(UNANSWERED_MAX);
  assert.deepEqual(scene.dropped, []);
});

Deno.test("Hub: a subscribe that is answered late is ended at the node, and no longer counts as unanswered", async () => {
  const scene = new Scene();
  const client = scene.client();
  const outcome = scene.subscribe(client, "late");
  const [late] = scene.asked.splice(0);
  scene.pass(TIMEOUT_MS);
  assert.match(JSON.stringify(await outcome), /not made in time/);
  scene.asked.push(late ?? assert.fail("The node was asked nothing"));
  scene.answer({ result: "0x1" });
  assert.deepEqual(scene.asked.splice(0).map(({ method, params }) => [method, params]), [
    ["eth_unsubscribe", ["0x1"]],
  ]);
  await scene.leaveUnanswered(UNANSWERED_MAX);
  assert.deepEqual(scene.dropped, []);
});

Deno.test("Hub: an id that the node gave to two subscriptions stays with the first, and the second fails", async () => {
  const scene = new Scene();
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
  assert.deepEqual(scene.asked, [], "nothing is ended at the node");
});

Deno.test("Hub: a node that refuses five times in a row what it had granted is believed: 1013", async () => {
  const scene = new Scene();
  const client = scene.client();
  const outcome = scene.subscribe(client, "a");
  scene.answer({ result: "0x1" });
  assert.deepEqual(await outcome, { id: "0x1" });
  const refuse = (times: number) => {
    for (let n = 0; n < times; n += 1) {
      scene.answer({ error: { code: -32000, message: "not now" } });
      scene.pass(1); // it is asked again
    }
  };
  // A subscription that was granted again begins anew.
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
  assert.deepEqual(scene.closed, [1013]);
  assert.deepEqual(scene.asked, [], "and it is asked no more");
});

Deno.test("Hub: a subscription that nobody knows and that goes on notifying is ended at the node, one that stopped is not", () => {
  const scene = new Scene();
  const ended = () => scene.asked.splice(0).map(({ method, params }) => `${method} ${params}`);
  scene.notify("0xgoes-on", 1);
  scene.notify("0xstopped", 1);
  scene.pass(1);
  assert.deepEqual(ended(), []);
  scene.notify("0xgoes-on", 2);
  scene.pass(1);
  assert.deepEqual(ended(), ["eth_unsubscribe 0xgoes-on"]);
  scene.pass(1);
  assert.deepEqual(ended(), []);
});

Deno.test("Hub: what a node notified of before a reconnect is no suspicion against the one after it", () => {
  for (const sweptBefore of [true, false]) {
    const scene = new Scene();
    scene.notify("0x1", 1);
    if (sweptBefore) scene.pass(1);
    scene.reconnect();
    if (!sweptBefore) scene.pass(1);
    scene.notify("0x1", 2); // another subscription, which has just ended
    scene.pass(1);
    assert.deepEqual(scene.asked, []);
  }
});

Deno.test("Hub: while a subscribe awaits its answer, an unknown id may be what it brings, and is not ended", async () => {
  const scene = new Scene();
  const outcome = scene.subscribe(scene.client(), "a");
  for (let n = 0; n < 3; n += 1) {
    scene.notify("0x1", n);
    scene.pass(1);
  }
  assert.deepEqual(scene.asked.map(({ method }) => method), ["eth_subscribe"]);
  scene.answer({ result: "0x1" });
  assert.deepEqual(await outcome, { id: "0x1" });
});

Deno.test("Hub: of unknown subscriptions, at most 256 are looked at in one sweep", () => {
  const scene = new Scene();
  for (let sweep = 0; sweep < 2; sweep += 1) {
    for (let n = 0; n < 300; n += 1) scene.notify(`0x${n}`, sweep);
    scene.pass(1);
  }
  assert.equal(scene.asked.length, 256);
});

Deno.test("Hub: a subscription counts for an address that uses it, also after its first client left", async () => {
  const scene = new Scene({ maxSubscriptions: 8 }); // an address may cause one
  const [first, second] = [scene.client(address("a")), scene.client(address("b"))];
  const subscribe = (client: HubClient, topic: string) => scene.subscribe(client, topic);
  const shared = [subscribe(first, "x"), subscribe(second, "x")];
  scene.answer({ result: "0x1" });
  await Promise.all(shared);
  assert.match(JSON.stringify(await subscribe(first, "y")), /from this address/);
  scene.hub.disconnect(first);
  assert.match(JSON.stringify(await subscribe(second, "y")), /from this address/);
  const third = subscribe(scene.client(address("a")), "y");
  scene.answer({ result: "0x2" });
  assert.deepEqual(await third, { id: "0x2" });
  scene.hub.disconnect(second);
  assert.equal(scene.hub.book.count, 1);
});

Deno.test("Hub: the whole proxy has a bound of subscriptions, and those refused reach no node", async () => {
  const refused: string[] = [];
  const events = {
    received() {},
    sent() {},
    lagged() {},
    subscribed() {},
    refused: (limit: string) => refused.push(limit),
  };
  const scene = new Scene({ maxSubscriptions: 2, events });
  for (const n of [1, 2]) {
    const granted = scene.subscribe(scene.client(address(`${n}`)), `${n}`);
    scene.answer({ result: `0x${n}` });
    await granted;
  }
  const third = scene.client(address("3"));
  assert.match(JSON.stringify(await scene.subscribe(third, "3")), /-32005/);
  assert.deepEqual(await scene.subscribe(third, "1"), { id: "0x1" }, "a shared one costs nothing");
  assert.deepEqual([refused, scene.asked], [["upstream_subscriptions"], []]);
});

Deno.test("Hub: a node that closes the socket on a subscribe fails those asked for the first time, not others", async () => {
  const scene = new Scene();
  const granted = scene.subscribe(scene.client(), "granted");
  scene.answer({ result: "0x1" });
  await granted;
  const suspects = ["a", "b"].map((topic) => scene.subscribe(scene.client(), topic));
  scene.hub.upstreamClosed(true);
  for (const outcome of await Promise.all(suspects)) {
    assert.match(JSON.stringify(outcome), /closed its connection/);
  }
  scene.asked.length = 0;
  scene.hub.upstreamOpened(scene.nowMs);
  assert.deepEqual(scene.asked.map(({ params }) => params), [["granted"]]);
  scene.answer({ result: "0x2" });
  // One of two may have been innocent, so both may be asked for again. Alone, it is remembered.
  void scene.subscribe(scene.client(), "a");
  assert.equal(scene.asked.length, 1);
  scene.hub.upstreamClosed(true);
  scene.hub.upstreamOpened(scene.nowMs);
  scene.asked.length = 0;
  assert.match(JSON.stringify(await scene.subscribe(scene.client(), "a")), /closed its connection/);
  scene.pass(600_000);
  scene.asked.length = 0;
  void scene.subscribe(scene.client(), "a");
  assert.deepEqual(scene.asked.map(({ params }) => params), [["a"]], "for ten minutes");
});

Deno.test("Hub: a socket that is lost for another reason fails nothing that was asked for", async () => {
  const scene = new Scene();
  const outcome = scene.subscribe(scene.client(), "a");
  scene.reconnect();
  scene.answer({ result: "0x1" });
  assert.deepEqual(await outcome, { id: "0x1" });
});
