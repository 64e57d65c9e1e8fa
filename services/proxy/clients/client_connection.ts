import type { Buffer } from "node:buffer";
import type { Socket } from "node:net";
// @ts-types="@types/ws"
import type { WebSocket as WsSocket } from "ws";
import { type ClientSink, CloseCode } from "../hub/hub_client.ts";
import type { FrameJoiner, OutgoingMessage } from "../hub/messages.ts";
import { type ClientBuffers, GUARANTEED_BYTES } from "./client_buffers.ts";

/**
 * Bytes that may wait in a client's queue before notifications stay in the ring instead: a burst in
 * one turn of the event loop.
 */
export const QUEUED_BYTES_MAX = 256 * 1024;

/** Most unsent bytes of one client, answers included; a client over it is closed. */
export const UNSENT_BYTES_MAX = 64 * 1024 * 1024;

/** Seconds without a pong after which a client counts as disconnected. */
export const IDLE_TIMEOUT_S = 30;

/**
 * A client's WebSocket, of either port. Its unsent bytes are counted as they are queued, which
 * costs no system call; {@link recount} replaces the count.
 *
 * Which notifications are added to a client's queue, by the bytes that wait in it:
 *
 * ```
 * | all of them   | all, while the queues of all     | only those that the ring is          |
 * |               | clients together are not full    | about to overwrite                   |
 * 0       GUARANTEED_BYTES                 QUEUED_BYTES_MAX                   OVERFLOW_BYTES_MAX
 * '------------------ writableBytes -----------------'----------- overflowBytes -------------'
 * ```
 */
export abstract class ClientConnection implements ClientSink {
  #counted = 0;
  #atLastRecount = 0;
  #readAtMs = 0;
  /** Undefined before {@link register} and after {@link unregister}. */
  #buffers: ClientBuffers | undefined;

  /** Called for every message; a binary one is read as UTF-8. */
  onText = (_text: string) => {};
  /** Called once, when the connection has ended. */
  onClosed = () => {};
  /** Called when the client's frame is too large; the connection is being closed. */
  onTooLarge = () => {};
  /** Called when a full queue has emptied, if the socket reports that. */
  onDrain = () => {};

  /** Unsent bytes now; may make a system call. */
  abstract readonly unsentBytes: number;
  protected abstract readonly isOpen: boolean;
  protected abstract write(messages: readonly OutgoingMessage[]): void;
  abstract close(code: number, reason: string): void;
  terminate?: () => void;
  /** The unsent bytes, or an upper bound of them that is at most `limit`. */
  protected abstract unsentWithin(limit: number): number;

  /** Counts it with all others, until {@link unregister}. Call it before anything is sent. */
  register(buffers: ClientBuffers, key: string): void {
    this.#buffers = buffers;
    buffers.add(this, key);
  }

  /** Sends messages while the socket is open. A client that reads no answers is closed. */
  send(messages: readonly OutgoingMessage[], bytes: number): void {
    if (!this.isOpen) return;
    if (this.unsentWithin(UNSENT_BYTES_MAX) > UNSENT_BYTES_MAX) {
      this.#buffers?.onRefusal();
      this.close(CloseCode.tryAgainLater, "Answers are not read");
      return;
    }
    this.countQueued(bytes);
    this.write(messages);
  }

  writableBytes(wanted: number): number {
    const free = QUEUED_BYTES_MAX - this.unsentWithin(QUEUED_BYTES_MAX - wanted);
    if (free <= 0) return free;
    const queued = QUEUED_BYTES_MAX - free;
    const guaranteed = GUARANTEED_BYTES - queued;
    return Math.min(free, Math.max(guaranteed, this.sharedWritableBytes(Math.min(wanted, free))));
  }

  /** Bytes of notifications that may still be queued in all clients together. */
  sharedWritableBytes(wanted: number): number {
    return this.#buffers?.sharedWritableBytes(wanted) ?? Infinity;
  }

  /** Bytes of notifications that may exceed a full queue: none if the client does not read. */
  overflowBytes(): number {
    return this.#buffers?.overflowBytes(this) ?? 0;
  }

  /** Whether an answer may be queued; if not, it must not be sent. */
  admitAnswer(bytes: number): boolean {
    return this.#buffers?.admitAnswer(this, bytes) ?? true;
  }

  get unsentUpperBound(): number {
    return this.#counted;
  }

  /** Counts bytes that are about to be sent. */
  countQueued(bytes: number): void {
    this.#counted += bytes;
    this.#buffers?.budget.add(bytes);
  }

  /** Replaces the count by the unsent bytes now, also for all clients together. */
  recount(nowMs = this.#buffers?.nowMs ?? 0): void {
    const actual = this.unsentBytes;
    const change = actual - this.#counted;
    // Some was read since, or nothing was there to read.
    if (change < 0 || this.#atLastRecount === 0) this.#readAtMs = nowMs;
    this.#counted = this.#atLastRecount = actual;
    this.#buffers?.budget.add(change);
  }

  unreadForMs(nowMs: number): number {
    return nowMs - this.#readAtMs;
  }

  /** Removes it from the counts of all. */
  unregister(): void {
    this.#buffers?.remove(this);
    this.#buffers = undefined;
  }
}

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

  protected get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  protected unsentWithin(limit: number): number {
    // Rarely: asking each time would slow every send.
    if (this.unsentUpperBound > limit) this.recount();
    return this.unsentUpperBound;
  }

  protected write(messages: readonly OutgoingMessage[]): void {
    for (const { text } of messages) this.#socket.send(text);
  }

  close(code: number, reason: string): void {
    if (this.isOpen) this.#socket.close(code, reason);
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
      if (tcp.writableLength < QUEUED_BYTES_MAX) socket.pong(data);
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

  protected get isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  protected unsentWithin(): number {
    return this.#tcp.writableLength;
  }

  protected write(messages: readonly OutgoingMessage[]): void {
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
