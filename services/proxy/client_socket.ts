import type { ClientSink } from "./hub_client.ts";

/**
 * Bytes that may wait in a client's socket before notifications stay in the ring instead: enough for
 * a hundred heads, and small enough that ten thousand stalled clients cost 640 MB at the very worst.
 */
export const QUEUED_BYTES_MAX = 64 * 1024;

/** Bytes of answers that may wait beside: a client that asks on and reads nothing is closed. */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

/** The outgoing side of a client's WebSocket. */
export class ClientSocket implements ClientSink {
  readonly #socket: WebSocket;

  constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  get writable(): boolean {
    return this.#socket.bufferedAmount < QUEUED_BYTES_MAX;
  }

  send(text: string): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    if (this.#socket.bufferedAmount > ANSWER_BYTES_MAX) this.close(1013, "Answers are not read");
    else this.#socket.send(text);
  }

  close(code: number, reason: string): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.close(code, reason);
  }
}
