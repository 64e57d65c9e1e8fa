import type { Buffer } from "node:buffer";
import type { Socket } from "node:net";
// @ts-types="@types/ws"
import type { WebSocket as WsSocket } from "ws";
import type { FrameJoiner, OutgoingMessage } from "../hub/messages.ts";
import { ClientConnection, QUEUED_BYTES_MAX } from "./client_buffers.ts";

/** Most unsent bytes of one client, answers included; a client over it is closed. */
export const UNSENT_BYTES_MAX = 64 * 1024 * 1024;

/** Seconds without a pong after which a client counts as disconnected. */
export const IDLE_TIMEOUT_S = 30;

/** The part of the runtime's WebSocket that is used here; tests replace it. */
export type NativeSocket =
  & Pick<
    WebSocket,
    "binaryType" | "bufferedAmount" | "readyState" | "onmessage" | "onerror" | "onclose"
  >
  & { send(text: string): void; close(code: number, reason: string): void };

/**
 * A WebSocket of the runtime's own server, which writes each message with a system call. The server
 * gives no access to the TCP socket: it cannot be terminated, but ends with its peer or with the
 * process.
 */
export class NativeConnection extends ClientConnection {
  readonly #socket: NativeSocket;

  constructor(socket: NativeSocket) {
    super();
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => {
      this.onText(typeof data === "string" ? data : new TextDecoder().decode(data));
    };
    socket.onerror = () => {}; // a close event follows
    socket.onclose = () => this.onClosed();
  }

  get unsentBytes(): number {
    return this.#socket.bufferedAmount;
  }

  protected freeQueueBytes(wanted: number): number {
    return QUEUED_BYTES_MAX - this.#queued(QUEUED_BYTES_MAX - wanted);
  }

  send(messages: readonly OutgoingMessage[], bytes: number): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    if (this.#queued(UNSENT_BYTES_MAX) > UNSENT_BYTES_MAX) {
      return this.refuseToQueue();
    }
    this.countQueued(bytes);
    for (const { text } of messages) this.#socket.send(text);
  }

  /** Bytes that wait in the socket, or an upper bound of them that is at most `limit`. */
  #queued(limit: number): number {
    // Rarely: asking each time would slow every send.
    if (this.unsentUpperBound > limit) this.recount();
    return this.unsentUpperBound;
  }

  close(code: number, reason: string): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.close(code, reason);
  }
}

/** Errors of `ws` that mean a frame or message over the limits. */
const TOO_LARGE = /^WS_ERR_(?:UNSUPPORTED_MESSAGE_LENGTH|TOO_MANY_BUFFERED_PARTS)$/;

/** A WebSocket of the second port: many messages leave in one write. */
export class TcpConnection extends ClientConnection {
  override terminate = () => this.#socket.terminate();
  readonly #socket: WsSocket;
  readonly #tcp: Socket;
  readonly #joiner: FrameJoiner;
  #isAlive = true;

  /** @param joiner Shared by connections that are likely to get the same messages. */
  constructor(socket: WsSocket, tcp: Socket, joiner: FrameJoiner) {
    super();
    this.#socket = socket;
    this.#tcp = tcp;
    this.#joiner = joiner;
    // Text and binary messages both arrive as one Buffer.
    socket.on("message", (data: Buffer) => this.onText(data.toString()));
    // Pongs to a client that reads nothing would pile up without a bound.
    socket.on("ping", (data: Buffer) => {
      if (this.freeQueueBytes() > 0) socket.pong(data);
    });
    socket.on("pong", () => this.#isAlive = true);
    socket.on("error", (error) => { // a close event follows
      if ("code" in error && TOO_LARGE.test(String(error.code))) this.onTooLarge();
    });
    socket.on("close", () => this.onClosed());
    tcp.on("drain", () => this.onDrain());
  }

  get unsentBytes(): number {
    return this.#tcp.writableLength;
  }

  protected freeQueueBytes(): number {
    return QUEUED_BYTES_MAX - this.#tcp.writableLength;
  }

  send(messages: readonly OutgoingMessage[], bytes: number): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#tcp.writableLength > UNSENT_BYTES_MAX) {
      return this.refuseToQueue();
    }
    this.countQueued(bytes);
    // Frames are whole and uncompressed, so these fit between any two that `ws` writes.
    this.#tcp.write(this.#joiner.join(messages));
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
  }

  /** Terminates a client that did not answer the previous ping. */
  ping(): void {
    if (!this.#isAlive) return this.terminate();
    this.#isAlive = false;
    this.#socket.ping();
  }
}
