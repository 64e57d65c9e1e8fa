/** One client on a WebSocket, between a hub and a router whose nodes the test plays. */
import assert from "node:assert/strict";
import { Registry } from "prom-client";
import { AddressCounts, ByteBudget, CallerBytes } from "../../../services/proxy/shared/limits.ts";
import { WsClient } from "../../../services/proxy/clients/ws_client.ts";
import { ProxyMetrics } from "../../../services/proxy/shared/metrics.ts";
import type { NodeReply } from "../../../services/proxy/shared/envelopes.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { address, HubScene, NO_EVENTS } from "../hub/hub_scene.ts";
import type { RpcMessage } from "../../support/rpc_socket.ts";
import { eventually } from "../../support/eventually.ts";
import { call, routerTo } from "../support.ts";
import { seriesIn } from "../../support/http_answers.ts";

const MAX_MESSAGE_BYTES = 1_024;
const ADDRESS_MESSAGES_MAX = 300;
const BUDGET = 800_000;
/** Notifications that the hub keeps for clients that are behind. */
const RING = 4;

function scene(
  maxMessageBytes = MAX_MESSAGE_BYTES,
  count?: () => Promise<number | undefined>,
) {
  const registry = new Registry();
  const metrics = new ProxyMetrics(registry);
  const open: { text: string; answer: PromiseWithResolvers<NodeReply> }[] = [];
  const node = {
    post(text: string) {
      const answer = Promise.withResolvers<NodeReply>();
      open.push({ text, answer });
      return answer.promise;
    },
  };
  const clock = new FakeClock();
  const scene = new HubScene({
    capacity: RING,
    events: { ...NO_EVENTS, ...metrics.createHubEvents() },
  });
  const { hub } = scene;
  const got: string[] = [];
  const budget = new ByteBudget(BUDGET);
  const closed: number[] = [];
  const openRequests = new AddressCounts(ADDRESS_MESSAGES_MAX, 2 * ADDRESS_MESSAGES_MAX);
  const caller = address();
  /** The largest answer that the connection accepts. */
  const admits = { bytes: Infinity, writable: Infinity };
  const session = new WsClient({
    openRequests,
    hub,
    router: routerTo({ read: node, write: node }, { budget, metrics }),
    sink: {
      writableBytes: () => admits.writable,
      overflowBytes: () => 0,
      tryAdmitAnswer: (bytes) => bytes <= admits.bytes,
      send: (messages) => got.push(...messages.map(({ text }) => text)),
      sendAnswer: ({ text }) => got.push(text),
      close: (code) => closed.push(code),
    },
    clock,
    metrics,
    address: caller,
    callerBytes: new CallerBytes(budget),
    limiter: count && { count },
    maxMessageBytes,
    maxSubscriptionsPerClient: 2,
  });
  return {
    admits,
    metric: async (series: string) => seriesIn(await registry.metrics(), series),
    openRequests,
    caller,
    session,
    hub,
    open,
    got,
    closed,
    budget,
    frames: () => got.map((text): RpcMessage => JSON.parse(text)),
    receive: (message: unknown) => session.receive(JSON.stringify(message)),
    grant: () => scene.grant(),
    /** Subscribes, which the node grants. */
    async subscribe(topic: string) {
      const answered = session.receive(JSON.stringify(call(1, "eth_subscribe", [topic])));
      scene.grant();
      await answered;
    },
    notify(topic: string) {
      scene.notify(topic, topic);
      hub.flush();
    },
  };
}

Deno.test("WsClient: a batch is an open request until it is answered, and cannot subscribe", async () => {
  const { open, receive, got, openRequests, caller, hub } = scene();
  const isFree = () => openRequests.canAdd(caller);
  for (let n = 1; n < ADDRESS_MESSAGES_MAX; n += 1) openRequests.add(caller);
  assert.equal(isFree(), true, "for one more");
  const answered = receive([
    call(1, "eth_subscribe", ["a"]),
    call(2, "eth_getBalance"),
    call(3, "eth_unsubscribe", ["0x1"]),
    { jsonrpc: "2.0", method: "eth_subscribe", params: ["a"] },
  ]);
  assert.equal(isFree(), false);
  const sent: RpcMessage[] = JSON.parse(open[0]?.text ?? "");
  open[0]?.answer.resolve({ status: 200, body: JSON.stringify([{ id: sent[0]?.id, result: 1 }]) });
  await answered;
  assert.deepEqual([isFree(), sent.length, hub.table.count], [true, 1, 0]);
  const answers: RpcMessage[] = JSON.parse(got[0] ?? "");
  assert.deepEqual(answers.map(({ id, error }) => [id, error?.code]), [
    [1, -32600],
    [2, undefined],
    [3, -32600],
  ]);
});

Deno.test("WsClient: accepts a message as large as the limit, closes on a byte more", async () => {
  for (const letter of ["x", "é", "€"]) {
    const empty = JSON.stringify(call(1, "eth_call", [""]));
    const bytes = new TextEncoder().encode(letter).length;
    const fits = Math.floor((MAX_MESSAGE_BYTES - empty.length) / bytes);
    const fill = "x".repeat(MAX_MESSAGE_BYTES - empty.length - fits * bytes);
    for (const [extra, taken] of [["", true], ["x", false]] as const) {
      const { session, open, closed, frames } = scene();
      const text = JSON.stringify(call(1, "eth_call", [letter.repeat(fits) + fill + extra]));
      const done = session.receive(text);
      assert.equal(open.length, taken ? 1 : 0);
      if (taken) continue;
      await done;
      assert.deepEqual([closed, frames()], [[1009], []]);
    }
  }
});

Deno.test("WsClient: a subscribe that waits for the node delays no notification of another one", async () => {
  const { receive, subscribe, grant, notify, frames } = scene();
  await subscribe("a");
  const second = receive(call(2, "eth_subscribe", ["b"])); // the node does not answer yet
  notify("a");
  assert.equal(frames().at(-1)?.params?.result, "a");
  grant();
  notify("b");
  await second;
  assert.deepEqual(frames().slice(2).map(({ id, params }) => id ?? params?.result), [2, "b"]);
});

Deno.test("WsClient: a burst in the turn of a grant that is longer than the ring loses nothing", async () => {
  const { receive, subscribe, grant, notify, frames, metric } = scene();
  await subscribe("a");
  const second = receive(call(2, "eth_subscribe", ["b"]));
  grant();
  for (let n = 0; n < 2 * RING; n += 1) notify(n % 2 === 0 ? "a" : "b");
  await second;
  const burst = frames().slice(1).map(({ id, params }) => id ?? params?.result);
  assert.deepEqual(burst, [2, ...Array.from({ length: RING }, () => ["a", "b"]).flat()]);
  assert.equal(await metric('proxy_ws_messages_total{direction="lagged"}'), 0);
});

Deno.test("WsClient: a subscription ends if its id cannot be sent to a client that reads nothing", async () => {
  const topic = "a".repeat(200);
  const { receive, grant, notify, frames, admits, hub } = scene();
  admits.bytes = 200;
  const answered = receive(call(1, "eth_subscribe", [topic]));
  grant();
  await answered;
  assert.equal(frames()[0]?.error?.code, -32005);
  notify(topic);
  assert.deepEqual([frames().length, hub.table.memberCount], [1, 0]);
});

Deno.test("WsClient: a subscribe without an id gets notifications, and no answer", async () => {
  const { receive, grant, notify, frames } = scene();
  const subscribed = receive({ jsonrpc: "2.0", method: "eth_subscribe", params: ["a"] });
  grant();
  await subscribed;
  notify("a");
  assert.deepEqual(frames().map(({ params }) => params?.result), ["a"]);
});

Deno.test("WsClient: large messages use the memory budget until answered, and are refused without room", async () => {
  const { open, receive, frames, budget } = scene(1_000_000);
  const large = (id: number) => receive(call(id, "eth_call", ["x".repeat(200_000)]));
  const first = large(1);
  assert(budget.used > 200_000);
  await eventually("the first is sent", () => open.length === 1);
  await large(2);
  assert.deepEqual([open.length, frames()[0]?.id, frames()[0]?.error?.code], [1, 2, -32005]);
  void receive(call(3, "eth_call"));
  assert.equal(open.length, 2, "a small one passes");
  open[0]?.answer.resolve({ status: 200, body: "{}" });
  await first;
  assert.equal(budget.used, 0);
});

Deno.test("WsClient: messages of an address share one limit, without subscribes", async () => {
  const { open, receive, grant, frames, openRequests, caller, metric } = scene();
  for (let used = 0; used < ADDRESS_MESSAGES_MAX - 1; used += 1) openRequests.tryAdd(caller);
  const subscribed = receive(call(1, "eth_subscribe", ["newHeads"])); // the node does not answer
  const read = receive(call(2, "eth_getBalance"));
  await receive(call(3, "eth_getBalance"));
  const [refusal] = frames();
  assert.deepEqual([open.length, refusal?.id, refusal?.error?.code], [1, 3, -32005]);
  grant();
  await subscribed;
  await receive(call(4, "eth_getBalance"));
  assert.equal(await metric('proxy_refusals_total{limit="requests_per_address"}'), 2);
  open[0]?.answer.resolve({ status: 200, body: "{}" });
  await read;
  void receive(call(5, "eth_getBalance"));
  assert.equal(open.length, 2);
});

Deno.test("WsClient: a large message that is refused for the number of messages uses no memory", async () => {
  const { receive, frames, openRequests, caller, budget } = scene(1_000_000);
  for (let used = 0; used < ADDRESS_MESSAGES_MAX; used += 1) openRequests.tryAdd(caller);
  await receive(call(1, "eth_call", ["x".repeat(200_000)]));
  assert.deepEqual([frames()[0]?.error?.code, budget.used], [-32005, 0]);
});

Deno.test("WsClient: a refusal has the error code of a limit, and is counted under that limit", async () => {
  const text = JSON.stringify(call(1, "eth_subscribe", ["x".repeat(5_000)]));
  const { session, frames, metric, receive, subscribe } = scene(10_000);
  await session.receive(text);
  assert.deepEqual([frames()[0]?.id, frames()[0]?.error?.code], [1, -32005]);
  for (const topic of ["a", "b"]) await subscribe(topic);
  await receive(call(3, "eth_subscribe", ["c"]));
  assert.deepEqual([frames()[3]?.id, frames()[3]?.error?.code], [3, -32005]);
  assert.equal(await metric('proxy_refusals_total{limit="subscription_parameters"}'), 1);
  assert.equal(await metric('proxy_refusals_total{limit="subscriptions_per_client"}'), 1);
  await receive(call(4, "eth_unsubscribe", ["a"]));
  assert.equal(frames()[4]?.result, true);
  await subscribe("c");
  const large = scene();
  await large.session.receive("x".repeat(MAX_MESSAGE_BYTES + 1));
  assert.equal(await large.metric('proxy_refusals_total{limit="message_bytes"}'), 1);
});

Deno.test("WsClient: unsubscribe accepts only an id of the client", async () => {
  const { receive, subscribe, frames } = scene();
  await subscribe("a");
  for (const [params, received] of [[[], "nothing"], [[7], "7"], [{ 0: "a" }, "nothing"]]) {
    await receive({ ...call(2, "eth_unsubscribe"), params });
    const { id, error } = frames().at(-1) ?? {};
    assert.deepEqual([id, error?.code], [2, -32602]);
    assert(error?.message.endsWith(`: received ${received}`), error?.message);
  }
  for (const [id, result] of [["b", false], ["a", true], ["a", false]]) {
    await receive(call(3, "eth_unsubscribe", [id]));
    assert.deepEqual(frames().at(-1), { jsonrpc: "2.0", id: 3, result });
  }
});

Deno.test("WsClient: a client over its rate is refused, without an open request", async () => {
  let waitS: number | undefined = 3;
  const { receive, frames, open, openRequests, caller, metric } = scene(
    MAX_MESSAGE_BYTES,
    () => Promise.resolve(waitS),
  );
  for (let n = 1; n < ADDRESS_MESSAGES_MAX; n += 1) openRequests.add(caller);
  await receive(call(1, "eth_chainId"));
  assert.deepEqual([frames()[0]?.id, frames()[0]?.error?.code], [1, -32005]);
  assert.equal(await metric('proxy_refusals_total{limit="request_rate"}'), 1);
  assert.deepEqual([open.length, openRequests.canAdd(caller)], [0, true]);
  waitS = undefined;
  void receive(call(2, "eth_chainId"));
  await Promise.resolve();
  await Promise.resolve();
  assert.equal(open.length, 1);
});

Deno.test("WsClient: an answer that does not fit becomes an error; if even the error does not fit, the client is closed", async () => {
  const rows: [message: unknown, admitted: number, id: unknown][] = [
    [call(7, "eth_getLogs"), 500, 7],
    [[call(7, "eth_getLogs")], 500, null],
    [call(7, "eth_getLogs"), 10, undefined],
  ];
  for (const [message, admitted, id] of rows) {
    const { receive, open, admits, frames, closed, metric } = scene();
    admits.bytes = admitted;
    const answered = receive(message);
    const { id: sentId } = [JSON.parse(open[0]?.text ?? "")].flat()[0];
    const body = JSON.stringify({ jsonrpc: "2.0", id: sentId, result: "x".repeat(1_000) });
    open[0]?.answer.resolve({ status: 200, body: Array.isArray(message) ? `[${body}]` : body });
    await answered;
    const [error] = frames();
    assert.deepEqual([error?.id, error?.error?.code], [id, id === undefined ? undefined : -32005]);
    assert.deepEqual(closed, id === undefined ? [1013] : []);
    assert.equal(await metric('proxy_ws_messages_total{direction="upstream"}'), 1);
    const sent = id === undefined ? 0 : 1;
    assert.equal(await metric('proxy_ws_messages_total{direction="downstream"}'), sent);
  }
});

Deno.test("WsClient: the error in place of a write's answer says that the write may have taken effect", async () => {
  for (const method of ["core_sendTransaction", "core_getAccount"]) {
    for (const message of [call(7, method), [call(7, method)]]) {
      const { receive, open, admits, frames } = scene();
      admits.bytes = 500;
      const answered = receive(message);
      const { id } = [JSON.parse(open[0]?.text ?? "")].flat()[0];
      const body = JSON.stringify({ jsonrpc: "2.0", id, result: "x".repeat(1_000) });
      open[0]?.answer.resolve({ status: 200, body: Array.isArray(message) ? `[${body}]` : body });
      await answered;
      const isUnknown = /may have taken effect/.test(JSON.stringify(frames()));
      assert.equal(isUnknown, method === "core_sendTransaction");
    }
  }
});

Deno.test("WsClient: notifications are not answered, and a failed message leaves nothing open", async () => {
  const { receive, open, frames, openRequests, caller, budget } = scene(1_000_000);
  const silent = receive({ jsonrpc: "2.0", method: "eth_chainId" });
  open[0]?.answer.resolve({ status: 200, body: "{}" });
  await silent;
  assert.deepEqual(frames(), []);
  for (let n = 1; n < ADDRESS_MESSAGES_MAX; n += 1) openRequests.add(caller);
  const failed = receive(call(1, "eth_call", ["x".repeat(100_000)]));
  const sent = await eventually("the large one is sent", () => open[1]);
  sent.answer.reject(new TypeError("a defect"));
  await assert.rejects(failed, TypeError);
  assert.deepEqual([openRequests.canAdd(caller), budget.used], [true, 0]);
});
