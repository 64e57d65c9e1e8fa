import { type ClientSink, CloseCode } from "../hub/hub_client.ts";
import type { OutgoingMessage } from "../hub/outgoing_message.ts";

/**
 * Bytes that may wait in a client's socket before notifications stay in the ring instead: enough for
 * a hundred heads, and small enough that ten thousand stalled clients cost 640 MB at the very worst.
 */
export const QUEUED_BYTES_MAX = 64 * 1024;

/** Bytes that may wait with answers among them: a client that asks on and reads nothing is closed. */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

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
    if (this.#queued(ANSWER_BYTES_MAX) > ANSWER_BYTES_MAX) {
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
