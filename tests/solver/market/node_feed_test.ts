import { toWire } from "../../../lib/protocol/wire.ts";
import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { NodeUnreachableError } from "../../../lib/net/core_client.ts";
import { NodeFeed } from "../../../services/solver/market/node_feed.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { subscriptionNotice } from "../../support/fake_feed.ts";
import { FakeNetwork } from "../../support/fake_socket.ts";
import { withLogs } from "../../support/recorded_logs.ts";
import { market, solver } from "../support.ts";
import { thesisOf } from "../theses.ts";

const thesis = thesisOf(1);

const prices = {
  "ETH/USDT": {
    base: market.base,
    quote: market.quote,
    price: "3000000000",
    decimals: 6,
    lastUpdate: 1,
    ageMs: 2,
    state: "fresh",
  },
};

function feed() {
  const network = new FakeNetwork();
  const clock = new FakeClock();
  const events: unknown[] = [];
  const isNodeAway = { value: false };
  const node = new NodeFeed({
    url: "ws://node",
    solver: solver.address,
    clock,
    random: () => 1,
    connect: network.connect,
    handlers: {
      async catchUp() {
        await Promise.resolve();
        if (isNodeAway.value) throw new NodeUnreachableError("http://node", "away");
      },
      onLive: () => events.push("live"),
      onLost: () => events.push("lost"),
      onThesis: (thesis) => events.push(thesis),
      onPrices: (prices) => events.push(prices["ETH/USDT"]?.price),
    },
  });
  node.start();
  return { node, network, clock, events, isNodeAway };
}

/** The node accepts both subscriptions, and what was missed is read. */
async function accept(network: FakeNetwork): Promise<void> {
  network.newest.open();
  network.newest.deliver('{"jsonrpc":"2.0","id":1,"result":"0xa"}');
  network.newest.deliver('{"jsonrpc":"2.0","id":2,"result":"0xb"}');
  await setImmediate();
}

Deno.test("Node feed: subscribes to own theses and to prices, and passes both on", async () => {
  const { node, network, events } = feed();
  await accept(network);
  assert.deepEqual(network.newest.sent.map((text) => JSON.parse(text)), [
    {
      jsonrpc: "2.0",
      id: 1,
      method: "eth_subscribe",
      params: ["theses", { solver: solver.address }],
    },
    { jsonrpc: "2.0", id: 2, method: "eth_subscribe", params: ["prices"] },
  ]);
  network.newest.deliver(JSON.stringify(subscriptionNotice("0xa", toWire(thesis))));
  network.newest.deliver(JSON.stringify(subscriptionNotice("0xb", prices)));
  const [first, second, price] = events;
  assert.equal(first, "live");
  assert.deepEqual(second, thesis);
  assert.equal(price, 3_000_000_000n);
  await node.stop();
});

Deno.test("Node feed: subscribes again after every loss, and says so", async () => {
  const { node, network, clock, events } = feed();
  await accept(network);
  network.newest.end();
  clock.advance(250);
  await accept(network);
  assert.deepEqual(events, ["live", "lost", "live"]);
  await node.stop();
  assert.equal(clock.pending, 0);
});

Deno.test("Node feed: each outage is logged once, and so is its end", () =>
  withLogs("info", async (records) => {
    const { node, network, clock } = feed();
    await accept(network);
    for (let outage = 0; outage < 2; outage++) {
      // Waits double up to 2 s, and start over after a connection that lasted.
      clock.advance(5_000);
      for (const waitMs of [250, 500, 1_000, 2_000, 2_000]) {
        network.newest.end();
        const { length } = network.sockets;
        clock.advance(waitMs - 1);
        assert.equal(network.sockets.length, length);
        clock.advance(1);
        assert.equal(network.sockets.length, length + 1);
      }
      await accept(network);
    }
    const logged = records.map(({ category, level, properties: { event, url } }) =>
      [category[1], level, event, url].join(" ")
    );
    const outage = ["solver warning node_lost ws://node", "solver info node_back ws://node"];
    assert.deepEqual(logged, [...outage, ...outage]);
    await node.stop();
  }));

Deno.test("Node feed: a connection that falls silent for 10 s is given up", async () => {
  const { node, network, clock, events } = feed();
  await accept(network);
  clock.advance(9_999);
  assert.equal(network.sockets.length, 1);
  clock.advance(251);
  assert.equal(network.sockets.length, 2);
  assert.deepEqual(events, ["live", "lost"]);
  await node.stop();
});

Deno.test("Node feed: a frame that makes no sense ends the connection", async () => {
  const frames = [
    "no JSON",
    "{}",
    '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"No subscriptions"}}',
    JSON.stringify(subscriptionNotice("0xc", prices)),
    JSON.stringify(subscriptionNotice("0xa", { id: 1 })),
    JSON.stringify(subscriptionNotice("0xb", toWire(thesis))),
  ];
  for (const frame of frames) {
    const { node, network, events } = feed();
    await accept(network);
    network.newest.deliver(frame);
    assert.deepEqual(events, ["live", "lost"], frame);
    assert.ok(network.newest.closed);
    await node.stop();
  }
});

Deno.test("Node feed: is live once what was missed is read; a node that is away is logged once", () =>
  withLogs("warning", async (records) => {
    const { node, network, clock, events, isNodeAway } = feed();
    isNodeAway.value = true;
    await accept(network);
    for (const waitMs of [250, 500]) {
      clock.advance(waitMs);
      await setImmediate();
    }
    assert.deepEqual(events, []);
    assert.equal(records.length, 1);
    assert.match(String(records[0]?.properties.reason), /away/);
    isNodeAway.value = false;
    clock.advance(1_000);
    await setImmediate();
    assert.deepEqual(events, ["live"]);
    await node.stop();
    assert.equal(clock.pending, 0);
  }));
