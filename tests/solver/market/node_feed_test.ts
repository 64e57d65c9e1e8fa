import { toWire } from "../../../lib/protocol/wire.ts";
import assert from "node:assert/strict";
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
  const node = new NodeFeed({
    url: "ws://node",
    solver: solver.address,
    clock,
    random: () => 1,
    connect: network.connect,
    handlers: {
      onSubscribed: () => events.push("subscribed"),
      onLost: () => events.push("lost"),
      onThesis: (thesis) => events.push(thesis),
      onPrices: (prices) => events.push(prices["ETH/USDT"]?.price),
    },
  });
  node.start();
  return { node, network, clock, events };
}

function accept(network: FakeNetwork): void {
  network.newest.open();
  network.newest.deliver('{"jsonrpc":"2.0","id":1,"result":"0xa"}');
  network.newest.deliver('{"jsonrpc":"2.0","id":2,"result":"0xb"}');
}

Deno.test("Node feed: subscribes to own theses and to prices, and passes both on", () => {
  const { node, network, events } = feed();
  accept(network);
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
  assert.equal(first, "subscribed");
  assert.deepEqual(second, thesis);
  assert.equal(price, 3_000_000_000n);
  node.stop();
});

Deno.test("Node feed: subscribes anew after every loss, and says so", () => {
  const { node, network, clock, events } = feed();
  accept(network);
  network.newest.end();
  clock.advance(250);
  accept(network);
  assert.deepEqual(events, ["subscribed", "lost", "subscribed"]);
  node.stop();
  assert.equal(clock.pending, 0);
});

Deno.test("Node feed: each outage is logged once, and so is its end", () =>
  withLogs("info", (records) => {
    const { node, network, clock } = feed();
    accept(network);
    for (let outage = 0; outage < 2; outage++) {
      // Waits double up to 2 s, and begin anew after a connection that lasted.
      clock.advance(5_000);
      for (const waitMs of [250, 500, 1_000, 2_000, 2_000]) {
        network.newest.end();
        const { length } = network.sockets;
        clock.advance(waitMs - 1);
        assert.equal(network.sockets.length, length);
        clock.advance(1);
        assert.equal(network.sockets.length, length + 1);
      }
      accept(network);
    }
    const logged = records.map(({ category, level, properties: { event, url } }) =>
      [category[1], level, event, url].join(" ")
    );
    const outage = ["solver warning node_lost ws://node", "solver info node_back ws://node"];
    assert.deepEqual(logged, [...outage, ...outage]);
    node.stop();
    return Promise.resolve();
  }));

Deno.test("Node feed: a connection that falls silent for 10 s is given up", () => {
  const { node, network, clock, events } = feed();
  accept(network);
  clock.advance(9_999);
  assert.equal(network.sockets.length, 1);
  clock.advance(251);
  assert.equal(network.sockets.length, 2);
  assert.deepEqual(events, ["subscribed", "lost"]);
  node.stop();
});

Deno.test("Node feed: a frame that makes no sense ends the connection", () => {
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
    accept(network);
    network.newest.deliver(frame);
    assert.deepEqual(events, ["subscribed", "lost"], frame);
    assert.ok(network.newest.closed);
    node.stop();
  }
});
