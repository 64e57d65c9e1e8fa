import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { EventEmitter } from "node:events";
import {
  ClientBuffers,
  ClientQueue,
  type ClientSocket,
  GUARANTEED_BYTES,
  QUEUED_BYTES_MAX,
  type SocketEvents,
  UNSENT_BYTES_MAX,
} from "../../../services/proxy/clients/client_queue.ts";
import {
  PONGS_WAITING_MAX,
  READ_BYTES,
  RuntimeSocket,
  type RuntimeWebSocket,
  WsSocket,
} from "../../../services/proxy/clients/client_sockets.ts";
import { FrameJoiner, OutgoingMessage } from "../../../services/proxy/hub/notifications.ts";
import { ByteBudget } from "../../../services/proxy/shared/limits.ts";
import { FakeClock } from "../../support/fake_clock.ts";

/** The queue of a socket that shares a budget with no other. */
function queueOf(socket: ClientSocket) {
  const refusals: string[] = [];
  const onRefusal = () => refusals.push("refused");
  const buffers = new ClientBuffers(new ByteBudget(Infinity), new FakeClock(), onRefusal);
  return { queue: new ClientQueue(socket, buffers, "a"), refusals };
}

function eventsTo(events: string[]): SocketEvents {
  return {
    onText: (text) => events.push(text),
    onUnfinished: (bytes) => events.push(`${bytes} unfinished`),
    onTooLarge: () => events.push("too large"),
    onDrain: () => events.push("drained"),
    onClosed: () => events.push("closed"),
  };
}

/** A socket that writes nothing until the test asks for it. */
class BlockedSocket implements RuntimeWebSocket {
  readyState: number = WebSocket.OPEN;
  binaryType: BinaryType = "blob";
  onmessage: ((event: MessageEvent) => void) | null = null;
  onerror: ((event: Event) => void) | null = null;
  onclose: ((event: CloseEvent) => void) | null = null;
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

Deno.test("ClientQueue: reads bufferedAmount once for many messages", () => {
  const socket = new BlockedSocket();
  const { queue } = queueOf(new RuntimeSocket(socket));
  const message = new OutgoingMessage("x".repeat(600));
  for (let n = 0; n < 1_000; n += 1) {
    assert(queue.writableBytes(message.byteLength) >= message.byteLength);
    queue.send([message], message.byteLength);
    socket.queued = 0; // a peer that keeps up
  }
  const messagesPerAsk = Math.floor(QUEUED_BYTES_MAX / message.byteLength);
  assert(socket.asked <= 1_000 / messagesPerAsk, `asked ${socket.asked} times`);
});

Deno.test("ClientQueue: closes with more than 64 MiB unread, and sends nothing more", () => {
  const socket = new BlockedSocket();
  const { queue, refusals } = queueOf(new RuntimeSocket(socket));
  const answer = new OutgoingMessage("x".repeat(UNSENT_BYTES_MAX / 4));
  for (let n = 0; n < 4; n += 1) queue.send([answer], answer.byteLength);
  assert.equal(socket.closed, undefined);
  queue.send([new OutgoingMessage("one more")], 10);
  assert.equal(socket.closed, undefined, "at the bound, not over it");
  const before = socket.queued;
  queue.send([answer], answer.byteLength);
  assert.deepEqual([socket.closed, socket.queued, refusals], [1013, before, ["refused"]]);
});

Deno.test("RuntimeSocket: sends nothing on a closing socket, and does not close it again", () => {
  const socket = new BlockedSocket();
  const { queue } = queueOf(new RuntimeSocket(socket));
  socket.readyState = WebSocket.CLOSING;
  queue.send([new OutgoingMessage("late")], 6);
  queue.close(1013, "late");
  assert.deepEqual([socket.queued, socket.closed], [0, undefined]);
});

Deno.test("RuntimeSocket: reports text and binary messages, and its end", () => {
  const socket = new BlockedSocket();
  const events: string[] = [];
  new RuntimeSocket(socket).listen(eventsTo(events));
  const deliver = (data: unknown) => socket.onmessage?.(new MessageEvent("message", { data }));
  assert.equal(socket.binaryType, "arraybuffer");
  deliver("é");
  deliver(new TextEncoder().encode("€").buffer);
  socket.onerror?.(new Event("error"));
  assert.deepEqual(events, ["é", "€"]);
  socket.onclose?.(new CloseEvent("close"));
  assert.deepEqual(events, ["é", "€", "closed"]);
});

Deno.test("ClientQueue: writable bytes are limited by its queue and the shared budget, at least 16 KiB", () => {
  const budget = new ByteBudget(2 * QUEUED_BYTES_MAX);
  const buffers = new ClientBuffers(budget, new FakeClock(), () => {});
  const [first, second] = [new BlockedSocket(), new BlockedSocket()]
    .map((socket) => new ClientQueue(new RuntimeSocket(socket), buffers, "a"));
  assert(first && second);
  const half = new OutgoingMessage("x".repeat(QUEUED_BYTES_MAX / 2));
  first.send([half], half.byteLength);
  assert.equal(first.writableBytes(Infinity), QUEUED_BYTES_MAX / 2);
  assert.equal(second.writableBytes(Infinity), QUEUED_BYTES_MAX / 2, "free for all together");
  first.send([half], half.byteLength);
  assert.equal(first.writableBytes(1), 0);
  assert.equal(second.writableBytes(Infinity), GUARANTEED_BYTES);
  assert.equal(second.tryAdmitAnswer(2 * QUEUED_BYTES_MAX), false);
  assert.equal(first.writableBytes(1), 0, "it is still counted: ending it would free nothing");
  buffers.remove(first);
  assert.equal(second.writableBytes(Infinity), QUEUED_BYTES_MAX);
});

/** A socket of the second port, over sockets that the test plays. */
function tcpScene() {
  const socket = new FakeWsSocket();
  const written: string[] = [];
  const tcp = Object.assign(new EventEmitter(), {
    writableLength: 0,
    write: (bytes: Uint8Array) => written.push(new TextDecoder().decode(bytes.subarray(2))) > 0,
  });
  const wsSocket = new WsSocket(socket, tcp, new FrameJoiner());
  return { socket, tcp, written, wsSocket };
}

Deno.test("WsSocket: sends no pong to a peer that does not read, and reports when it reads again", () => {
  const { socket, tcp, wsSocket } = tcpScene();
  const events: string[] = [];
  wsSocket.listen(eventsTo(events));
  for (const [data, writableLength] of [["1", 0], ["2", QUEUED_BYTES_MAX], ["3", 0]] as const) {
    tcp.writableLength = writableLength;
    socket.emit("ping", Buffer.from(data));
  }
  assert.deepEqual(socket.pongs, ["1", "3"]);
  tcp.emit("drain");
  assert.deepEqual(events, ["drained"]);
});

Deno.test("WsSocket: reports how much of an unfinished message has come, without pings and pongs", () => {
  const { socket, tcp, wsSocket } = tcpScene();
  const events: string[] = [];
  wsSocket.listen(eventsTo(events));
  const receive = (bytes: number) => tcp.emit("data", Buffer.alloc(bytes));
  receive(100);
  receive(100);
  socket.emit("ping", Buffer.from("12"));
  receive(8);
  socket.emit("pong", Buffer.from(""));
  receive(16);
  socket.emit("message", Buffer.from("whole"));
  receive(3);
  assert.deepEqual(events, [
    ...[100 + READ_BYTES, 200 + 2 * READ_BYTES, 200 + 2 * READ_BYTES, 210 + 3 * READ_BYTES]
      .map((bytes) => `${bytes} unfinished`),
    ...["0 unfinished", "whole", "3 unfinished"],
  ]);
});

Deno.test("WsSocket: of many pings in one read only two do not count: a fragment among them keeps all of it in memory", () => {
  const { socket, tcp, wsSocket } = tcpScene();
  const events: string[] = [];
  wsSocket.listen(eventsTo(events));
  for (let n = 0; n < 490; n += 1) socket.emit("ping", Buffer.alloc(125));
  tcp.emit("data", Buffer.alloc(7 + 490 * 131));
  assert.deepEqual(events, [`${7 + 490 * 131 - 256 + READ_BYTES} unfinished`]);
});

Deno.test("WsSocket: few pongs wait to be sent at a time", () => {
  const { socket } = tcpScene();
  const ping = (count: number) => {
    for (let n = 0; n < count; n += 1) socket.emit("ping", Buffer.from(""));
  };
  ping(PONGS_WAITING_MAX + 5);
  assert.equal(socket.pongs.length, PONGS_WAITING_MAX);
  for (const sent of socket.onPongSent.splice(0, 3)) sent();
  ping(5);
  assert.equal(socket.pongs.length, PONGS_WAITING_MAX + 3);
});

Deno.test("WsSocket: while open, it sends several messages in one write and counts unsent bytes", () => {
  const { socket, tcp, written, wsSocket } = tcpScene();
  const { queue } = queueOf(wsSocket);
  queue.send([new OutgoingMessage("a"), new OutgoingMessage("b")], 2);
  assert.equal(written.length, 1);
  tcp.writableLength = 7;
  assert.equal(wsSocket.bufferedBytes, 7);
  socket.readyState = 2;
  queue.send([new OutgoingMessage("late")], 4);
  assert.equal(written.length, 1);
});

Deno.test("WsSocket: disconnects a client that did not answer the previous ping", () => {
  const { socket, wsSocket } = tcpScene();
  wsSocket.ping();
  socket.emit("pong", Buffer.from(""));
  wsSocket.ping();
  assert.deepEqual([socket.pings, socket.cuts], [2, 0]);
  wsSocket.ping();
  assert.deepEqual([socket.pings, socket.cuts], [2, 1]);
});

Deno.test("WsSocket: reports messages, frames over the limit, and the close", () => {
  const { socket, wsSocket } = tcpScene();
  const events: string[] = [];
  wsSocket.listen(eventsTo(events));
  socket.emit("message", Buffer.from("€"));
  const codes = [
    "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH",
    "WS_ERR_TOO_MANY_BUFFERED_PARTS",
    "WS_ERR_INVALID_UTF8",
    "A_WS_ERR_UNSUPPORTED_MESSAGE_LENGTH",
    "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH_",
  ];
  for (const code of codes) {
    socket.emit("error", Object.assign(new Error(code), { code }));
  }
  socket.emit("error", new Error("another"));
  wsSocket.close(1013, "late");
  socket.emit("close");
  assert.deepEqual(events, ["0 unfinished", "€", "too large", "too large", "closed"]);
  assert.deepEqual(socket.closed, [1013]);
});

class FakeWsSocket extends EventEmitter {
  readonly OPEN = 1;
  readyState: 1 | 2 = 1;
  readonly pongs: string[] = [];
  readonly onPongSent: (() => void)[] = [];
  readonly closed: number[] = [];
  pings = 0;
  cuts = 0;

  pong(data: Buffer, _mask: undefined, onSent: () => void): void {
    this.pongs.push(data.toString());
    this.onPongSent.push(onSent);
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
