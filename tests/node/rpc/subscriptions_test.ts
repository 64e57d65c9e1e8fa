import assert from "node:assert/strict";
import { SUBSCRIPTION_KINDS } from "../../../lib/protocol/methods/ethereum.ts";
import {
  SENDS_PER_TURN,
  SENDS_WAITING_MAX,
  Subscriptions,
} from "../../../services/node/rpc/subscriptions.ts";
import { actors, deposit, rfqSubmit } from "../support/actors.ts";
import { RpcSocket } from "../../support/rpc_socket.ts";
import { withSteppedNode } from "../support/stepped_node.ts";

const { user, solver } = actors;

function newClient(subscriptions: Subscriptions) {
  const sent: { subscription: string; result: unknown }[] = [];
  const client = subscriptions.connect((text) => sent.push(JSON.parse(text).params));
  return { client, sent };
}

Deno.test("Subscriptions: each subscription gets each event of its kind once", () => {
  const subscriptions = new Subscriptions();
  const clients = [newClient(subscriptions), newClient(subscriptions)];
  for (const { client } of clients) {
    const kinds = [...SUBSCRIPTION_KINDS, "prices" as const];
    client.activate(kinds.map((kind) => client.subscribe(kind)));
  }
  subscriptions.publish("prices", () => "p");
  for (const { sent } of clients) {
    assert.deepEqual(sent.map(({ result }) => result), ["p", "p"]);
    assert.equal(new Set(sent.map(({ subscription }) => subscription)).size, 2);
  }
});

Deno.test("Subscriptions: an event is computed once for all subscribers, and not without any", () => {
  const subscriptions = new Subscriptions();
  let made = 0;
  const make = () => made += 1;
  subscriptions.publish("newHeads", make);
  assert.equal(made, 0);
  for (let clients = 0; clients < 3; clients++) {
    const { client } = newClient(subscriptions);
    client.activate([client.subscribe("newHeads")]);
  }
  subscriptions.publish("newHeads", make);
  assert.equal(made, 1);
});

Deno.test("Subscriptions: disconnecting removes all subscriptions of the client, and no others", () => {
  const subscriptions = new Subscriptions();
  const [gone, stays] = [newClient(subscriptions), newClient(subscriptions)];
  for (const { client } of [gone, stays]) {
    client.activate([client.subscribe("newHeads"), client.subscribe("theses")]);
  }
  const own = gone.client.subscribe("theses");
  assert.equal(stays.client.unsubscribe(own), false, "not its own");
  gone.client.disconnect();
  assert.deepEqual(SUBSCRIPTION_KINDS.map((kind) => subscriptions.count(kind)), [1, 1, 0, 0]);
});

Deno.test("Subscriptions: a call that ends after the client disconnected does not subscribe it", () => {
  const subscriptions = new Subscriptions();
  const client = subscriptions.connect(() => assert.fail("sent to a client that left"));
  const ids = [client.subscribe("newHeads")];
  client.disconnect();
  ids.push(client.subscribe("newHeads"));
  client.activate(ids);
  assert.equal(subscriptions.count("newHeads"), 0);
  subscriptions.publish("newHeads", () => ({}));
});

Deno.test("Subscriptions: a burst is sent over several turns, in order, and not to disconnected clients", () => {
  const turns: (() => void)[] = [];
  const subscriptions = new Subscriptions((task) => {
    turns.push(task);
    return () => {};
  });
  const [stays, leaves] = [newClient(subscriptions), newClient(subscriptions)];
  for (const { client } of [stays, leaves]) {
    client.activate([client.subscribe("theses")]);
  }
  const events = 2 * SENDS_PER_TURN;
  for (let n = 0; n < events; n++) {
    subscriptions.publishThesis({ user: user.address, solver: solver.address }, () => n);
  }
  assert.deepEqual([stays.sent.length, leaves.sent.length], [
    SENDS_PER_TURN / 2,
    SENDS_PER_TURN / 2,
  ]);
  leaves.client.disconnect();
  for (let turn = turns.shift(); turn !== undefined; turn = turns.shift()) {
    const before = stays.sent.length;
    turn();
    assert.ok(stays.sent.length - before <= SENDS_PER_TURN);
  }
  assert.deepEqual(
    stays.sent.map(({ result }) => result),
    Array.from({ length: events }, (_, n) => n),
  );
  assert.equal(leaves.sent.length, SENDS_PER_TURN / 2);
});

Deno.test("Subscriptions: when too many events wait, all are sent at once", () => {
  const subscriptions = new Subscriptions(() => () => {});
  let sent = 0;
  const client = subscriptions.connect(() => sent += 1);
  const each = 4_096;
  client.activate(Array.from({ length: each }, () => client.subscribe("newHeads")));
  const events = Math.floor(SENDS_WAITING_MAX / each);
  for (let n = 0; n < events; n++) subscriptions.publish("newHeads", () => n);
  assert.equal(sent, SENDS_PER_TURN, "the turn never comes");
  for (let n = 0; n < 2; n++) subscriptions.publish("newHeads", () => n);
  assert.ok(sent > SENDS_WAITING_MAX, `${sent}`);
});

Deno.test("Subscriptions: a client can have at most 4,096", () => {
  const { client } = newClient(new Subscriptions());
  const ids = Array.from({ length: 4_096 }, () => client.subscribe("theses"));
  assert.throws(() => client.subscribe("theses"), { code: "TOO_MANY_SUBSCRIPTIONS" });
  client.unsubscribe(ids[0]!);
  client.subscribe("theses");
});

Deno.test("Subscriptions: ids look like geth's", () => {
  const client = new Subscriptions().connect(() => {});
  const ids = Array.from({ length: 300 }, () => client.subscribe("theses"));
  for (const id of ids) assert.match(id, /^0x(0|[1-9a-f][0-9a-f]{0,31})$/);
  assert.equal(new Set(ids).size, ids.length);
});

// What a node tells its clients about theses and prices, checkpoint by checkpoint.

Deno.test("Node: a theses subscription sends what matches its filter", () =>
  withSteppedNode(async ({ node, client, stepped }) => {
    await using socket = await RpcSocket.open(node.readWsUrl);
    const [wrongUser, all, mine, wrongSolver, bySolver] = [
      await socket.subscribe("theses", { user: solver.address }),
      await socket.subscribe("theses"),
      await socket.subscribe("theses", { user: user.address.toLowerCase() }),
      await socket.subscribe("theses", { user: user.address, solver: user.address }),
      await socket.subscribe("theses", { solver: solver.address }),
    ];
    const timestamp = stepped.now;
    await client.sendTransaction(deposit({ timestamp }));
    await client.sendTransaction(rfqSubmit({ timestamp }));
    await socket.waitFor(({ params }) => params?.subscription === bySolver);
    const counts = [wrongUser, all, mine, wrongSolver, bySolver].map((id) =>
      socket.notifications(id!).length
    );
    assert.deepEqual(counts, [0, 1, 1, 0, 1]);
  }));

Deno.test("Node: health and oracle status report whether prices are fresh", () =>
  withSteppedNode(async ({ node, oracle, stepped }) => {
    const health = async () => await (await fetch(`${node.url}/health`)).json();
    assert.deepEqual(await health(), { status: "healthy", blockNumber: 1, oracle: "fresh" });
    const lastSuccess = stepped.now;
    oracle.answer = () => new Response("away", { status: 503 });
    await stepped.run(2);
    assert.equal((await health()).oracle, "fresh");
    await stepped.run(1);
    assert.equal((await health()).oracle, "stale");
    await using socket = await RpcSocket.open(node.wsUrl);
    const status = Object((await socket.call("core_getOracleStatus")).result);
    assert.deepEqual([status.state, status.markets["ETH/USDT"].state, status.lastFailure.outcome], [
      "stale",
      "stale",
      "error",
    ]);
    assert.deepEqual([status.failuresInARow, status.lastSuccess], [3, lastSuccess]);
  }, { maxStaleMs: 200 }));
