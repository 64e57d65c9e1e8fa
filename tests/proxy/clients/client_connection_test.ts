import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { EventEmitter } from "node:events";
import {
  NativeConnection,
  type NativeSocket,
  QUEUED_BYTES_MAX,
  UNREAD_BYTES_MAX,
} from "../../../services/proxy/clients/client_connection.ts";
import { FrameJoiner, OutgoingMessage } from "../../../services/proxy/hub/messages.ts";
import { TcpConnection } from "../../../services/proxy/clients/client_connection.ts";

/** A socket that writes nothing until the test says so. */
class FakeSocket implements NativeSocket {
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

Deno.test("NativeConnection: room is never more than is free, and what is free is found", () => {
  const socket = new FakeSocket();
  const connection = new NativeConnection(socket);
  const message = new OutgoingMessage("é".repeat(500)); // 1,000 bytes
  for (let n = 0; n < 200; n += 1) {
    const room = connection.room(message.byteLength);
    assert(room <= QUEUED_BYTES_MAX - socket.queued, "no more than is free");
    if (room < message.byteLength) socket.queued = 0; // the peer reads all
    else connection.send([message], message.byteLength);
    assert(socket.queued <= QUEUED_BYTES_MAX);
  }
  assert.equal(connection.room(Infinity), QUEUED_BYTES_MAX - socket.queued);
});

Deno.test("NativeConnection: the socket is asked once for many messages, not for each", () => {
  const socket = new FakeSocket();
  const connection = new NativeConnection(socket);
  const message = new OutgoingMessage("x".repeat(600));
  for (let n = 0; n < 1_000; n += 1) {
    assert(connection.room(message.byteLength) >= message.byteLength);
    connection.send([message], message.byteLength);
    socket.queued = 0; // a peer that keeps up
  }
  const messagesPerAsk = Math.floor(QUEUED_BYTES_MAX / message.byteLength);
  assert(socket.asked <= 1_000 / messagesPerAsk, `asked ${socket.asked} times`);
});

Deno.test("NativeConnection: with 64 MiB of answers unread it is closed, and no more are sent", () => {
  const socket = new FakeSocket();
  const connection = new NativeConnection(socket);
  const answer = new OutgoingMessage("x".repeat(UNREAD_BYTES_MAX / 4));
  for (let n = 0; n < 4; n += 1) connection.send([answer], answer.byteLength);
  assert.equal(socket.closed, undefined);
  connection.send([new OutgoingMessage("one more")], 10);
  assert.equal(socket.closed, undefined, "at the bound, not over it");
  const before = socket.queued;
  connection.send([answer], answer.byteLength);
  assert.equal(socket.closed, 1013);
  assert.equal(socket.queued, before);
});

Deno.test("NativeConnection: a socket that is closing is sent nothing, and not closed again", () => {
  const socket = new FakeSocket();
  const connection = new NativeConnection(socket);
  socket.readyState = WebSocket.CLOSING;
  connection.send([new OutgoingMessage("late")], 6);
  connection.close(1013, "late");
  assert.deepEqual([socket.queued, socket.closed], [0, undefined]);
});

Deno.test("TcpConnection: a peer that reads nothing gets no pongs, so that they cannot pile up", () => {
  const socket = new FakeWsSocket();
  const tcp = Object.assign(new EventEmitter(), { writableLength: 0 });
  // The parts that a connection touches until it sends.
  new TcpConnection(socket as never, tcp as never, new FrameJoiner());
  socket.emit("ping", Buffer.from("1"));
  tcp.writableLength = QUEUED_BYTES_MAX;
  socket.emit("ping", Buffer.from("2"));
  tcp.writableLength = 0;
  socket.emit("ping", Buffer.from("3"));
  assert.deepEqual(socket.pongs, ["1", "3"]);
});

Deno.test("TcpConnection: says when its socket has room again", () => {
  const tcp = Object.assign(new EventEmitter(), { writableLength: 0 });
  const connection = new TcpConnection(
    new FakeWsSocket() as never,
    tcp as never,
    new FrameJoiner(),
  );
  let drained = 0;
  connection.onDrain = () => drained += 1;
  tcp.emit("drain");
  assert.equal(drained, 1);
});

/** A socket of `ws` that notes its pongs. */
class FakeWsSocket extends EventEmitter {
  readonly pongs: string[] = [];

  pong(data: Buffer): void {
    this.pongs.push(data.toString());
  }
}
