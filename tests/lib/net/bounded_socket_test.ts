import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { setImmediate } from "node:timers";
import { BoundedSocket } from "../../../lib/net/bounded_socket.ts";
import type { Clock } from "../../../lib/clock.ts";
import { eventually } from "../../support/eventually.ts";
import { freePort } from "../../support/ports.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const PING_EVERY_MS = 5_000;
const MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; // RFC 6455, section 1.3

/** A peer that accepts one WebSocket and sends nothing, not even a pong. */
function mutePeer() {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connection = (async () => {
    const connection = await listener.accept();
    const buffer = new Uint8Array(4_096);
    const length = await connection.read(buffer) ?? 0;
    const request = new TextDecoder().decode(buffer.subarray(0, length));
    const key = /^sec-websocket-key: (\S+)/im.exec(request)?.[1];
    const accept = createHash("sha1").update(`${key}${MAGIC}`).digest("base64");
    await connection.write(new TextEncoder().encode(
      "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n" +
        `sec-websocket-accept: ${accept}\r\n\r\n`,
    ));
    return connection;
  })();
  return {
    url: `ws://127.0.0.1:${listener.addr.port}`,
    async write(bytes: Uint8Array) {
      for (let at = 0; at < bytes.length;) at += await (await connection).write(bytes.subarray(at));
    },
    async [Symbol.asyncDispose]() {
      (await connection).close();
      listener.close();
    },
  };
}

function newSocket(url: string, clock?: Clock): BoundedSocket {
  return new BoundedSocket(url, { maxMessageBytes: 1_048_576, clock });
}

function opened(socket: BoundedSocket): Promise<void> {
  return new Promise((resolve) => socket.onopen = () => resolve());
}

function close(socket: BoundedSocket): Promise<unknown> {
  const closed = new Promise((resolve) => socket.onclose = resolve);
  socket.close();
  return closed;
}

Deno.test("BoundedSocket: the reason of a refused connection is reported, also for a host with several addresses", async () => {
  const port = freePort();
  for (const host of ["127.0.0.1", "localhost"]) {
    const socket = newSocket(`ws://${host}:${port}`);
    const failed = new Promise<object>((resolve) => socket.onerror = resolve);
    assert.match(String(Object(await failed).message), /ECONNREFUSED/, host);
  }
});

Deno.test("BoundedSocket: a peer that does not answer a ping is disconnected", async () => {
  const clock = new FakeClock();
  await using peer = mutePeer();
  const socket = newSocket(peer.url, clock);
  await opened(socket);
  const closed = new Promise<{ code: number }>((resolve) => socket.onclose = resolve);
  clock.advance(PING_EVERY_MS);
  assert.equal((await closed).code, 1006);
  assert.equal(clock.pending, 0);
});

Deno.test("BoundedSocket: a peer that answers pings is kept; frames sent together arrive in order", async () => {
  const clock = new FakeClock();
  const received: string[] = [];
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => {
      const { socket, response } = Deno.upgradeWebSocket(request);
      socket.onmessage = ({ data }) => {
        received.push(data);
        socket.send(new TextEncoder().encode(`echo ${data}`)); // binary, to be read as text
      };
      return response;
    },
  );
  const socket = newSocket(`ws://127.0.0.1:${server.addr.port}`, clock);
  const answers: string[] = [];
  socket.onmessage = ({ data }) => answers.push(String(data));
  socket.onclose = () => assert.fail("It was closed");
  await opened(socket);
  const wanted: string[] = [];
  for (let round = 1; round <= 3; round += 1) {
    wanted.push(`a${round}`, `b${round}`, `c${round}`);
    for (const text of wanted.slice(-3)) socket.send(text);
    // The answer to a ping that was sent before comes before these.
    await eventually("answers", () => answers.length === wanted.length);
    clock.advance(PING_EVERY_MS);
  }
  assert.deepEqual(received, wanted);
  assert.deepEqual(answers, wanted.map((text) => `echo ${text}`));
  await close(socket);
});

Deno.test("BoundedSocket: a long burst of messages is split over several turns of the event loop", async () => {
  const MESSAGES = 5_000;
  const text = "x".repeat(1_000);
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => {
      const { socket, response } = Deno.upgradeWebSocket(request);
      socket.onopen = () => {
        for (let n = 0; n < MESSAGES; n += 1) socket.send(text);
      };
      return response;
    },
  );
  const socket = newSocket(`ws://127.0.0.1:${server.addr.port}`);
  const { promise: over, resolve } = Promise.withResolvers<void>();
  let [received, inTurn, mostInTurn] = [0, 0, 0];
  socket.onmessage = () => {
    received += 1;
    inTurn += 1;
    if (inTurn === 1) setImmediate(() => inTurn = 0);
    mostInTurn = Math.max(mostInTurn, inTurn);
    if (received === MESSAGES) resolve();
  };
  await over;
  const isBetween = mostInTurn > 1 && mostInTurn < MESSAGES / 10;
  assert(isBetween, `${mostInTurn} messages came in one turn`);
  await close(socket);
});

/** Sends small messages without end, as fast as they are read; prints its port. */
const FLOOD = `Deno.serve({ port: 0, onListen: ({ port }) => console.log(port) }, (request) => {
  const { socket, response } = Deno.upgradeWebSocket(request);
  const send = () => {
    while (socket.readyState === 1 && socket.bufferedAmount < 2e6) socket.send("x".repeat(130));
    if (socket.readyState === 1) setTimeout(send);
  };
  socket.onopen = send;
  return response;
});`;

Deno.test("BoundedSocket: other sockets are served in an endless burst of messages that take time", async () => {
  const command = new Deno.Command(Deno.execPath(), { args: ["eval", FLOOD], stdout: "piped" });
  await using peer = command.spawn(); // its end kills it
  const reader = peer.stdout.getReader();
  const port = new TextDecoder().decode((await reader.read()).value).trim();
  await using server = Deno.serve({ port: 0, onListen() {} }, () => new Response("served"));
  const url = `ws://127.0.0.1:${port}`;
  const socket = new BoundedSocket(url, { maxMessageBytes: 1_024, oneFrameATurn: true });
  let received = 0;
  socket.onmessage = () => {
    received += 1;
    const untilMs = performance.now() + 0.05;
    while (performance.now() < untilMs);
  };
  await eventually("the burst", () => received > 1_000);
  const before = received;
  assert.equal(await (await fetch(`http://127.0.0.1:${server.addr.port}`)).text(), "served");
  assert(received - before < 30_000, `${received - before} messages were handled before`);
  socket.close();
  await reader.cancel();
});

Deno.test("BoundedSocket: close does not wait for the peer and leaves no timer", async () => {
  const clock = new FakeClock();
  await using peer = mutePeer();
  const socket = newSocket(peer.url, clock);
  assert.throws(() => socket.send("before it is open"));
  await opened(socket);
  await close(socket);
  assert.equal(clock.pending, 0);
});

const MIB = 1_048_576;

/** A frame of a text that continues in the next frame. */
function fragment(index: number, length: number): Uint8Array {
  const [LENGTH_64_BITS, TEXT, CONTINUATION] = [127, 1, 0];
  const frame = new Uint8Array(10 + length).fill(0x78, 10);
  frame.set([index === 0 ? TEXT : CONTINUATION, LENGTH_64_BITS]);
  new DataView(frame.buffer).setBigUint64(2, BigInt(length));
  return frame;
}

const tooLong: Record<string, Uint8Array[]> = {
  "declares": [fragment(0, 60 * MIB).subarray(0, 10)],
  "sends in fragments": Array.from({ length: 9 }, (_, index) => fragment(index, MIB / 8)),
};
for (const [how, frames] of Object.entries(tooLong)) {
  Deno.test(`BoundedSocket: a peer that ${how} too long a message is disconnected, with the reason`, async () => {
    await using peer = mutePeer();
    const socket = newSocket(peer.url);
    await opened(socket);
    const closed = new Promise<{ reason: string }>((resolve) => socket.onclose = resolve);
    socket.onmessage = () => assert.fail("It is no message");
    for (const frame of frames) await peer.write(frame);
    assert.match((await closed).reason, /^Max payload size exceeded/);
  });
}
