/** One client on a WebSocket, between a hub and a router whose nodes the test plays. */
import assert from "node:assert/strict";
import { AddressCounts } from "../../../services/proxy/address_counts.ts";
import { Registry } from "prom-client";
import { ByteBudget } from "../../../services/proxy/byte_budget.ts";
import { ClientSession } from "../../../services/proxy/clients/client_session.ts";
import { Hub } from "../../../services/proxy/hub/hub.ts";
import { MethodTable } from "../../../services/proxy/router/methods.ts";
import { ProxyMetrics } from "../../../services/proxy/metrics.ts";
import type { NodeReply } from "../../../services/proxy/http_pool/reply_body.ts";
import { Router } from "../../../services/proxy/router/router.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { address } from "../address.ts";
import type { RpcMessage } from "../../support/rpc_socket.ts";
import { call } from "../support.ts";

const MAX_MESSAGE_BYTES = 1_024;
const OPEN_MESSAGES_MAX = 256;
const ADDRESS_MESSAGES_MAX = 300;
const BUDGET = 400_000;

function scene(maxMessageBytes = MAX_MESSAGE_BYTES) {
  const metrics = new ProxyMetrics(new Registry());
  const open: { text: string; answer: PromiseWithResolvers<NodeReply> }[] = [];
  const node = {
    post(text: string) {
      const answer = Promise.withResolvers<NodeReply>();
      open.push({ text, answer });
      return answer.promise;
    },
  };
  /** Subscribes that the node has not granted yet. */
  const asked: { id: number; params: string[] }[] = [];
  const hub = new Hub({
    capacity: 16,
    random: () => 0.5,
    maxSubscriptions: 100,
    subscribeTimeoutMs: 1_000,
    slowClients: "lag",
    upstream: {
      send: (text) => {
        asked.push(JSON.parse(text));
        return true;
      },
      drop: () => assert.fail("Not dropped"),
    },
    events: metrics.hubEvents(),
  });
  hub.upstreamOpened(0);
  const got: string[] = [];
  const budget = new ByteBudget(BUDGET);
  const closed: number[] = [];
  const openRequests = new AddressCounts(ADDRESS_MESSAGES_MAX, 2 * ADDRESS_MESSAGES_MAX);
  const caller = address();
  const session = new ClientSession({
    openRequests,
    hub,
    router: new Router({
      methods: new MethodTable(),
      nodes: { read: node, write: node },
      maxBatch: 10,
      coalesceReads: false,
      budget,
      metrics,
    }),
    sink: {
      room: () => Infinity,
      spareRoom: () => 0,
      admit: () => true,
      send: (messages) => got.push(...messages.map(({ text }) => text)),
      close: (code) => closed.push(code),
    },
    clock: new FakeClock(),
    metrics,
    address: caller,
    budget,
    maxMessageBytes,
    maxSubscriptionsPerClient: 10,
  });
  return {
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
    /** The node grants what it was asked for, under the topic's name. */
    grant() {
      for (const { id, params } of asked.splice(0)) {
        hub.receive(JSON.stringify({ jsonrpc: "2.0", id, result: params[0] }));
      }
    },
    notify(subscription: string) {
      const params = { subscription, result: subscription };
      hub.receive(JSON.stringify({ jsonrpc: "2.0", method: "eth_subscription", params }));
      hub.flush();
    },
  };
}

Deno.test("ClientSession: more than 256 unanswered messages are refused, until one is answered", async () => {
  const { open, receive, frames } = scene();
  const answered = Array.from({ length: OPEN_MESSAGES_MAX }, (_, id) => {
    return receive(call(id, "eth_getBalance"));
  });
  assert.deepEqual([open.length, frames()], [OPEN_MESSAGES_MAX, []]);
  await receive(call(1_000, "eth_getBalance"));
  assert.equal(open.length, OPEN_MESSAGES_MAX);
  const [refusal] = frames();
  assert.deepEqual([refusal?.id, refusal?.error?.code], [null, -32005]);
  open[0]?.answer.resolve({ status: 200, body: "{}" });
  await answered[0];
  void receive(call(1_001, "eth_getBalance"));
  assert.equal(open.length, OPEN_MESSAGES_MAX + 1);
});

Deno.test("ClientSession: a batch counts as open until it is answered, subscriptions in it or not", async () => {
  for (const start of ["", " ", "\n\t"]) {
    const { open, session, openRequests, caller } = scene();
    const isFree = () => openRequests.hasRoom(caller);
    for (let n = 1; n < ADDRESS_MESSAGES_MAX; n += 1) openRequests.add(caller);
    assert.equal(isFree(), true, "for one more");
    const batch = JSON.stringify([
      call(1, "eth_unsubscribe", ["0x1"]),
      call(2, "eth_getBalance"),
    ]);
    const answered = session.receive(start + batch);
    assert.equal(isFree(), false);
    open[0]?.answer.resolve({ status: 200, body: '[{"jsonrpc":"2.0","id":2,"result":1}]' });
    await answered;
    assert.equal(isFree(), true);
  }
});

Deno.test("ClientSession: a message as large as the limit is taken, a byte more is not", async () => {
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

Deno.test("ClientSession: two subscriptions in one batch are both notified, after their answer", async () => {
  const { receive, grant, notify, got, frames } = scene();
  const batch = receive([call(1, "eth_subscribe", ["a"]), call(2, "eth_subscribe", ["b"])]);
  grant();
  notify("a");
  notify("b");
  assert.deepEqual(got, []);
  await batch;
  assert(Array.isArray(frames()[0]), "the answer comes first");
  notify("a");
  assert.deepEqual(frames().slice(1).map(({ params }) => params?.result), ["a", "b", "a"]);
});

Deno.test("ClientSession: once the client is gone, nothing is sent to it", async () => {
  const { session, open, receive, grant, notify, got } = scene();
  const subscribed = receive(call(1, "eth_subscribe", ["a"]));
  grant();
  await subscribed;
  const asked = receive(call(2, "eth_chainId"));
  const before = got.length;
  session.end();
  open[0]?.answer.resolve({ status: 200, body: "{}" });
  await asked;
  notify("a");
  assert.equal(got.length, before);
});

Deno.test("ClientSession: large messages count as memory until they are answered, and are refused beyond it", async () => {
  const { open, receive, frames, budget } = scene(1_000_000);
  const large = (id: number) => receive(call(id, "eth_call", ["x".repeat(200_000)]));
  const first = large(1);
  assert(budget.used > 200_000);
  await large(2);
  assert.deepEqual([open.length, frames()[0]?.error?.code], [1, -32005]);
  void receive(call(3, "eth_call"));
  assert.equal(open.length, 2, "a small one passes");
  open[0]?.answer.resolve({ status: 200, body: "{}" });
  await first;
  assert.equal(budget.used, 0);
});

Deno.test("ClientSession: all messages of an address share one limit; waiting subscriptions do not count", async () => {
  const { open, receive, frames, openRequests, caller } = scene();
  for (let used = 0; used < ADDRESS_MESSAGES_MAX - 1; used += 1) openRequests.tryAdd(caller);
  void receive(call(1, "eth_subscribe", ["newHeads"])); // the node does not answer
  const read = receive(call(2, "eth_getBalance"));
  await receive(call(3, "eth_getBalance"));
  const [refusal] = frames();
  assert.deepEqual([open.length, refusal?.error?.code], [1, -32005]);
  open[0]?.answer.resolve({ status: 200, body: "{}" });
  await read;
  void receive(call(4, "eth_getBalance"));
  assert.equal(open.length, 2);
});
