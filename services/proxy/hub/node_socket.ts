import type { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { setImmediate } from "node:timers";
// @ts-types="@types/ws"
import { WebSocket as WsClient } from "ws";
import type { CancelTimer, Clock } from "../../../lib/clock.ts";
import type { SocketLike } from "../../../lib/net/reconnecting_socket.ts";

/** The largest frame that a node may send: far above any answer to a plain read. */
const FRAME_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Bytes of frames after which the event loop gets a turn. A read that finds data does not yield: in a
 * long burst nothing could be sent to clients, and all of it would pile up.
 */
const BYTES_PER_TURN = 64 * 1024;

/** Ping interval; the pong has to arrive before the next ping. */
export const PING_EVERY_MS = 15_000;

/**
 * A WebSocket to a node. The runtime's own client leaves Nagle's algorithm on: a frame behind an
 * unacknowledged one waits up to 40 ms. This one sends at once, and writes the frames of one turn of
 * the event loop together. It also pings, and so detects a node whose machine is gone.
 */
export class NodeSocket implements SocketLike {
  binaryType = "arraybuffer";
  onopen: SocketLike["onopen"] = null;
  onmessage: SocketLike["onmessage"] = null;
  onclose: SocketLike["onclose"] = null;
  onerror: SocketLike["onerror"] = null;
  readonly #client: WsClient;
  #tcp: Socket | undefined;
  readonly #clock: Clock;
  #cancelPing: CancelTimer | undefined;
  #corked = false;
  #bytesInTurn = 0;

  /** Begins to connect. */
  constructor(url: string, clock: Clock) {
    this.#clock = clock;
    this.#client = new WsClient(url, { perMessageDeflate: false, maxPayload: FRAME_BYTES_MAX });
    this.#client.once("upgrade", (response) => this.#tcp = response.socket);
    this.#client.on("open", () => {
      this.#pingLater();
      this.onopen?.(new Event("open"));
    });
    // Text and binary frames are both read as UTF-8; each comes as one Buffer.
    this.#client.on("message", (data: Buffer) => {
      this.#takeTurns(data.length);
      this.onmessage?.({ data: data.toString() });
    });
    this.#client.on("close", (code, reason) => {
      this.#cancelPing?.();
      this.onclose?.(new CloseEvent("close", { code, reason: reason.toString() }));
    });
    this.#client.on("error", ({ message }) => {
      this.onerror?.(new ErrorEvent("error", { message }));
    });
  }

  send(text: string): void {
    const tcp = this.#tcp;
    if (tcp !== undefined && !this.#corked) {
      this.#corked = true;
      tcp.cork();
      setImmediate(() => {
        this.#corked = false;
        tcp.uncork();
      });
    }
    this.#client.send(text);
  }

  close(code?: number, reason?: string): void {
    this.#cancelPing?.();
    this.#client.close(code, reason);
    // Do not wait for the node's close: a dead node would keep the socket open for half a minute.
    this.#tcp?.destroySoon();
  }

  #takeTurns(bytes: number): void {
    this.#bytesInTurn += bytes;
    if (this.#bytesInTurn < BYTES_PER_TURN || this.#client.isPaused) return;
    this.#client.pause();
    setImmediate(() => {
      this.#bytesInTurn = 0;
      this.#client.resume();
    });
  }

  #pingLater(): void {
    let alive = false;
    this.#client.once("pong", () => alive = true);
    this.#client.ping();
    this.#cancelPing = this.#clock.after(PING_EVERY_MS, () => {
      if (alive) this.#pingLater();
      else this.#client.terminate();
    });
  }
}
