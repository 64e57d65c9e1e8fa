/** What the hub makes of a node that is silent, refuses, or confuses its ids. */
import assert from "node:assert/strict";
import type { HubOptions } from "../../../services/proxy/hub/hub.ts";
import type { HubClient } from "../../../services/proxy/hub/hub_client.ts";
import { NEW_HEADS_KEY } from "../../../services/proxy/hub/subscription_request.ts";
import { address } from "../address.ts";
import { HubScene, NO_EVENTS, OPEN_SINK } from "./hub_scene.ts";

const TIMEOUT_MS = 1_000;

/** Subscribes that may be unanswered before the connection is dropped. */
const UNANSWERED_MAX = 256;

/** A hub, its clients' answers, and the time. */
class Scene extends HubScene {
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

  /** The node answers the oldest open request. */
  answer(body: { result: unknown } | { error: object }): void {
    const { id } = this.asked.shift() ?? assert.fail("The node was asked nothing");
    assert(this.reply(id, body));
  }

  /** What was ended at the node since the last call, which may have been asked for nothing else. */
  ended(): string[] {
    return this.asked.splice(0).map(({ method, params }) => `${method} ${params}`);
  }

  override notify(subscription: string, result: unknown): boolean {
    const isUnderstood = super.notify(subscription, result);
    this.hub.flush();
    return isUnderstood;
  }

  reconnect(): void {
    this.isConnected = false;
    this.hub.upstreamClosed();
    this.asked.length = 0;
    this.isConnected = true;
    this.hub.upstreamOpened(this.nowMs);
  }

  /** Moves the time, and lets the hub handle what is due. */
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

Deno.test("Hub: drops a node with 257 unanswered subscribes, but not with 256", async () => {
  const scene = new Scene();
  await scene.leaveUnanswered(UNANSWERED_MAX);
  assert.deepEqual(scene.dropped, []);
  await scene.leaveUnanswered(1);
  assert.deepEqual(scene.dropped, [`${UNANSWERED_MAX + 1} subscribe requests left unanswered`]);
});

Deno.test("Hub: a subscription granted too late is ended, and then counts as answered", async () => {
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

Deno.test("Hub: if the node gives one id twice, the second subscribe fails", async () => {
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

Deno.test("Hub: if a granted subscription is refused five times, its clients are closed with 1013", async () => {
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
  assert.deepEqual(scene.asked, [], "and it is asked no more");
});

Deno.test("Hub: unknown ids of an earlier connection are forgotten", () => {
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

Deno.test("Hub: ends at most 256 unknown subscriptions a sweep", () => {
  const scene = new Scene();
  for (let sweep = 0; sweep < 2; sweep += 1) {
    for (let n = 0; n < 300; n += 1) scene.notify(`0x${n}`, sweep);
    scene.pass(1);
  }
  const ended = scene.ended();
  assert.deepEqual([ended.length, ended[0]], [256, "eth_unsubscribe 0x0"]);
});

Deno.test("Hub: a subscribe over the limit is refused without reaching the node", async () => {
  const refused: string[] = [];
  const events = { ...NO_EVENTS, refused: (limit: string) => refused.push(limit) };
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

Deno.test("Hub: when the node closes the socket on a subscribe, only pending subscribes fail", async () => {
  const scene = new Scene();
  const granted = scene.subscribe(scene.client(), "granted");
  scene.answer({ result: "0x1" });
  await granted;
  const suspects = ["a", "b"].map((topic) => scene.subscribe(scene.client(), topic));
  scene.hub.upstreamRefused(scene.nowMs);
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
  scene.hub.upstreamRefused(scene.nowMs);
  scene.hub.upstreamOpened(scene.nowMs);
  scene.asked.length = 0;
  assert.match(JSON.stringify(await scene.subscribe(scene.client(), "a")), /closed its connection/);
  scene.pass(600_000);
  scene.asked.length = 0;
  void scene.subscribe(scene.client(), "a");
  assert.deepEqual(scene.asked.map(({ params }) => params), [["a"]], "for ten minutes");
});

Deno.test("Hub: a client gets at most two ids for equal subscriptions", async () => {
  const scene = new Scene();
  const [client, other] = [scene.client(), scene.client(address("b"))];
  const outcomes = [scene.subscribe(client, "a"), scene.subscribe(client, "a")];
  const [first, second] = scene.asked.splice(0);
  assert(first && second && !scene.hub.table.isLive("a"));
  scene.asked.push(second);
  scene.answer({ result: "0x2" });
  assert(scene.hub.table.isLive("a"));
  assert.deepEqual(await scene.subscribe(other, "a"), { id: "0x2" }, "shares the one that is live");
  scene.asked.push(first);
  scene.answer({ result: "0x1" });
  assert.deepEqual(await Promise.all(outcomes), [{ id: "0x1" }, { id: "0x2" }]);
  assert.match(JSON.stringify(await scene.subscribe(client, "a")), /2 equal subscriptions/);
  scene.hub.unsubscribe(client, "0x1");
  assert.deepEqual(scene.ended(), ["eth_unsubscribe 0x1"]);
  scene.reconnect();
  assert.deepEqual(scene.asked.map(({ params }) => params), [["a"]], "the other one remains");
  assert.equal(scene.hub.table.isLive("a"), false);
});

Deno.test("Hub: the client gets the node's error, or an error if the node's answer has no id", async () => {
  for (const result of [7, null, undefined]) {
    const scene = new Scene();
    const outcome = scene.subscribe(scene.client(), "a");
    scene.answer(result === undefined ? { error: { code: -32000, data: 1.0 } } : { result });
    const answer = await outcome;
    const { code } = JSON.parse("errorText" in answer ? answer.errorText : assert.fail("Granted"));
    assert.equal(code, result === undefined ? -32000 : -32603);
    assert.deepEqual(scene.hub.table.size, {
      subscriptions: 0,
      upstreamIds: 0,
      publicIds: 0,
      asks: 0,
    });
  }
});

Deno.test("Hub: when the node closes the socket, granted and expired subscribes do not fail", async () => {
  const scene = new Scene();
  const client = scene.client();
  const granted = scene.subscribe(client, "granted");
  scene.answer({ result: "0x1" });
  await granted;
  scene.reconnect();
  scene.asked.length = 0;
  await scene.leaveUnanswered(1);
  for (let times = 0; times < 3; times += 1) {
    scene.hub.upstreamRefused(scene.nowMs);
    scene.asked.length = 0;
    scene.hub.upstreamOpened(scene.nowMs);
    assert.deepEqual(scene.asked.map(({ params }) => params), [["granted"]]);
  }
  assert.deepEqual(scene.closed, []);
  void scene.subscribe(client, "granted");
  assert.equal(scene.asked.length, 2, "it is not refused from now on");
});

Deno.test("Hub: remembers the newest 256 subscribes on which the node closed the socket", async () => {
  const scene = new Scene();
  const isRefused = async (topic: string) => {
    const outcome = scene.subscribe(scene.client(), topic);
    if (scene.asked.length === 0) {
      return /closed its connection/.test(JSON.stringify(await outcome));
    }
    scene.hub.upstreamRefused(scene.nowMs);
    scene.hub.upstreamOpened(scene.nowMs);
    scene.asked.length = 0;
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
  const isShown = (head?: { number: number }) => {
    announced.push(head);
    return head?.number !== 6;
  };
  const scene = new Scene({ events: { ...NO_EVENTS, announced: isShown } });
  const client = scene.client();
  const request = { namespace: "eth", paramsText: '["newHeads"]', key: NEW_HEADS_KEY };
  const outcomes = [
    new Promise((answer) => scene.hub.subscribe(client, request, 0, answer)),
    scene.subscribe(client, "other"),
  ];
  for (const result of ["0x1", "0x2"]) scene.answer({ result });
  await Promise.all(outcomes);
  const results = [{ number: "0x5", timestamp: "0x1" }, "no head", { number: "0x6" }];
  for (const result of results) {
    scene.notify("0x1", result);
    scene.notify("0x2", result);
  }
  const heads = [{ number: 5, timestampS: 1 }, undefined, { number: 6, timestampS: 0 }];
  assert.deepEqual(announced, heads);
  assert.equal(scene.got.length, 5, "all but head 6");
});
