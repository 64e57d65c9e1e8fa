import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { z } from "zod";
import { RangemakerError } from "../../../lib/errors.ts";
import { Backoff } from "../../../lib/timing/backoff.ts";
import {
  createSubscription,
  RpcSubscriber,
  type RpcSubscriberOptions,
} from "../../../lib/net/rpc_subscriber.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { subscriptionNotice } from "../../support/fake_feed.ts";
import { FakeNetwork } from "../../support/fake_socket.ts";

const CATCH_UP_INTERVAL_MS = 30_000;

function setUp(options: Partial<RpcSubscriberOptions> = {}) {
  const clock = new FakeClock();
  const network = new FakeNetwork();
  const events: unknown[] = [];
  const subscriber = new RpcSubscriber({
    url: "ws://node",
    clock,
    backoff: new Backoff({ initialMs: 1_000, maxMs: 8_000, random: () => 1 }),
    connect: network.connect,
    subscriptions: [
      createSubscription(["words"], z.string(), (word) => events.push(word)),
      createSubscription(["numbers", { odd: true }], z.number(), (number) => events.push(number)),
    ],
    onLive: () => events.push("subscribed"),
    onLost: (reason) => events.push(`lost: ${reason}`),
    ...options,
  });
  subscriber.start();
  const deliver = (frame: unknown) => network.newest.deliver(JSON.stringify(frame));
  const accept = () => {
    network.newest.open();
    deliver({ jsonrpc: "2.0", id: 1, result: "0xa" });
    deliver({ jsonrpc: "2.0", id: 2, result: "0xb" });
  };
  return { clock, network, events, subscriber, deliver, accept };
}

Deno.test("RpcSubscriber: subscribes, and passes each notification to its own subscription", () => {
  const { network, events, accept } = setUp();
  accept();
  assert.deepEqual(network.newest.sent.map((text) => JSON.parse(text)), [
    { jsonrpc: "2.0", id: 1, method: "eth_subscribe", params: ["words"] },
    { jsonrpc: "2.0", id: 2, method: "eth_subscribe", params: ["numbers", { odd: true }] },
  ]);
  network.newest.deliver(subscriptionNotice("0xb", 7));
  network.newest.deliver(subscriptionNotice("0xa", "seven"));
  assert.deepEqual(events, ["subscribed", 7, "seven"]);
});

Deno.test("RpcSubscriber: subscribes again after a loss, and ignores ids of the lost connection", () => {
  const { clock, network, events, subscriber, deliver, accept } = setUp();
  accept();
  network.newest.end(1001, "away");
  clock.advance(1_000);
  network.newest.open();
  assert.equal(network.newest.sent.length, 2);
  deliver({ jsonrpc: "2.0", id: 1, result: "0xc" });
  deliver({ jsonrpc: "2.0", id: 2, result: "0xd" });
  network.newest.deliver(subscriptionNotice("0xa", "stale"));
  const again = ["subscribed", "lost: closed with 1001 away", "subscribed"];
  assert.deepEqual(events.slice(0, 3), again);
  assert.match(String(events[3]), /^lost: unexpected notification .*"stale"/);
  clock.advance(2_000);
  accept();
  assert.equal(events.at(-1), "subscribed");
  subscriber.stop();
  assert.equal(clock.pending, 0);
});

Deno.test("RpcSubscriber: a notification before the answer to its subscription is passed over", () => {
  const { network, events, deliver } = setUp();
  network.newest.open();
  network.newest.deliver(subscriptionNotice("0xa", "early"));
  deliver({ jsonrpc: "2.0", id: 1, result: "0xa" });
  network.newest.deliver(subscriptionNotice("0xb", 5));
  network.newest.deliver(subscriptionNotice("0xa", "known"));
  deliver({ jsonrpc: "2.0", id: 2, result: "0xb" });
  network.newest.deliver(subscriptionNotice("0xb", 7));
  assert.deepEqual(events, ["known", "subscribed", 7]);
});

const WRONG_FRAMES = {
  "text that is not JSON": "no JSON",
  "an empty object": "{}",
  "an answer to no request": '{"id":3,"result":"0xc"}',
  "an answer that is no id": '{"id":1,"result":true}',
  "an answer without a result": '{"id":1}',
  "a refusal": '{"id":1,"error":{"code":-32601,"message":"No subscriptions"}}',
  "a notification of an unknown subscription": subscriptionNotice("0xc", 1),
  "a notification of another shape": subscriptionNotice("0xa", 1),
};

for (const [name, frame] of Object.entries(WRONG_FRAMES)) {
  Deno.test(`RpcSubscriber: ${name} drops the connection`, () => {
    const { network, events, accept } = setUp();
    accept();
    network.newest.deliver(frame);
    assert.equal(events.length, 2, JSON.stringify(events));
    assert.match(String(events[1]), /^lost: (unexpected .*|refuses .*No subscriptions)/);
    assert(network.newest.closed);
  });
}

Deno.test("RpcSubscriber: a node that does not answer a subscription is dropped after 15 s", () => {
  const { clock, network, events, deliver } = setUp();
  network.newest.open();
  deliver({ id: 1, result: "0xa" });
  clock.advance(14_999);
  assert.deepEqual(events, []);
  clock.advance(1);
  assert.match(String(events[0]), /^lost: no answer to a subscription within 15000 ms/);
});

Deno.test("RpcSubscriber: a quiet connection stays open while heartbeats are answered", () => {
  const { clock, network, events, subscriber, deliver, accept } = setUp({
    heartbeat: { everyMs: 20_000, answerMs: 5_000 },
  });
  accept();
  for (let beat = 0; beat < 3; beat++) {
    clock.advance(20_000);
    assert.deepEqual(JSON.parse(network.newest.sent.at(-1) ?? ""), {
      jsonrpc: "2.0",
      id: 0,
      method: "eth_chainId",
      params: [],
    });
    clock.advance(4_999);
    deliver({ jsonrpc: "2.0", id: 0, result: "0x539" });
    clock.advance(1);
  }
  assert.deepEqual(events, ["subscribed"]);
  clock.advance(25_000);
  assert.equal(events.at(-1), "lost: no answer to a heartbeat");
  subscriber.stop();
  assert.equal(clock.pending, 0);
});

Deno.test("RpcSubscriber: a clock that is set back neither drops a connection that answers nor keeps a dead one", () => {
  const { clock, events, deliver, accept } = setUp({
    heartbeat: { everyMs: 20_000, answerMs: 5_000 },
  });
  accept();
  clock.advance(20_000);
  clock.setBy(-3_600_000);
  deliver({ jsonrpc: "2.0", id: 0, result: "0x539" });
  clock.advance(5_000);
  assert.deepEqual(events, ["subscribed"]);
  clock.setBy(-3_600_000);
  clock.advance(25_000);
  assert.equal(events.at(-1), "lost: no answer to a heartbeat");
});

Deno.test("RpcSubscriber: a tab that slept for a minute does not drop the connection for its own silence", () => {
  const { clock, events, deliver, accept } = setUp({
    heartbeat: { everyMs: 20_000, answerMs: 5_000 },
  });
  accept();
  clock.jump(60_000);
  clock.advance(0); // the request goes out only now
  deliver({ jsonrpc: "2.0", id: 0, result: "0x539" });
  clock.jump(60_000);
  clock.advance(0);
  assert.deepEqual(events, ["subscribed"]);
});

Deno.test("RpcSubscriber: reads missed events after each connect and at intervals, and is live after that", async () => {
  const reads: { signal: AbortSignal; answer: PromiseWithResolvers<void> }[] = [];
  const { clock, network, events, subscriber, accept } = setUp({
    catchUp: {
      read(signal) {
        const answer = Promise.withResolvers<void>();
        reads.push({ signal, answer });
        return answer.promise;
      },
      backoff: new Backoff({ initialMs: 500, maxMs: 500, random: () => 1 }),
      onFailure: ({ message }) => events.push(message),
    },
  });
  const answer = async (failure?: Error) => {
    const read = reads.at(-1) ?? assert.fail("No read");
    if (failure === undefined) read.answer.resolve();
    else read.answer.reject(failure);
    await new Promise((resolve) => setImmediate(resolve));
  };
  accept();
  network.newest.end(1001, "away");
  assert.equal(reads[0]?.signal.aborted, true);
  await answer();
  assert.equal(events.includes("subscribed"), false, "a read of a lost connection does not count");
  clock.advance(1_000);
  accept();
  await answer(new RangemakerError("NODE_TIMEOUT", "too slow"));
  clock.advance(500);
  await answer();
  assert.deepEqual(events.slice(1), ["too slow", "subscribed"]);
  clock.advance(CATCH_UP_INTERVAL_MS);
  await answer();
  assert.deepEqual([reads.length, events.length], [4, 3], "it is live already");
  subscriber.stop();
  clock.advance(CATCH_UP_INTERVAL_MS);
  assert.equal(reads.length, 4);
});
