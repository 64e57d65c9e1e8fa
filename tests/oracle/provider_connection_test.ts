import assert from "node:assert/strict";
import { MARKETS } from "../../lib/protocol/markets.ts";
import { ProviderConnection, RetrySchedule } from "../../services/oracle/provider_connection.ts";
import type { Provider } from "../../services/oracle/providers/provider.ts";
import { binance } from "../../services/oracle/providers/binance.ts";
import { kraken } from "../../services/oracle/providers/kraken.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { withLogs } from "../support/recorded_logs.ts";
import { FakeNetwork, type FakeSocket } from "../support/fake_socket.ts";
import { ACK, aggTrade, krakenAnswer } from "./frames.ts";

const NOTICE = '{"e":"serverShutdown"}';

function setUp(provider: Provider = binance, markets = ["BTC/USDT"]) {
  const clock = new FakeClock();
  const network = new FakeNetwork();
  const events: string[] = [];
  const connection = new ProviderConnection({
    provider,
    url: "ws://exchange",
    markets: MARKETS.filter(({ symbol }) => markets.includes(symbol)),
    clock,
    random: () => 1,
    connect: network.connect,
    handlers: {
      onTrade: (market, price) => events.push(`${market} ${price}`),
      onConfirmed: (market) => events.push(`confirmed ${market}`),
      onIdle: () => events.push("idle"),
      onLost: () => events.push("drop"),
      onFault: (fault) => events.push(fault),
      onReconnect: () => events.push("reconnect"),
      onFrameDropped: (reason) => events.push(reason),
    },
  });
  connection.start();
  const news = () => events.splice(0);
  return { clock, network, connection, news };
}

let nextId = 1;

function tradeFrame(clock: FakeClock, price: number, id = nextId++): string {
  return aggTrade(id, clock.now(), String(price));
}

/** Opens a connection, and acknowledges its subscription. */
function subscribe(socket: FakeSocket): void {
  socket.open();
  socket.deliver(ACK);
}

/** Lets time pass on a connection that keeps trading. */
function trade(clock: FakeClock, socket: FakeSocket, ms: number): void {
  for (let passedMs = 0; passedMs < ms; passedMs += 1_000) {
    clock.advance(1_000);
    socket.deliver(tradeFrame(clock, 1));
  }
}

Deno.test("ProviderConnection: a closed connection drops its prices at once and reconnects", () => {
  const { clock, network, connection, news } = setUp();
  assert.equal(connection.session, undefined);
  subscribe(network.newest);
  network.newest.deliver(tradeFrame(clock, 100));
  assert.deepEqual(news(), ["BTC/USDT 100000000"]);
  network.newest.end(1001, "away");
  assert.deepEqual(news(), ["closed", "drop"]);
  const error = { text: "closed: closed with 1001 away", atMs: clock.now() };
  assert.deepEqual(connection.lastError, error);
  clock.advance(499);
  assert.equal(network.sockets.length, 1);
  clock.advance(1);
  assert.equal(network.sockets.length, 2);
  assert.deepEqual(news(), ["reconnect"]);
  assert.equal(connection.reconnects, 1);
});

Deno.test("ProviderConnection: of a long reason of the exchange, 200 characters are logged and shown", () =>
  withLogs("info", (records) => {
    const { network, connection } = setUp();
    network.newest.open();
    network.newest.deliver(JSON.stringify({ code: 3, msg: "x".repeat(60_000) }));
    assert.equal(connection.lastError?.text, `refused: 3 ${"x".repeat(198)}`);
    assert.deepEqual(records.map(({ properties: { detail } }) => String(detail).length), [200]);
    connection.stop();
    return Promise.resolve();
  }));

/** Lets time pass until the next connection is attempted. @returns How long it took. */
function waitFor(network: FakeNetwork, clock: FakeClock): number {
  const { length } = network.sockets;
  const fromMs = clock.now();
  while (network.sockets.length === length) clock.advance(250);
  return clock.now() - fromMs;
}

Deno.test("ProviderConnection: disconnects an exchange that is silent for as long as its adapter says", () => {
  const { clock, network, news } = setUp(kraken);
  network.newest.open();
  network.newest.deliver(krakenAnswer("BTC/USDT", true));
  clock.advance(kraken.liveness.silenceMs - 1);
  assert.deepEqual(news(), []);
  clock.advance(1);
  assert.deepEqual([news(), network.newest.closed], [["silent", "drop"], true]);
});

Deno.test("ProviderConnection: waits double from 500 ms to 2 s, and start over after 30 s without a fault", () => {
  const { clock, network } = setUp();
  const waits: number[] = [];
  const waitForNext = () => waits.push(waitFor(network, clock));
  const refuse = () => (network.newest.fail("refused"), waitForNext());
  for (let attempt = 0; attempt < 5; attempt++) refuse();
  assert.deepEqual(waits, [500, 1_000, 2_000, 2_000, 2_000]);
  waits.length = 0;
  for (const healthyMs of [29_000, 30_000]) {
    subscribe(network.newest);
    trade(clock, network.newest, healthyMs);
    network.newest.end();
    waitForNext();
    refuse();
  }
  assert.deepEqual(waits, [500, 2_000, 500, 1_000]);
});

Deno.test("ProviderConnection: after a shutdown notice it drops the prices and reconnects at once", () => {
  const { clock, network, news } = setUp();
  const first = network.newest;
  subscribe(first);
  first.deliver(tradeFrame(clock, 100));
  clock.advance(1_000);
  first.deliver(NOTICE);
  assert(first.closed);
  assert.deepEqual(news(), ["BTC/USDT 100000000", "shutdown_notice", "drop"]);
  assert.equal(waitFor(network, clock), 500);
  subscribe(network.newest);
  network.newest.deliver(tradeFrame(clock, 101));
  assert.deepEqual(news(), ["reconnect", "BTC/USDT 101000000"]);
});

Deno.test("ProviderConnection: every fault is counted, and each kind is logged at most every 5 s, by any clock", () =>
  withLogs("warning", (records) => {
    const { clock, network, news } = setUp();
    subscribe(network.newest);
    const refuse = () => network.newest.deliver('{"code":2,"msg":"Invalid request"}');
    refuse();
    refuse();
    clock.advance(5_000);
    refuse();
    clock.setBy(-3_600_000);
    refuse();
    network.newest.deliver(NOTICE);
    assert.equal(news().filter((event) => event === "refused").length, 4);
    assert.deepEqual(records.map(({ properties }) => [properties.provider, properties.fault]), [
      ["provider_a", "refused"],
      ["provider_a", "refused"],
      ["provider_a", "refused"],
      ["provider_a", "shutdown_notice"],
    ]);
    assert.equal(records[0]?.properties.detail, "2 Invalid request");
  }));

Deno.test("ProviderConnection: the loss and the return of a provider are logged in one line each", () =>
  withLogs("info", (records) => {
    const { clock, network } = setUp();
    subscribe(network.newest);
    for (let attempt = 0; attempt < 5; attempt++) {
      network.newest.end();
      waitFor(network, clock);
    }
    subscribe(network.newest);
    const lines = records.map(({ properties: { event, fault } }) => [event, fault]);
    assert.deepEqual(lines, [
      ["provider_subscribed", undefined],
      ["provider_lost", "closed"],
      ["provider_back", undefined],
    ]);
  }));

const limit = { event: "connections", burst: 3, refillMs: 10_000 } as const;

function newSchedule() {
  const clock = new FakeClock();
  const rule = { initialMs: 1_000, maxMs: 4_000, limit };
  return { clock, schedule: new RetrySchedule({ rule, clock, random: () => 1 }) };
}

Deno.test("RetrySchedule: time refills the limit, a reset does not", () => {
  const { clock, schedule } = newSchedule();
  for (let count = 0; count < 3; count++) schedule.count("connections");
  schedule.reset();
  assert.equal(schedule.nextMs(), 10_000);
  clock.advance(30_000);
  for (let count = 0; count < 2; count++) schedule.count("connections");
  schedule.reset();
  assert.equal(schedule.nextMs(), 1_000);
});

Deno.test("RetrySchedule: counts only events that the exchange limits", () => {
  const { schedule } = newSchedule();
  schedule.count("connections");
  for (let count = 0; count < 9; count++) schedule.count("subscriptions");
  assert.equal(schedule.nextMs(), 1_000);
});

Deno.test("RetrySchedule: a clock that is set back does not stretch a wait", () => {
  const { clock, schedule } = newSchedule();
  for (let count = 0; count < 3; count++) schedule.count("connections");
  clock.jump(-3_600_000);
  assert.equal(schedule.nextMs(), 10_000);
});
