import type { Buffer } from "node:buffer";
import type { EventEmitter } from "node:events";
import type { Socket } from "node:net";
// @ts-types="@types/ws"
import type { WebSocket as WsWebSocket } from "ws";
import type { FrameJoiner, OutgoingMessage } from "../hub/notifications.ts";
import { type ClientSocket, QUEUED_BYTES_MAX, type SocketEvents } from "./client_queue.ts";

/** Seconds without a pong after which a client counts as disconnected. */
export const IDLE_TIMEOUT_S = 30;

/** The part of the runtime's WebSocket that is used here; tests replace it. */
export type RuntimeWebSocket =
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
export class RuntimeSocket implements ClientSocket {
  readonly canTerminate = false;
  readonly #socket: RuntimeWebSocket;

  constructor(socket: RuntimeWebSocket) {
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
  }

  listen({ onText, onClosed }: Pick<SocketEvents, "onText" | "onClosed">): void {
    this.#socket.onmessage = ({ data }) => {
      onText(typeof data === "string" ? data : new TextDecoder().decode(data));
    };
    this.#socket.onerror = () => {}; // a close event follows
    this.#socket.onclose = onClosed;
  }

  get bufferedBytes(): number {
    return this.#socket.bufferedAmount;
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  write(messages: readonly OutgoingMessage[]): void {
    for (const { text } of messages) this.#socket.send(text);
  }

  close(code: number, reason: string): void {
    if (this.isOpen) this.#socket.close(code, reason);
  }

  terminate(): void {}
}

/** Errors of `ws` that mean a frame or message over the limits. */
const TOO_LARGE = /^WS_ERR_(?:UNSUPPORTED_MESSAGE_LENGTH|TOO_MANY_BUFFERED_PARTS)$/;

/** Bytes of a client's ping or pong besides its data. */
const CONTROL_FRAME_BYTES = 6;

/**
 * Most bytes of pings and pongs in one read that do not count as part of a message: two of them. A
 * fragment of one byte keeps all that was read with it in memory.
 */
const CONTROL_BYTES_MAX = 256;

/** What a read of an unfinished message takes in memory besides its bytes: over 600 bytes. */
export const READ_BYTES = 1_024;

/**
 * Most pongs to one client that wait to be sent; further pings are not answered. An unsent pong takes
 * two bytes on the wire, but hundreds in memory.
 */
export const PONGS_WAITING_MAX = 16;

/** The parts of a socket of `ws`, and of its TCP socket, that are used here. */
type WsConnection =
  & Pick<WsWebSocket, "OPEN" | "close" | "ping" | "pong" | "readyState" | "terminate">
  & Pick<EventEmitter, "on">;
type TcpConnection = Pick<Socket, "writableLength" | "write"> & Pick<EventEmitter, "on">;

/** A WebSocket of the second port: many messages leave in one write. */
export class WsSocket implements ClientSocket {
  readonly canTerminate = true;
  readonly #socket: WsConnection;
  readonly #tcp: TcpConnection;
  readonly #joiner: FrameJoiner;
  #isAlive = true;
  #pongsWaiting = 0;
  /**
   * Bytes received since the last message, without pings and pongs, and {@link READ_BYTES} for each
   * further read; a little more, if anything.
   */
  #unfinishedBytes = 0;
  /** Those of pings and pongs in what is read now. */
  #controlBytes = 0;

  /** @param joiner Shared by connections that are likely to get the same messages. */
  constructor(socket: WsConnection, tcp: TcpConnection, joiner: FrameJoiner) {
    this.#socket = socket;
    this.#tcp = tcp;
    this.#joiner = joiner;
    // Pongs to a client that reads nothing would pile up without a bound.
    socket.on("ping", (data: Buffer) => {
      this.#controlBytes += CONTROL_FRAME_BYTES + data.length;
      if (tcp.writableLength >= QUEUED_BYTES_MAX) return;
      if (this.#pongsWaiting >= PONGS_WAITING_MAX) return;
      this.#pongsWaiting += 1;
      socket.pong(data, undefined, () => this.#pongsWaiting -= 1);
    });
    socket.on("pong", (data: Buffer) => {
      this.#controlBytes += CONTROL_FRAME_BYTES + data.length;
      this.#isAlive = true;
    });
  }

  listen({ onText, onUnfinished, onTooLarge, onDrain, onClosed }: SocketEvents): void {
    // Text and binary messages both arrive as one Buffer.
    this.#socket.on("message", (data: Buffer) => {
      // Offsets the READ_BYTES of the read that it came in: 64 KiB of whole messages do not count.
      this.#unfinishedBytes = -READ_BYTES;
      onUnfinished(0);
      onText(data.toString());
    });
    // After `ws` has handled the same bytes.
    this.#tcp.on("data", (data: Buffer) => {
      const bytes = data.length - Math.min(this.#controlBytes, CONTROL_BYTES_MAX);
      this.#unfinishedBytes += bytes > 0 ? bytes + READ_BYTES : bytes;
      this.#controlBytes = 0;
      onUnfinished(this.#unfinishedBytes);
    });
    this.#socket.on("error", (error: Error) => { // a close event follows
      if ("code" in error && TOO_LARGE.test(String(error.code))) onTooLarge();
    });
    this.#socket.on("close", onClosed);
    this.#tcp.on("drain", onDrain);
  }

  get bufferedBytes(): number {
    return this.#tcp.writableLength;
  }

  get isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  write(messages: readonly OutgoingMessage[]): void {
    // Frames are whole and uncompressed, so these fit between any two that `ws` writes.
    this.#tcp.write(this.#joiner.join(messages));
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
  }

  terminate(): void {
    this.#socket.terminate();
  }

  /** Terminates a client that did not answer the previous ping. */
  ping(): void {
    if (!this.#isAlive) return this.terminate();
    this.#isAlive = false;
    this.#socket.ping();
  }
}
