import assert from "node:assert/strict";
import { Clients } from "../../../services/node/rpc/clients.ts";
import type { CallableMethod } from "../../../services/node/rpc/method.ts";
import { Dispatcher } from "../../../services/node/rpc/dispatcher.ts";
import { SENDS_PER_TURN, Subscriptions } from "../../../services/node/rpc/subscriptions.ts";
import { SerialQueue } from "../../../services/node/rpc/serial_queue.ts";
import { StorageError } from "../../../services/node/store/database.ts";
import { Turns } from "../../../lib/timing/turns.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { eventually } from "../../support/eventually.ts";
import { handshake, RpcSocket, textFrame, WEBSOCKET_KEY } from "../../support/rpc_socket.ts";
import { readSeries } from "../../support/http_answers.ts";
import { withNode } from "../support/running_node.ts";
import { withSteppedNode } from "../support/stepped_node.ts";

/** Bounds are numbers here: those of `docs/protocol.md`, "Limits". */
const MIB = 1024 * 1024;

/** Opens a WebSocket by hand, so that the test decides whether anything is read. */
async function connectByHand(url: string): Promise<Deno.TcpConn> {
  const [connection, answer] = await handshake(url, WEBSOCKET_KEY);
  assert.match(answer, /^HTTP\/1\.1 101 /);
  return connection;
}

/** Reads what the node has sent, up to the close frame with this reason, and hangs up. */
async function readToClose(connection: Deno.TcpConn, reason: string): Promise<void> {
  const bytes = new Uint8Array(MIB);
  for (let end = ""; !end.includes(reason);) {
    const length = await connection.read(bytes) ?? assert.fail("It ended without a close frame");
    end = end.slice(-reason.length) + new TextDecoder().decode(bytes.subarray(0, length));
  }
  connection.close();
}

Deno.test("Clients: a client that reads nothing is disconnected, and nobody else waits for it", () =>
  withNode(async ({ node }) => {
    const slow = await connectByHand(node.url);
    const subscribe = { jsonrpc: "2.0", id: 1, method: "eth_subscribe", params: ["prices"] };
    const batch = textFrame(JSON.stringify(Array(100).fill(subscribe)));
    for (let batches = 0; batches < 5; batches++) await slow.write(batch);

    await using other = await RpcSocket.open(node.wsUrl);
    const heads = await other.subscribe("newHeads");
    const slowClients = () => readSeries(node.url, "node_websocket_slow_clients_total");
    const headsGoOn = (count: number) => {
      const seen = other.notifications(heads).length;
      return other.waitFor(() => other.notifications(heads).length > seen + count);
    };
    await eventually("the slow client is counted", async () => await slowClients() === 1);
    await headsGoOn(2);
    assert.equal(await slowClients(), 1, "counted once");
    await headsGoOn(10);
    await readToClose(slow, "Reading too slowly");
    const clients = () => readSeries(node.url, "node_websocket_clients");
    await eventually("the slow client is gone", async () => await clients() === 1);
  }));

Deno.test("Clients: a clock that is set forward does not shorten the time that a client may be behind", () =>
  withSteppedNode(async ({ stepped, clock, node }) => {
    const slow = await connectByHand(node.url);
    const subscribe = { jsonrpc: "2.0", id: 1, method: "eth_subscribe", params: ["prices"] };
    const batch = textFrame(JSON.stringify(Array(100).fill(subscribe)));
    for (let batches = 0; batches < 5; batches++) await slow.write(batch);
    const slowClients = () => readSeries(node.url, "node_websocket_slow_clients_total");
    for (let seconds = 0; seconds < 12; seconds++) {
      await stepped.run(1);
      clock.setBy(900); // not so far that checkpoints are skipped
      assert.equal(await slowClients(), 0, `after ${seconds} s by the clock`);
    }
    slow.close();
    const clients = () => readSeries(node.url, "node_websocket_clients");
    await eventually("the slow client is gone", async () => await clients() === 1);
  }));

/** Clients of a node that answers `echo` at once, and `costly` when its queue is open. */
function startClients(beforeAnswer = () => Promise.resolve()) {
  const queue = new SerialQueue();
  const subscriptions = new Subscriptions();
  const clock = new FakeClock();
  let slow = 0;
  const resumed = Promise.withResolvers<void>();
  const dispatcher = new Dispatcher({
    methods: new Map<string, CallableMethod>([
      ["echo", { call: (params) => params }],
      ["costly", { isCostly: true, call: (params) => params }],
      ["busy", { call: () => clock.advance(4) }], // the time of a turn
      ["long", { call: () => "x".repeat(MIB / 2) }],
      ["flood", { call: () => subscriptions.publish("newHeads", () => "x".repeat(2 * MIB)) }],
      ["pause", { call: () => void queue.pausedDuring(() => resumed.promise) }],
      ["subscribe", { call: (_params, client) => client?.subscribe("newHeads") }],
    ]),
    onCallEnded: () => {},
    queue,
    beforeAnswer,
  });
  const clients = new Clients({
    dispatcher,
    subscriptions,
    clock,
    turns: new Turns(clock),
    onSlowClient: () => slow += 1,
  });
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => clients.accept(request, "192.0.2.1", false) ?? new Response(null, { status: 404 }),
  );
  return {
    url: `ws://127.0.0.1:${server.addr.port}`,
    subscriptions,
    queue,
    clock,
    clients,
    slow: () => slow,
    resume: resumed.resolve,
    async [Symbol.asyncDispose]() {
      await clients.closeAll();
      await server.shutdown();
    },
  };
}

/** Declares a test with clients of its own. */
const test = (name: string, run: (parts: ReturnType<typeof startClients>) => Promise<void>) =>
  Deno.test(`Clients: ${name}`, () => withClients(run));

async function withClients(
  test: (parts: ReturnType<typeof startClients>) => Promise<void>,
  beforeAnswer?: () => Promise<void>,
): Promise<void> {
  await using parts = startClients(beforeAnswer);
  await test(parts);
}

test("a burst far over the queue reaches a client that reads", async ({ url, subscriptions, slow }) => {
  await using socket = await RpcSocket.open(url);
  const id = String((await socket.call("subscribe")).result);
  const events = 4 * SENDS_PER_TURN;
  const text = "x".repeat(16 * MIB / events);
  for (let n = 0; n < events; n++) subscriptions.publish("newHeads", () => `${n} ${text}`);
  await eventually("all events", () => socket.notifications(id).length === events);
  const numbers = socket.notifications(id).map((result) => parseInt(String(result)));
  assert.deepEqual(numbers, Array.from({ length: events }, (_, n) => n));
  assert.equal(slow(), 0);
});

Deno.test("Clients: a client that reads nothing is disconnected if a burst lasts too long or is too large", async () => {
  for (const isTooLarge of [false, true]) {
    await withClients(async ({ url, subscriptions, clock, slow }) => {
      const connection = await connectByHand(url);
      const subscribe = { jsonrpc: "2.0", id: 1, method: "subscribe" };
      await connection.write(textFrame(JSON.stringify(subscribe)));
      await eventually("the subscription", () => subscriptions.count("newHeads") === 1);
      const event = "x".repeat(8 * MIB);
      const publish = () => subscriptions.publish("newHeads", () => event);
      for (let n = 0; n < 4; n++) publish();
      clock.advance(2_999);
      publish();
      assert.equal(slow(), 0);
      if (isTooLarge) { for (let n = 0; n < 5; n++) publish(); }
      clock.advance(1);
      publish();
      assert.equal(slow(), 1);
      assert.equal(subscriptions.count("newHeads"), 0);
      connection.close();
    });
  }
});

for (const excess of [0, 2]) {
  const then = excess === 0 ? "are all answered" : "get an error where they are too many";
  const sent = 100 + excess;
  test(`${sent} pending requests of a client ${then}`, async ({ url, queue }) => {
    await using socket = await RpcSocket.open(url);
    const open = Promise.withResolvers<void>();
    const closed = queue.pausedDuring(() => open.promise);
    for (let id = 1_001; id <= 1_000 + sent; id++) {
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, method: "costly" }));
    }
    await eventually(
      "the rest is refused",
      () => socket.messages.length === excess && queue.waiting === sent - excess,
    );
    const refused = socket.messages.map(({ id, error }) => [id, error?.code]);
    assert.deepEqual(refused, [[1_101, -32005], [1_102, -32005]].slice(0, excess));
    open.resolve();
    await closed;
    await socket.waitFor(() => socket.messages.length === sent);
    assert.deepEqual((await socket.call("echo", [1])).result, [1], "the socket stays open");
  });
}

test("messages of a busy node wait for their turn, and a client of too many is closed", async ({ url, subscriptions, clock, slow }) => {
  await using socket = await RpcSocket.open(url);
  const sendAtOnce = async (count: number) => {
    await socket.call("busy");
    for (let id = 1_001; id <= 1_000 + count; id++) {
      socket.send({ jsonrpc: "2.0", id, method: "subscribe" });
    }
  };
  await sendAtOnce(4_096); // those of a proxy that reconnects
  await eventually("they are handled in turns", () => {
    clock.advance(1);
    return subscriptions.count("newHeads") === 4_096;
  });
  await socket.waitFor(({ id }) => id === 5_096);
  await sendAtOnce(5_121);
  assert.equal((await socket.closed).code, 1013);
  await eventually("none is left", () => subscriptions.count("newHeads") === 0);
  assert.equal(slow(), 1);
});

test("messages of all clients that wait are bounded, and a client that sends little stays", async ({ url, subscriptions, clock, slow }) => {
  const sockets = await Promise.all(Array.from({ length: 32 }, () => RpcSocket.open(url)));
  await using last = await RpcSocket.open(url);
  await last.call("busy");
  const notice = JSON.stringify({ jsonrpc: "2.0", method: "echo" });
  for (const socket of sockets) {
    for (let sent = 0; sent < 5_121; sent++) socket.send(notice); // counted as over 20 MiB
    await socket.closed; // the later ones take half of what is left
  }
  assert.equal(slow(), sockets.length);
  for (const id of [2_001, 2_002]) last.send({ jsonrpc: "2.0", id, method: "subscribe" });
  await using _later = await RpcSocket.open(url); // they have arrived by then
  await eventually("they are handled", () => {
    clock.advance(1);
    return subscriptions.count("newHeads") === 2;
  });
  await Promise.all(sockets.map((socket) => socket[Symbol.asyncDispose]()));
});

test("unread long answers become errors, and the client keeps its subscriptions", async ({ url, subscriptions, slow }) => {
  await using socket = await RpcSocket.open(url);
  await socket.call("subscribe");
  const calls = 12;
  for (let id = 1; id <= calls; id++) {
    socket.send(JSON.stringify({ jsonrpc: "2.0", id, method: "long" }));
  }
  await socket.waitFor(() => socket.messages.length === calls + 1);
  const answers = socket.messages.slice(1);
  const errors = answers.filter(({ error }) => error?.code === -32005);
  assert(errors.length > 0 && errors.length < calls, `${errors.length} errors`);
  assert.match(errors[0]?.error?.message ?? "", /bytes wait to be read/);
  assert.deepEqual([slow(), subscriptions.count("newHeads")], [0, 1]);
});

test("a batch whose answer becomes an error leaves no subscription behind", async ({ url, subscriptions }) => {
  await using socket = await RpcSocket.open(url);
  await socket.call("subscribe");
  const calls = ["subscribe", "long", "flood"];
  socket.send(calls.map((method, id) => ({ jsonrpc: "2.0", id, method })));
  const { error } = await socket.waitFor(({ error }) => error !== undefined);
  assert.match(error?.message ?? "", /bytes wait to be read/);
  await socket.call("subscribe");
  assert.equal(subscriptions.count("newHeads"), 2, "those before and after the batch");
});

Deno.test("Clients: a subscription whose id the client does not get is ended", async () => {
  let isDiskFull = true;
  await withClients(async ({ url, subscriptions }) => {
    await using socket = await RpcSocket.open(url);
    const { error } = await socket.call("subscribe");
    assert.match(error?.message ?? "", /cannot write to its disk/);
    isDiskFull = false;
    socket.send({ jsonrpc: "2.0", method: "subscribe" }); // it wants no answer
    await socket.call("subscribe");
    await socket.call("echo");
    assert.equal(subscriptions.count("newHeads"), 1, "the one whose id was sent");
    const withoutIds = Array(99).fill({ jsonrpc: "2.0", method: "subscribe" });
    for (let subscribed = 0; subscribed < 4_096; subscribed += withoutIds.length) {
      socket.send([...withoutIds, { jsonrpc: "2.0", id: "echo", method: "echo" }]);
      await socket.waitFor((message) => Array.isArray(message));
      socket.messages.length = 0;
    }
    assert.match(String((await socket.call("subscribe")).result), /^0x/, "not over its limit");
  }, () => isDiskFull ? Promise.reject(new StorageError("disk full")) : Promise.resolve());
});

test("subscriptions of a batch start with its answer, not with one before it", async ({ url, subscriptions, queue, resume }) => {
  await using socket = await RpcSocket.open(url);
  const calls = ["subscribe", "pause", "echo"];
  socket.send(calls.map((method, id) => ({ jsonrpc: "2.0", id, method })));
  await eventually("the batch waits", () => queue.waiting === 1);
  await socket.call("echo");
  assert.equal(subscriptions.count("newHeads"), 0);
  resume();
  await socket.waitFor((message) => Array.isArray(message));
  assert.equal(subscriptions.count("newHeads"), 1);
});

test("a slow client loses its subscriptions at once, and is counted once", async ({ url, subscriptions, slow }) => {
  const socket = await RpcSocket.open(url);
  for (let ids = 0; ids < 3; ids++) await socket.call("subscribe");
  await socket.call("echo");
  assert.equal(subscriptions.count("newHeads"), 3);
  const quarter = "x".repeat(16 * MIB);
  // One turn of the event loop: nothing of it can be sent in between.
  subscriptions.publish("newHeads", () => quarter);
  assert.deepEqual([slow(), subscriptions.count("newHeads")], [0, 3]);
  subscriptions.publish("newHeads", () => quarter);
  assert.deepEqual([slow(), subscriptions.count("newHeads")], [1, 0]);
  assert.equal((await socket.closed).code, 1013);
  assert.equal(slow(), 1);
});

test("a client that disconnects loses its subscriptions", async ({ url, subscriptions }) => {
  const socket = await RpcSocket.open(url);
  await socket.call("subscribe");
  await socket.call("echo");
  assert.equal(subscriptions.count("newHeads"), 1);
  await socket.close();
  await eventually("no subscription", () => subscriptions.count("newHeads") === 0);
});

test("a socket that never opens, as its client has reset the connection, is not kept", ({ clients }) => {
  const { upgradeWebSocket } = Deno;
  Deno.upgradeWebSocket = () => ({ socket: {} as WebSocket, response: new Response() });
  try {
    const request = new Request("http://node.test", { headers: { upgrade: "websocket" } });
    assert.ok(clients.accept(request, "192.0.2.1", false));
    assert.equal(clients.count, 0);
  } finally {
    Deno.upgradeWebSocket = upgradeWebSocket;
  }
  return Promise.resolve();
});
