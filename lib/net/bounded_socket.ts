import type { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { setImmediate } from "node:timers";
// @ts-types="@types/ws"
import { type ClientOptions, WebSocket as WsClient } from "ws";
import { type CancelTimer, type Clock, systemClock } from "../clock.ts";
import type { SocketLike } from "./reconnecting_socket.ts";

/**
 * Bytes of frames after which the event loop gets a turn. A read that finds data does not yield, so
 * in a long burst nothing could be sent to clients and the frames would pile up.
 */
const YIELD_EVERY_BYTES = 64 * 1024;

/**
 * Pause after {@link YIELD_EVERY_BYTES} of a peer with `oneFrameATurn`. Its frames may take 15 ms of
 * work, and answering others takes several turns. It limits such a peer to 3 MB/s.
 */
const PAUSE_MS = 20;

/** Ping interval; the pong has to arrive before the next ping. */
const PING_EVERY_MS = 5_000;

/** Time for a peer that sent too much to answer the close frame; its frames are dropped. */
const CLOSE_TIMEOUT_MS = 1_000;

interface BoundedSocketOptions {
  /** A longer message closes the connection, as does one in over 16,384 fragments. */
  maxMessageBytes: number;
  /**
   * Each frame has a turn of the event loop of its own, and a pause follows every 64 KiB, so that a
   * peer which sends frames without end keeps nobody waiting. It costs time that many frames of a
   * trusted peer would not be worth.
   */
  oneFrameATurn?: true;
  /** Clock of the pings, which detect a dead peer; without a clock there are no pings. */
  clock?: Clock;
}

/**
 * A WebSocket client with bounded memory. The runtime's own client accepts messages of any length
 * and leaves Nagle's algorithm on, so a frame behind an unacknowledged one waits up to 40 ms. This
 * client sends at once, and writes the frames of one turn of the event loop together.
 */
export class BoundedSocket implements SocketLike {
  binaryType = "arraybuffer";
  onopen: SocketLike["onopen"] = null;
  onmessage: SocketLike["onmessage"] = null;
  onclose: SocketLike["onclose"] = null;
  onerror: SocketLike["onerror"] = null;
  readonly #client: WsClient;
  #tcp: Socket | undefined;
  readonly #clock: Clock | undefined;
  readonly #oneFrameATurn: boolean;
  #cancelPing: CancelTimer | undefined;
  #cancelPause: CancelTimer | undefined;
  /** Messages of this turn of the event loop wait in the connection. */
  #isCorked = false;
  /** Bytes of frames since the event loop last got a turn because of them. */
  #bytesSinceYield = 0;
  #error = "";

  constructor(url: string, { maxMessageBytes, oneFrameATurn, clock }: BoundedSocketOptions) {
    this.#clock = clock;
    this.#oneFrameATurn = oneFrameATurn ?? false;
    // The types of `ws` do not know closeTimeout yet.
    const options: ClientOptions & { closeTimeout: number } = {
      perMessageDeflate: false,
      maxPayload: maxMessageBytes,
      allowSynchronousEvents: !oneFrameATurn,
      closeTimeout: CLOSE_TIMEOUT_MS,
    };
    this.#client = new WsClient(url, options);
    this.#client.once("upgrade", (response) => this.#tcp = response.socket);
    this.#client.on("open", () => {
      this.#keepAlive();
      this.onopen?.(new Event("open"));
    });
    // Text and binary frames are both read as UTF-8; each comes as one Buffer.
    this.#client.on("message", (data: Buffer) => {
      this.#yieldIfDue(data.length);
      this.onmessage?.({ data: data.toString() });
    });
    this.#client.on("close", (code, reason) => {
      this.#cancelPing?.();
      this.#cancelPause?.();
      this.onclose?.(
        new CloseEvent("close", { code, reason: reason.toString() || this.#error }),
      );
    });
    this.#client.on("error", (error: Error) => {
      // For a host with several addresses, the error has no message, but an error for each address.
      const { message } = error instanceof AggregateError ? error.errors[0] ?? error : error;
      this.#error = message;
      this.onerror?.(new ErrorEvent("error", { message }));
    });
  }

  send(text: string): void {
    if (this.#tcp !== undefined && !this.#isCorked) {
      this.#isCorked = true;
      this.#tcp.cork();
      setImmediate(() => this.#flush());
    }
    this.#client.send(text); // throws without a connection
  }

  close(): void {
    this.#cancelPing?.();
    this.#cancelPause?.();
    if (this.#client.isPaused) this.#client.resume();
    this.#flush();
    this.#client.close();
    // Do not wait for the peer's close: a dead peer would keep the socket open for half a minute.
    this.#tcp?.destroySoon();
  }

  /** Writes all messages of a turn at once. */
  #flush(): void {
    if (!this.#isCorked) return;
    this.#isCorked = false;
    this.#tcp?.uncork();
  }

  #yieldIfDue(bytes: number): void {
    this.#bytesSinceYield += bytes;
    const { isPaused, readyState } = this.#client;
    if (this.#bytesSinceYield < YIELD_EVERY_BYTES || isPaused || readyState !== WsClient.OPEN) {
      return;
    }
    this.#client.pause();
    const resume = () => {
      this.#bytesSinceYield = 0;
      this.#client.resume();
    };
    if (this.#oneFrameATurn) this.#cancelPause = systemClock.after(PAUSE_MS, resume);
    else setImmediate(resume);
  }

  #keepAlive(): void {
    const clock = this.#clock;
    if (clock === undefined) return;
    let isAlive = false;
    this.#client.once("pong", () => isAlive = true);
    this.#client.ping();
    this.#cancelPing = clock.after(PING_EVERY_MS, () => {
      if (isAlive) this.#keepAlive();
      else this.#client.terminate();
    });
  }
}
