import assert from "node:assert/strict";
import { Registry } from "prom-client";
import { Cors } from "../../../lib/http/cors.ts";
import { HOUR_MS } from "../../../lib/time.ts";
import { AddressCounts, ByteBudget, CallerBytes } from "../../../services/proxy/shared/limits.ts";
import { ANSWER_BYTES } from "../../../services/proxy/clients/client_queue.ts";
import { isHandshake, WsClients } from "../../../services/proxy/clients/ws_clients.ts";
import { ProxyMetrics } from "../../../services/proxy/shared/metrics.ts";
import { Turns } from "../../../lib/timing/turns.ts";
import { eventually, nextTurn } from "../../support/eventually.ts";
import type { CallerAddress } from "../../../lib/http/caller_address.ts";
import { type ClientSink, HubClient } from "../../../services/proxy/hub/subscriptions.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { address } from "../hub/hub_scene.ts";
import { FakeClientSocket } from "./fake_client_socket.ts";
import { seriesIn } from "../../support/http_answers.ts";
import { resetHandshake, RpcSocket } from "../../support/rpc_socket.ts";

const SOCKETS = "../../support/rpc_socket.ts";
const GOOD = "https://good.example";

/** Clients of a hub that notes who is connected. */
function scene(clock = new FakeClock()) {
  const caughtUp: HubClient[] = [];
  const hub = {
    connected: new Set<HubClient>(),
    connect(sink: ClientSink, address: CallerAddress) {
      const client = new HubClient(sink, address);
      hub.connected.add(client);
      return client;
    },
    disconnect: (client: HubClient) => hub.connected.delete(client),
    catchUp: (client: HubClient) => caughtUp.push(client),
    subscribe: () => assert.fail("Nobody subscribes"),
    unsubscribe: () => assert.fail("Nobody subscribes"),
  };
  const registry = new Registry();
  const budget = new ByteBudget(1_000_000);
  const router = {
    answer: (body: string) =>
      body === "a defect"
        ? Promise.reject(new TypeError(body))
        : Promise.resolve({ status: 200, body, target: "read" as const }),
  };
  const clients = new WsClients({
    openRequests: new AddressCounts(256, 1_000),
    hub,
    router,
    cors: new Cors([GOOD]),
    trustProxy: false,
    clock,
    metrics: new ProxyMetrics(registry),
    budget,
    turns: new Turns(clock),
    callerBytes: new CallerBytes(budget),
    maxClients: 3,
    maxClientsPerAddress: 2,
    maxMessageBytes: 1_000,
    maxSubscriptionsPerClient: 10,
  });
  const adopt = (from = "192.0.2.1") => {
    const socket = new FakeClientSocket();
    clients.serve(socket, address(from));
    return socket;
  };
  const metric = async (series: string) => seriesIn(await registry.metrics(), series);
  return { hub, caughtUp, clock, clients, adopt, metric, budget };
}

Deno.test("WsClients: a handshake is a GET of /ws or / with an upgrade to WebSocket", () => {
  const rows: [method: string, path: string, upgrade: string | undefined, wanted: boolean][] = [
    ["GET", "/ws", "websocket", true],
    ["GET", "/?key=1", "WebSocket", true],
    ["POST", "/ws", "websocket", false],
    ["GET", "/ws", "h2c", false],
    ["GET", "/ws", undefined, false],
    ["GET", "/health", "websocket", false],
  ];
  for (const [method, path, upgrade, wanted] of rows) {
    const headers: HeadersInit = upgrade === undefined ? {} : { upgrade };
    assert.equal(isHandshake(new Request(`http://x${path}`, { method, headers })), wanted, path);
  }
});

Deno.test("WsClients: refuses a handshake from a foreign origin, or over a limit of clients", async () => {
  const { clients, adopt, metric } = scene();
  const refusal = async (from = "192.0.2.1", headers: HeadersInit = {}) => {
    const response = clients.admit(new Headers(headers), from);
    if (!(response instanceof Response)) return undefined;
    assert.equal(response.headers.get("content-type"), "application/json");
    return [response.status, (await response.json()).error.code];
  };
  assert.deepEqual(await refusal("192.0.2.1", { origin: "https://bad.example" }), [403, -32600]);
  assert.equal(await refusal("192.0.2.1", { origin: GOOD }), undefined);
  const [first] = [adopt(), adopt()];
  assert.deepEqual(await refusal(), [429, -32005]);
  assert.equal(await refusal("192.0.2.2"), undefined);
  adopt("192.0.2.2");
  assert.deepEqual(await refusal("192.0.2.3"), [429, -32005]);
  assert.equal(await metric('proxy_refusals_total{limit="connections_per_address"}'), 1);
  assert.equal(await metric('proxy_refusals_total{limit="connections"}'), 1);
  first.events.onClosed();
  assert.equal(await refusal(), undefined, "one has left");
  void clients.closeAll();
  assert.deepEqual(await refusal(), [503, -32002]);
});

Deno.test("WsClients: a handshake without a required header is answered with 400, and counted", async () => {
  const { clients, metric } = scene();
  const request = new Request("http://x/ws", { headers: { upgrade: "websocket" } });
  const response = clients.accept(request, "192.0.2.1");
  assert.deepEqual([response.status, (await response.json()).error.code], [400, -32600]);
  const series = 'proxy_http_requests_total{method="GET",target="proxy",status="400"}';
  assert.equal(await metric(series), 1);
});

Deno.test(
  "WsClients: a handshake that was reset before it was accepted leaves nothing",
  { ignore: Deno.build.os !== "linux" },
  async () => {
    const { clients, clock } = scene();
    const { promise: status, resolve } = Promise.withResolvers<number>();
    await using server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      (request, { remoteAddr }) => {
        const response = clients.accept(request, remoteAddr.hostname);
        resolve(response.status);
        return response;
      },
    );
    const code = `import { resetHandshake } from "${import.meta.resolve(SOCKETS)}";
      await resetHandshake("ws://127.0.0.1:${server.addr.port}/ws")`;
    // This process accepts nothing while it waits.
    assert(new Deno.Command(Deno.execPath(), { args: ["eval", code] }).outputSync().success);
    assert.equal(await status, 400);
    assert.equal(clock.pending, 0);
  },
);

// The runtime never ends the request of a handshake that is reset.
const RESETS = { sanitizeOps: false, sanitizeResources: false };

Deno.test(
  "WsClients: handshakes that are reset count for an hour, on the first port only",
  RESETS,
  async () => {
    const { clients, clock, metric } = scene();
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      (request) => clients.accept(request, "192.0.2.1"),
    );
    const url = `ws://127.0.0.1:${server.addr.port}/ws`;
    const opens = () => RpcSocket.open(url).then((client) => client.close()).then(() => true);
    for (let n = 0; n < 5; n += 1) await opens();
    await eventually("a refusal", async () => {
      await resetHandshake(url);
      return !await opens().catch(() => false);
    });
    assert((await metric('proxy_refusals_total{limit="connections_per_address"}') ?? 0) > 0);
    assert(!(clients.admit(new Headers(), "192.0.2.1") instanceof Response), "the second port");
    clock.advance(HOUR_MS - 1);
    await assert.rejects(opens());
    clock.advance(1);
    await opens();
    await clients.closeAll();
    assert.equal(clock.pending, 0);
    void server.shutdown();
  },
);

Deno.test("WsClients: a handshake that completes after others have filled the limit, or after a stop, is closed", async () => {
  const { clients, adopt } = scene();
  const closed: (number | undefined)[] = [];
  const opened: WebSocket[] = [];
  const { upgradeWebSocket } = Deno;
  Deno.upgradeWebSocket = () => {
    // What is used of it before it opens.
    const socket = Object.assign({} as WebSocket, { close: (code?: number) => closed.push(code) });
    opened.push(socket);
    return { socket, response: new Response() };
  };
  try {
    const headers = { upgrade: "websocket" };
    for (const from of ["192.0.2.1", "192.0.2.2"]) {
      clients.accept(new Request("http://x/ws", { headers }), from);
    }
  } finally {
    Deno.upgradeWebSocket = upgradeWebSocket;
  }
  const others = [adopt(), adopt()];
  opened[0]?.onopen?.(new Event("open"));
  assert.deepEqual(closed, [1013]);
  for (const other of others) other.events.onClosed();
  await clients.closeAll();
  opened[1]?.onopen?.(new Event("open"));
  assert.deepEqual(closed, [1013, 1012]);
});

Deno.test("WsClients: counts a client until it disconnects", async () => {
  const { hub, caughtUp, adopt, metric, budget } = scene();
  const client = adopt();
  adopt();
  const [first, second] = hub.connected;
  assert.equal(await metric("proxy_ws_connections_active"), 2);
  client.events.onText("{}");
  await eventually("its answer", () => client.frames.length);
  client.events.onTooLarge();
  assert.equal(await metric('proxy_refusals_total{limit="message_bytes"}'), 1);
  client.events.onDrain();
  assert(caughtUp.length === 1 && caughtUp[0] === first);
  assert.equal(budget.used, 2 + ANSWER_BYTES, "those of its answer");
  client.events.onClosed();
  assert(second !== undefined && hub.connected.size === 1 && hub.connected.has(second));
  assert.deepEqual([budget.used, await metric("proxy_ws_connections_active")], [0, 1]);
});

Deno.test("WsClients: unfinished messages over 64 KiB count as memory, and their client is cut without room", async () => {
  const { adopt, metric, budget } = scene();
  const [client, other] = [adopt(), adopt()];
  for (const [bytes, used] of [[65_536, 0], [65_537, 65_537], [300_000, 300_000]] as const) {
    client.events.onUnfinished(bytes);
    assert.equal(budget.used, used);
  }
  client.events.onUnfinished(0);
  assert.equal(budget.used, 0);
  client.events.onUnfinished(200_000);
  other.events.onUnfinished(600_000);
  assert.deepEqual([client.isTerminated, other.isTerminated], [false, true]);
  assert.equal(await metric('proxy_refusals_total{limit="buffered_bytes"}'), 1);
  other.events.onClosed();
  assert.equal(budget.used, 200_000);
  client.events.onClosed();
  assert.equal(budget.used, 0);
});

/** A clock by which each message takes a turn of its own. */
class SlowClock extends FakeClock {
  override now(): number {
    this.jump(4);
    return super.now();
  }
}

Deno.test("WsClients: messages that wait for their turn count as memory, until they have it", async () => {
  const clock = new SlowClock();
  const { adopt, metric, budget } = scene(clock);
  const client = adopt();
  client.events.onText("1".repeat(900)); // at once
  assert.equal(budget.used, 0);
  client.events.onText("2"); // a short one may always wait
  for (let n = 0; n < 10; n += 1) client.events.onText("3".repeat(900));
  assert.equal(budget.used, 9_000);
  clock.advance(1_000);
  assert.equal(budget.used, 0);
  for (let n = 0; n < 1_000 && client.closed.length === 0; n += 1) {
    client.events.onText("3".repeat(900));
  }
  assert.deepEqual(client.closed, [1013], "without room");
  assert.equal(await metric('proxy_refusals_total{limit="buffered_bytes"}'), 1);
});

for (const [when, clock] of [["need not", new FakeClock()], ["has to", new SlowClock()]] as const) {
  Deno.test(`WsClients: without room for messages, a short one that ${when} wait is handled`, async () => {
    const { adopt, budget } = scene(clock);
    const [client, other] = [adopt("192.0.2.1"), adopt("192.0.2.2")];
    other.events.onText("1"); // uses the turn up, by the slow clock
    budget.add(budget.max);
    client.events.onText("1");
    clock.advance(100);
    await nextTurn();
    assert.deepEqual([client.closed, client.frames.length], [[], 1]);
  });
}

Deno.test("WsClients: a client with 1,024 messages that wait for their turn is closed at the next one", async () => {
  const clock = new SlowClock();
  const { adopt, metric } = scene(clock);
  const [client, other] = [adopt("192.0.2.1"), adopt("192.0.2.2")];
  for (let n = 0; n < 1_025; n += 1) client.events.onText("1");
  assert.deepEqual(client.closed, []);
  other.events.onText("2");
  clock.advance(50);
  await nextTurn();
  assert.equal(other.frames.length, 1, "callers take turns");
  const handled = client.frames.length - 1; // the first one was handled at once
  assert(handled > 0 && handled < 20);
  let sent = 0;
  while (client.closed.length === 0) {
    client.events.onText("1");
    sent += 1;
  }
  assert.deepEqual([client.closed, sent], [[1013], handled + 1]);
  assert.equal(await metric('proxy_refusals_total{limit="requests_per_address"}'), 1);
});

Deno.test("WsClients: an unexpected error closes only its client, with 1011", async () => {
  const { adopt } = scene();
  const [client, other] = [adopt(), adopt()];
  client.events.onText("a defect");
  await eventually("its end", () => client.closed.length);
  assert.deepEqual([client.closed, other.closed], [[1011], []]);
});

for (const polite of [2, 1]) {
  Deno.test(`WsClients: closeAll closes clients with 1012 and waits at most a second, while ${polite} of 2 answer`, async () => {
    const { clients, clock, adopt } = scene();
    const sockets = [adopt(), adopt()];
    let isOver = false;
    const drained = clients.closeAll().then(() => isOver = true);
    assert.deepEqual(sockets.map(({ closed }) => closed), [[1012], [1012]]);
    for (const { events } of sockets.slice(0, polite)) {
      await nextTurn();
      assert.equal(isOver, false);
      events.onClosed();
    }
    if (polite < sockets.length) {
      clock.advance(999);
      await nextTurn();
      assert.equal(isOver, false);
      clock.advance(1);
    }
    await drained;
    assert.equal(clock.pending, 0);
  });
}

Deno.test("WsClients: closeAll returns at once without clients", () => scene().clients.closeAll());
