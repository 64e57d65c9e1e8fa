import type { ClientSink } from "./hub_client.ts";
import type { OutgoingMessage } from "./outgoing_message.ts";

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

/** A WebSocket of the runtime's own server: every message is a write of its own. */
export class NativeConnection implements ClientConnection {
  onText = (_text: string) => {};
  onGone = () => {};
  readonly #socket: WebSocket;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => {
      this.onText(typeof data === "string" ? data : new TextDecoder().decode(data));
    };
    socket.onerror = () => {}; // a close event follows and says all there is to do
    socket.onclose = () => this.onGone();
  }

  get room(): number {
    return QUEUED_BYTES_MAX - this.#socket.bufferedAmount;
  }

  send(messages: readonly OutgoingMessage[]): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    if (this.#socket.bufferedAmount > ANSWER_BYTES_MAX) this.close(1013, "Answers are not read");
    else for (const { text } of messages) this.#socket.send(text);
  }

  close(code: number, reason: string): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.close(code, reason);
  }

  /** Has no effect: such a socket ends with its listener. */
  cut(): void {}
}
