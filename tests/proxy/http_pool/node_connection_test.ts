/** One connection to a node, over a socket that the test plays. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { ByteBudget, SMALL_BYTES } from "../../../services/proxy/byte_budget.ts";
import { ReplyTimeoutError } from "../../../services/proxy/http_pool/http_pool.ts";
import {
  ConnectionError,
  type Exchange,
  NodeConnection,
} from "../../../services/proxy/http_pool/node_connection.ts";
import { bodyText } from "../../../services/proxy/http_pool/reply_body.ts";

class FakeSocket extends EventEmitter {
  writableLength = 0;
  readonly written: string[] = [];
  isDestroyed = false;

  setNoDelay(): void {}

  write(text: string): void {
    this.written.push(text);
  }

  destroy(): void {
    this.isDestroyed = true;
  }
}

function scene({ isConnected = true } = {}) {
  const socket = new FakeSocket();
  const budget = new ByteBudget(Infinity);
  /** Outcomes of the requests, by their texts. */
  const outcomes: unknown[] = [];
  let gone = 0;
  // The parts of a socket that a connection uses.
  const connection = new NodeConnection(
    socket as unknown as Socket,
    "connect",
    budget,
    () => gone += 1,
  );
  if (isConnected) socket.emit("connect");
  const send = (request: string) => {
    const exchange: Exchange = {
      request,
      replied: (_connection, { status, body, reusable }) =>
        outcomes.push([request, status, bodyText(body), reusable]),
      failed: (_connection, { stage, message }) => outcomes.push([request, stage, message]),
    };
    connection.send(exchange);
  };
  const receive = (text: string) => socket.emit("data", Buffer.from(text));
  return { socket, budget, outcomes, connection, send, receive, gone: () => gone };
}

const CLOSED = "The node closed the connection";
const answer = (body: string, more = "") =>
  `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n${more}\r\n${body}`;

Deno.test("NodeConnection: one request after the other, each with its answer", () => {
  const { socket, outcomes, connection, send, receive } = scene();
  for (const request of ["a", "b"]) {
    send(request);
    receive(answer("1").slice(0, 20));
    assert(outcomes.length < socket.written.length);
    receive(answer("1").slice(20));
  }
  assert.deepEqual(socket.written, ["a", "b"]);
  assert.deepEqual(outcomes, [["a", 200, "1", true], ["b", 200, "1", true]]);
  assert.deepEqual([connection.usable, socket.isDestroyed], [true, false]);
});

Deno.test("NodeConnection: a failure says how far the request got", () => {
  const connecting = scene({ isConnected: false });
  connecting.send("a");
  connecting.socket.emit(
    "error",
    Object.assign(new Error("at 10.0.0.1"), { code: "ECONNREFUSED" }),
  );
  connecting.socket.emit("close");
  assert.deepEqual(connecting.outcomes, [["a", "connecting", "ECONNREFUSED"]]);
  const sent = scene();
  sent.send("a");
  sent.socket.emit("close");
  assert.deepEqual(sent.outcomes, [["a", "sent", CLOSED]]);
  for (const [piece, stage] of [[undefined, "kept"], ["HTTP", "sent"]] as const) {
    const { socket, outcomes, send, receive } = scene();
    send("a");
    receive(answer("1"));
    send("b");
    if (piece !== undefined) receive(piece);
    socket.emit("end");
    assert.deepEqual(outcomes.slice(1), [["b", stage, CLOSED]]);
  }
});

Deno.test("NodeConnection: its end fails a request once, and each later one without sending it", async () => {
  const { socket, outcomes, connection, send, gone } = scene();
  send("a");
  connection.destroy(new ReplyTimeoutError(7));
  connection.destroy(new Error("later"));
  socket.emit("error", new Error("later"));
  socket.emit("end");
  assert.equal(gone(), 0);
  socket.emit("close");
  assert.equal(gone(), 1);
  assert.deepEqual([connection.usable, socket.isDestroyed], [false, true]);
  assert.deepEqual(outcomes, [["a", "sent", "No answer within 7 ms"]]);
  send("b");
  assert.equal(outcomes.length, 1, "not before it returns");
  await Promise.resolve();
  assert.deepEqual(outcomes[1], ["b", "kept", "No answer within 7 ms"]);
  assert.deepEqual(socket.written, ["a"]);
});

Deno.test("NodeConnection: it is not used again after an answer that ends it, or came too early", () => {
  for (const isEarly of [false, true]) {
    const { socket, outcomes, connection, send, receive } = scene();
    send("a");
    socket.writableLength = isEarly ? 1 : 0;
    receive(answer("1", isEarly ? "" : "connection: close\r\n"));
    assert.deepEqual(outcomes, [["a", 200, "1", false]]);
    assert.deepEqual([connection.usable, socket.isDestroyed], [false, true]);
  }
});

Deno.test("NodeConnection: bytes without a request, or that are no answer, end it", () => {
  const unasked = scene();
  unasked.receive(answer("1"));
  assert.deepEqual([unasked.connection.usable, unasked.outcomes], [false, []]);
  const wrong = scene();
  wrong.send("a");
  wrong.receive("SSH-2.0\r\n\r\n");
  assert.deepEqual(wrong.outcomes, [["a", "sent", "Answer is not HTTP/1.1"]]);
  assert.equal(wrong.socket.isDestroyed, true);
});

Deno.test("NodeConnection: an answer may last until its end, and one that is cut is none", () => {
  const whole = scene();
  whole.send("a");
  whole.receive("HTTP/1.1 200 OK\r\n\r\n1");
  whole.receive("2");
  assert.deepEqual(whole.outcomes, []);
  whole.socket.emit("end");
  whole.socket.emit("close");
  const [[request, status, body] = []] = whole.outcomes as unknown[][];
  assert.deepEqual([whole.outcomes.length, request, status, body], [1, "a", 200, "12"]);
  assert.equal(whole.connection.usable, false);
  const cut = scene();
  cut.send("a");
  cut.receive(answer("x".repeat(SMALL_BYTES + 1)).slice(0, -1));
  assert.equal(cut.budget.used, SMALL_BYTES + 1);
  cut.socket.emit("end");
  assert.deepEqual(cut.outcomes, [["a", "sent", CLOSED]]);
  assert.equal(cut.budget.used, 0);
  const idle = scene();
  idle.socket.emit("end");
  assert.deepEqual([idle.connection.usable, idle.outcomes], [false, []]);
});

Deno.test("ConnectionError: shows a code or a message of our own, no address", () => {
  const rows: [cause: unknown, message: string][] = [
    [Object.assign(new Error("10.0.0.1"), { code: "ECONNRESET" }), "ECONNRESET"],
    [new ReplyTimeoutError(7), "No answer within 7 ms"],
    [new Error("The proxy stops"), "The proxy stops"],
  ];
  for (const [cause, message] of rows) {
    const error = new ConnectionError("sent", cause);
    assert.equal(error.message, message);
    assert.equal(error.cause, cause);
  }
});
