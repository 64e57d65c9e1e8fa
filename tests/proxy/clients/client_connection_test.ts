import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { EventEmitter } from "node:events";
import {
  NativeConnection,
  type NativeSocket,
  QUEUED_BYTES_MAX,
  UNSENT_BYTES_MAX,
} from "../../../services/proxy/clients/client_connection.ts";
import { FrameJoiner, OutgoingMessage } from "../../../services/proxy/hub/messages.ts";
import { TcpConnection } from "../../../services/proxy/clients/client_connection.ts";
import { ByteBudget } from "../../../services/proxy/shared/byte_budget.ts";
import { ClientBuffers, GUARANTEED_BYTES } from "../../../services/proxy/clients/client_buffers.ts";
import { FakeClock } from "../../support/fake_clock.ts";

/** A socket that writes nothing until the test asks for it. */
class BlockedSocket implements NativeSocket {
  readyState: number = WebSocket.OPEN;
  binaryType: BinaryType = "blob";
  onmessage: NativeSocket["onmessage"] = null;
  onerror: NativeSocket["onerror"] = null;
  onclose: NativeSocket["onclose"] = null;
  queued = 0;
  asked = 0;
  closed: number | undefined;

  get bufferedAmount(): number {
    this.asked += 1;
    return this.queued;
  }

  send(text: string): void {
    this.queued += new TextEncoder().encode(text).length;
  }

  close(code: number): void {
    this.closed = code;
  }
}

Deno.test("NativeConnection: reports exactly the free bytes of its queue", () => {
  const socket = new BlockedSocket();
  const connection = new NativeConnection(socket);
  const message = new OutgoingMessage("é".repeat(500)); // 1,000 bytes
  for (let n = 0; n < 200; n += 1) {
    const writable = connection.writableBytes(message.byteLength);
    assert(writable <= QUEUED_BYTES_MAX - socket.queued, "no more than is free");
    if (writable < message.byteLength) socket.queued = 0; // the peer reads all
    else connection.send([message], message.byteLength);
    assert(socket.queued <= QUEUED_BYTES_MAX);
  }
  assert.equal(connection.writableBytes(Infinity), QUEUED_BYTES_MAX - socket.queued);
});

Deno.test("NativeConnection: reads bufferedAmount once for many messages", () => {
  const socket = new BlockedSocket();
  const connection = new NativeConnection(socket);
  const message = new OutgoingMessage("x".repeat(600));
  for (let n = 0; n < 1_000; n += 1) {
    assert(connection.writableBytes(message.byteLength) >= message.byteLength);
    connection.send([message], message.byteLength);
    socket.queued = 0; // a peer that keeps up
  }
  const messagesPerAsk = Math.floor(QUEUED_BYTES_MAX / message.byteLength);
  assert(socket.asked <= 1_000 / messagesPerAsk, `asked ${socket.asked} times`);
});

Deno.test("NativeConnection: closes with more than 64 MiB unread, and sends nothing more", () => {
  const socket = new BlockedSocket();
  const connection = new NativeConnection(socket);
  const answer = new OutgoingMessage("x".repeat(UNSENT_BYTES_MAX / 4));
  for (let n = 0; n < 4; n += 1) connection.send([answer], answer.byteLength);
  assert.equal(socket.closed, undefined);
  connection.send([new OutgoingMessage("one more")], 10);
  assert.equal(socket.closed, undefined, "at the bound, not over it");
  const before = socket.queued;
  connection.send([answer], answer.byteLength);
  assert.equal(socket.closed, 1013);
  assert.equal(socket.queued, before);
});

Deno.test("NativeConnection: sends nothing on a closing socket, and does not close it again", () => {
  const socket = new BlockedSocket();
  const connection = new NativeConnection(socket);
  socket.readyState = WebSocket.CLOSING;
  connection.send([new OutgoingMessage("late")], 6);
  connection.close(1013, "late");
  assert.deepEqual([socket.queued, socket.closed], [0, undefined]);
});

Deno.test("NativeConnection: reports text and binary messages, and its end", () => {
  const socket = new BlockedSocket();
  const connection = new NativeConnection(socket);
  const texts: string[] = [];
  let gone = 0;
  connection.onText = (text) => texts.push(text);
  connection.onClosed = () => gone += 1;
  const deliver = (data: unknown) =>
    socket.onmessage?.call(socket as never, new MessageEvent("message", { data }));
  assert.equal(socket.binaryType, "arraybuffer");
  deliver("é");
  deliver(new TextEncoder().encode("€").buffer);
  assert.deepEqual(texts, ["é", "€"]);
  socket.onerror?.call(socket as never, new Event("error"));
  assert.equal(gone, 0);
  socket.onclose?.call(socket as never, new CloseEvent("close"));
  assert.equal(gone, 1);
});

Deno.test("ClientConnection: writable bytes are limited by its queue and the shared budget, at least 16 KiB", () => {
  const budget = new ByteBudget(2 * QUEUED_BYTES_MAX);
  const buffers = new ClientBuffers(budget, new FakeClock(), () => {});
  const connections = [new BlockedSocket(), new BlockedSocket()].map((socket) => {
    const connection = new NativeConnection(socket);
    connection.register(buffers, "a");
    return { connection, socket };
  });
  const [first, second] = connections;
  assert(first && second);
  const half = new OutgoingMessage("x".repeat(QUEUED_BYTES_MAX / 2));
  first.connection.send([half], half.byteLength);
  assert.equal(first.connection.writableBytes(Infinity), QUEUED_BYTES_MAX / 2);
  assert.equal(
    second.connection.writableBytes(Infinity),
    QUEUED_BYTES_MAX / 2,
    "free for all together",
  );
  first.connection.send([half], half.byteLength);
  assert.equal(first.connection.writableBytes(1), 0);
  assert.equal(second.connection.writableBytes(Infinity), GUARANTEED_BYTES);
  assert.equal(second.connection.admitAnswer(2 * QUEUED_BYTES_MAX), false);
  assert.equal(
    first.connection.writableBytes(1),
    0,
    "it is still counted: ending it would free nothing",
  );
  first.connection.unregister();
  assert.equal(second.connection.writableBytes(Infinity), QUEUED_BYTES_MAX);
});

/** A connection of the second port, over sockets that the test plays. */
function tcpScene() {
  const socket = new FakeWsSocket();
  const written: string[] = [];
  const tcp = Object.assign(new EventEmitter(), {
    writableLength: 0,
    write: (bytes: Uint8Array) => written.push(new TextDecoder().decode(bytes.subarray(2))),
  });
  // The parts that a connection uses.
  const connection = new TcpConnection(socket as never, tcp as never, new FrameJoiner());
  return { socket, tcp, written, connection };
}

Deno.test("TcpConnection: sends no pong to a peer that does not read, and reports when it reads again", () => {
  const { socket, tcp, connection } = tcpScene();
  let drained = 0;
  connection.onDrain = () => drained += 1;
  for (const [data, writableLength] of [["1", 0], ["2", QUEUED_BYTES_MAX], ["3", 0]] as const) {
    tcp.writableLength = writableLength;
    socket.emit("ping", Buffer.from(data));
  }
  assert.deepEqual(socket.pongs, ["1", "3"]);
  tcp.emit("drain");
  assert.equal(drained, 1);
});

Deno.test("TcpConnection: sends several messages in one write, while it is open and its client reads", () => {
  const { socket, tcp, written, connection } = tcpScene();
  const budget = new ByteBudget(Infinity);
  let refusals = 0;
  connection.register(new ClientBuffers(budget, new FakeClock(), () => refusals += 1), "a");
  const [a, b] = [new OutgoingMessage("a"), new OutgoingMessage("b")];
  tcp.writableLength = UNSENT_BYTES_MAX;
  connection.send([a], 1);
  connection.send([a, b], 2);
  assert.equal(written.length, 2, "at the bound, not over it");
  assert.deepEqual([connection.unsentUpperBound, budget.used, connection.unsentBytes], [
    3,
    3,
    UNSENT_BYTES_MAX,
  ]);
  tcp.writableLength += 1;
  connection.send([a], 1);
  assert.deepEqual([written.length, socket.closed, refusals], [2, [1013], 1]);
  tcp.writableLength = 0;
  socket.readyState = 2;
  connection.send([a], 1);
  assert.equal(written.length, 2);
  assert.equal(connection.writableBytes(Infinity), QUEUED_BYTES_MAX);
});

Deno.test("TcpConnection: disconnects a client that did not answer the previous ping", () => {
  const { socket, connection } = tcpScene();
  connection.ping();
  socket.emit("pong");
  connection.ping();
  assert.deepEqual([socket.pings, socket.cuts], [2, 0]);
  connection.ping();
  assert.deepEqual([socket.pings, socket.cuts], [2, 1]);
});

Deno.test("TcpConnection: reports messages, frames over the limit, and the close", () => {
  const { socket, connection } = tcpScene();
  const events: string[] = [];
  connection.onText = (text) => events.push(text);
  connection.onTooLarge = () => events.push("too large");
  connection.onClosed = () => events.push("gone");
  socket.emit("message", Buffer.from("€"));
  for (
    const code of [
      "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH",
      "WS_ERR_TOO_MANY_BUFFERED_PARTS",
      "WS_ERR_INVALID_UTF8",
      "A_WS_ERR_UNSUPPORTED_MESSAGE_LENGTH",
      "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH_",
    ]
  ) {
    socket.emit("error", Object.assign(new Error(code), { code }));
  }
  socket.emit("error", new Error("another"));
  connection.close(1013, "late");
  socket.emit("close");
  assert.deepEqual(events, ["€", "too large", "too large", "gone"]);
  assert.deepEqual(socket.closed, [1013]);
});

/** A socket of `ws` that records its calls. */
class FakeWsSocket extends EventEmitter {
  readonly OPEN = 1;
  readyState = 1;
  readonly pongs: string[] = [];
  readonly closed: number[] = [];
  pings = 0;
  cuts = 0;

  pong(data: Buffer): void {
    this.pongs.push(data.toString());
  }

  ping(): void {
    this.pings += 1;
  }

  terminate(): void {
    this.cuts += 1;
  }

  close(code: number): void {
    this.closed.push(code);
  }
}
