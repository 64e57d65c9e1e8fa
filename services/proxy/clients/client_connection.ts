import type { Buffer } from "node:buffer";
import type { Socket } from "node:net";
// @ts-types="@types/ws"
import type { WebSocket as WsSocket } from "ws";
import { type ClientSink, CloseCode } from "../hub/hub_client.ts";
import type { FrameJoiner, OutgoingMessage } from "../hub/messages.ts";

/**
 * Bytes that may wait in a client's socket before notifications stay in the ring instead: enough for
 * a hundred heads, and small enough that ten thousand stalled clients cost 640 MB at the very worst.
 */
export const QUEUED_BYTES_MAX = 64 * 1024;

/** Bytes that may wait with answers among them: a client that asks on and reads nothing is closed. */
export const UNREAD_BYTES_MAX = 64 * 1024 * 1024;

/** Seconds without a pong after which a client is taken for gone. */
export const IDLE_TIMEOUT_S = 30;

/** A client's WebSocket, of whichever kind. */
export interface ClientConnection extends ClientSink {
  /** Called for every message, a binary one read as UTF-8. */
  onText: (text: string) => void;
  /** Called once, when the connection has ended. */
  onGone: () => void;
  /** Ends the connection without the client's consent. */
  cut(): void;
}

/** The part of the runtime's WebSocket that is used here, so that a test can play it. */
export type NativeSocket =
  & Pick<
    WebSocket,
    "binaryType" | "bufferedAmount" | "readyState" | "onmessage" | "onerror" | "onclose"
  >
  & { send(text: string): void; close(code: number, reason: string): void };

/** A WebSocket of the runtime's own server: every message is a write of its own. */
export class NativeConnection implements ClientConnection {
  onText = (_text: string) => {};
  onGone = () => {};
  readonly #socket: NativeSocket;
  /** No more than so many bytes wait in the socket: to ask it each time would slow every send. */
  #queuedBytesMax = 0;

  constructor(socket: NativeSocket) {
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => {
      this.onText(typeof data === "string" ? data : new TextDecoder().decode(data));
    };
    socket.onerror = () => {}; // a close event follows and says all there is to do
    socket.onclose = () => this.onGone();
  }

  room(wanted: number): number {
    return QUEUED_BYTES_MAX - this.#queued(QUEUED_BYTES_MAX - wanted);
  }

  send(messages: readonly OutgoingMessage[]): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    if (this.#queued(UNREAD_BYTES_MAX) > UNREAD_BYTES_MAX) {
      this.close(CloseCode.tryAgainLater, "Answers are not read");
    } else {for (const message of messages) {
        this.#queuedBytesMax += message.byteLength;
        this.#socket.send(message.text);
      }}
  }

  /** Bytes that wait in the socket, or an upper bound of them where that is not over `limit`. */
  #queued(limit: number): number {
    if (this.#queuedBytesMax > limit) this.#queuedBytesMax = this.#socket.bufferedAmount;
    return this.#queuedBytesMax;
  }

  close(code: number, reason: string): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.close(code, reason);
  }

  /** Has no effect: such a socket ends with its listener. */
  cut(): void {}
}

/** A WebSocket whose TCP socket is at hand, so that many messages leave in one write. */
export class TcpConnection implements ClientConnection {
  onText = (_text: string) => {};
  onGone = () => {};
  readonly #socket: WsSocket;
  readonly #tcp: Socket;
  readonly #joiner: FrameJoiner;
  #alive = true;

  /** @param joiner Shared by connections that are likely to get the same messages. */
  constructor(socket: WsSocket, tcp: Socket, joiner: FrameJoiner) {
    this.#socket = socket;
    this.#tcp = tcp;
    this.#joiner = joiner;
    // Without a list of fragments asked for, text and binary messages alike are one Buffer.
    socket.on("message", (data: Buffer) => this.onText(data.toString()));
    // What reads nothing is not answered either: pongs would heap up without a bound.
    socket.on("ping", (data: Buffer) => {
      if (this.room() > 0) socket.pong(data);
    });
    socket.on("pong", () => this.#alive = true);
    socket.on("error", () => {}); // a close event follows and says all there is to do
    socket.on("close", () => this.onGone());
  }

  room(): number {
    return QUEUED_BYTES_MAX - this.#tcp.writableLength;
  }

  send(messages: readonly OutgoingMessage[]): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#tcp.writableLength > UNREAD_BYTES_MAX) {
      return this.close(CloseCode.tryAgainLater, "Answers are not read");
    }
    // Frames are whole and nothing is compressed, so these may stand between any two of the socket's.
    this.#tcp.write(this.#joiner.join(messages));
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
  }

  cut(): void {
    this.#socket.terminate();
  }

  /** Asks for a sign of life, and cuts a client that gave none since the last time. */
  ping(): void {
    if (!this.#alive) return this.cut();
    this.#alive = false;
    this.#socket.ping();
  }
}
