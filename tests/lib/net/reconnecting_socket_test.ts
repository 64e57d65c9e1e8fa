import assert from "node:assert/strict";
import { Backoff } from "../../../lib/timing/backoff.ts";
import {
  ReconnectingSocket,
  type ReconnectingSocketOptions,
} from "../../../lib/net/reconnecting_socket.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { FakeNetwork } from "../../support/fake_socket.ts";

function setUp(options: Partial<ReconnectingSocketOptions> = {}) {
  const clock = new FakeClock();
  const network = new FakeNetwork();
  const events: string[] = [];
  const backoff = new Backoff({ initialMs: 1_000, maxMs: 8_000, random: () => 1 });
  const socket = new ReconnectingSocket({
    url: "ws://server",
    clock,
    backoff,
    connect: network.connect,
    handlers: {
      onOpen: () => events.push("open"),
      onText: (text) => events.push(`text ${text}`),
      onLost: (reason, cause) => events.push(`${cause}: ${reason}`),
      onAttempt: (attempt) => events.push(`attempt ${attempt}`),
    },
    ...options,
  });
  return { clock, network, events, backoff, socket };
}

Deno.test("ReconnectingSocket: connects, sends and reads text and UTF-8 bytes", () => {
  const { network, events, socket } = setUp();
  socket.start();
  socket.start();
  assert.equal(socket.send("early"), false);
  network.newest.open();
  assert.equal(socket.send("hello"), true);
  network.newest.deliver("one");
  network.newest.deliver(new TextEncoder().encode("zwölf").buffer);
  network.newest.onmessage?.({ data: 5 }); // neither text nor bytes
  assert.deepEqual([network.newest.binaryType, network.newest.sent], ["arraybuffer", ["hello"]]);
  assert.deepEqual(events, ["attempt 1", "open", "text one", "text zwölf"]);
});

Deno.test("ReconnectingSocket: reconnects after each loss with growing waits, also after a short connection", () => {
  const { clock, network, events, socket } = setUp();
  socket.start();
  network.newest.fail("NetworkError: refused"); // as Deno says it
  assert.equal(network.sockets.length, 1);
  clock.advance(999);
  assert.equal(network.sockets.length, 1);
  clock.advance(1);
  assert.equal(network.sockets.length, 2);
  network.newest.end(1013, "later");
  clock.advance(1_999);
  assert.equal(network.sockets.length, 2);
  clock.advance(1);
  network.newest.open();
  network.newest.fail("the close that follows has the reason");
  network.newest.end(1001);
  assert.deepEqual(events, [
    "attempt 1",
    "not_opened: refused",
    "attempt 2",
    "not_opened: closed with 1013 later",
    "attempt 3",
    "open",
    "closed: closed with 1001",
  ]);
  clock.advance(3_999);
  assert.equal(network.sockets.length, 3);
  clock.advance(1);
  assert.equal(network.sockets.length, 4);
  socket.stop();
  assert.equal(clock.pending, 0);
});

Deno.test("ReconnectingSocket: an attempt that does not open is aborted", () => {
  const { clock, network, events, socket } = setUp({ connectTimeoutMs: 3_000 });
  socket.start();
  clock.advance(3_000);
  assert.equal(events.at(-1), "not_opened: not open after 3000 ms");
  assert(network.newest.closed);
});

Deno.test("ReconnectingSocket: a connect that throws fails the start, but does not end the reconnecting", () => {
  const thrown: { error: Error | undefined } = { error: new Error("no permission") };
  const network = new FakeNetwork();
  const { clock, events, socket } = setUp({
    connect(url) {
      if (thrown.error !== undefined) throw thrown.error;
      return network.connect(url);
    },
  });
  assert.throws(() => socket.start(), thrown.error);
  thrown.error = undefined;
  socket.stop();
  socket.start();
  network.newest.end(1001);
  thrown.error = new Error("no token");
  clock.advance(1_000);
  assert.equal(events.at(-1), "not_opened: no token");
  thrown.error = undefined;
  clock.advance(2_000);
  network.newest.open();
  assert.equal(events.at(-1), "open");
  socket.stop();
});

Deno.test("ReconnectingSocket: drops the connection after silenceMs without a frame", () => {
  const { clock, network, events, socket } = setUp({ silenceMs: 5_000 });
  socket.start();
  network.newest.open();
  clock.advance(4_000);
  network.newest.deliver("alive");
  assert.equal(socket.lastFrameAtMs, clock.now());
  clock.advance(4_999);
  assert(socket.isConnected);
  clock.advance(1);
  assert.equal(events.at(-1), "silent: silent for 5000 ms");
  assert(!socket.isConnected);
  assert(network.newest.closed);
});

Deno.test("ReconnectingSocket: after the clock was set back, silence is still noticed", () => {
  const { clock, network, events, socket } = setUp({ silenceMs: 5_000 });
  socket.start();
  network.newest.open();
  clock.setBy(-3_600_000);
  clock.advance(10_000);
  assert.equal(events.at(-1), "silent: silent for 5000 ms");
});

Deno.test("ReconnectingSocket: a healthy connection resets the backoff", () => {
  const { clock, network, backoff, socket } = setUp({ healthyAfterMs: 2_000 });
  socket.start();
  network.newest.fail("refused");
  clock.advance(1_000);
  network.newest.open();
  clock.advance(60_000);
  assert.equal(backoff.nextMs(), 1_000);
  assert.equal(clock.pending, 0, "nothing else is waited for");
});

Deno.test("ReconnectingSocket: reconnectNow only skips the wait before the next attempt", () => {
  const { clock, network, socket } = setUp();
  socket.reconnectNow();
  assert.equal(network.sockets.length, 0, "it is not started");
  socket.start();
  socket.reconnectNow();
  assert.equal(network.sockets.length, 1, "an attempt is being made");
  network.newest.end();
  socket.reconnectNow();
  clock.advance(4_000);
  assert.equal(network.sockets.length, 2, "one attempt at a time");
  network.newest.open();
  socket.reconnectNow();
  clock.advance(60_000);
  assert.equal(network.sockets.length, 2, "it is connected, and the wait is over");
  socket.stop();
  socket.reconnectNow();
  assert.equal(network.sockets.length, 2, "it is stopped");
  socket.start();
  assert.equal(network.sockets.length, 3);
});

Deno.test("ReconnectingSocket: a failure has the platform's reason, if there is one", () => {
  const cases = [
    [{ message: "TypeError: no Error: inside" }, "no Error: inside"],
    [{ message: 5 }, "cannot be connected to"],
    [{}, "cannot be connected to"],
  ] as const;
  for (const [event, reason] of cases) {
    const { network, events, socket } = setUp();
    socket.start();
    network.newest.onerror?.(event);
    assert.equal(events.at(-1), `not_opened: ${reason}`);
  }
});

Deno.test("ReconnectingSocket: a dropped connection reports nothing more, and a new one is opened", () => {
  const { clock, network, events, socket } = setUp();
  socket.start();
  const first = network.newest;
  first.open();
  socket.drop("garbage");
  first.deliver("late");
  first.end();
  assert.deepEqual(events, ["attempt 1", "open", "dropped: garbage"]);
  socket.drop("nothing there");
  clock.advance(1_000);
  assert.equal(events.at(-1), "attempt 2");
  socket.stop();
  clock.advance(60_000);
  assert.equal(network.sockets.length, 2);
  assert(network.newest.closed);
});
