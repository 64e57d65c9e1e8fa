import type { Backoff } from "../timing/backoff.ts";
import { type Clock, Timers } from "../clock.ts";
import { messageOf } from "../errors.ts";
import { originHint } from "./http_request.ts";

/** A method, so that its parameters are bivariant: each package has its own event types. */
type EventHandler<E extends object> = { handle(event: E): void }["handle"] | null;

/**
 * The part of a WebSocket that is used here. Sockets of every platform, of the package `ws` and of
 * tests have it.
 */
export interface SocketLike {
  binaryType: string;
  onopen: EventHandler<object>;
  onmessage: EventHandler<{ data: unknown }>;
  onclose: EventHandler<{ code: number; reason: string }>;
  onerror: EventHandler<object>;
  send(text: string): void;
  close(): void;
}

/**
 * Why a connection was lost: it could not be opened, the other side closed it, it brought no frame
 * for too long, or its owner dropped it.
 */
export type LossCause = "not_opened" | "closed" | "silent" | "dropped";

interface SocketHandlers {
  /** Connected: subscribe now. */
  onOpen(): void;
  /** One text frame; a binary one is read as UTF-8. */
  onText(text: string): void;
  /**
   * The connection is lost or was dropped; it reconnects by itself.
   *
   * @param closeCode The code of the server's close (RFC 6455, section 7.4.1), if it closed.
   */
  onLost?(reason: string, cause: LossCause, closeCode?: number): void;
  /** An attempt is about to be made; the first one has number 1. */
  onAttempt?(attempt: number): void;
}

export interface ReconnectingSocketOptions {
  /** Where to connect; a function is called for each attempt. */
  url: string | (() => string);
  clock: Clock;
  /** The waits between attempts. */
  backoff: Pick<Backoff, "nextMs" | "reset">;
  handlers: SocketHandlers;
  /** A connection without any frame for this long is dropped; undefined never drops it. */
  silenceMs?: number;
  /** How long an attempt may take to open. */
  connectTimeoutMs?: number;
  /** A connection that lasted this long resets the backoff. */
  healthyAfterMs?: number;
  /** Opens a socket; the runtime's `WebSocket` by default. */
  connect?: (url: string) => SocketLike;
}

const CONNECT_TIMEOUT_MS = 5_000;
const HEALTHY_AFTER_MS = 5_000;

/**
 * A WebSocket client that reconnects after every loss, until stopped. The sockets of most platforms
 * cannot ping, so a deadline on data detects a dead server.
 */
export class ReconnectingSocket {
  readonly #options: ReconnectingSocketOptions;
  readonly #timers: Timers;
  #socket: SocketLike | undefined;
  #isOpen = false;
  #isStopped = true;
  #attempts = 0;
  #lastFrameAtMs = 0;

  constructor(options: ReconnectingSocketOptions) {
    this.#options = options;
    this.#timers = new Timers(options.clock);
  }

  /** Whether frames can be sent now. */
  get isConnected(): boolean {
    return this.#isOpen;
  }

  /** Time of the newest frame by the clock of the options; 0 before the first. */
  get lastFrameAtMs(): number {
    return this.#lastFrameAtMs;
  }

  /** Connects, and keeps connecting. @throws What `connect` throws, such as a missing permission. */
  start(): void {
    if (!this.#isStopped) return;
    this.#isStopped = false;
    this.#connect();
  }

  /** Sends a frame. @returns False if there is no connection; the frame is discarded. */
  send(text: string): boolean {
    if (!this.#isOpen) return false;
    this.#socket?.send(text);
    return true;
  }

  /** Drops the present connection as faulty; the next attempt follows after the backoff. */
  drop(reason: string): void {
    if (this.#socket === undefined) return;
    this.#lose(reason, "dropped");
  }

  /** Ends the wait for the next attempt; does nothing while there is a connection or an attempt. */
  reconnectNow(): void {
    if (this.#isStopped || this.#socket !== undefined) return;
    this.#timers.clear();
    this.#connectAgain();
  }

  /** Closes the connection for good. */
  stop(): void {
    this.#isStopped = true;
    this.#timers.clear();
    this.#detach();
  }

  /** A failed `connect` is one more loss, or a timer would end the reconnecting with its error. */
  #connectAgain(): void {
    try {
      this.#connect();
    } catch (thrown) {
      this.#lose(messageOf(thrown), "not_opened");
    }
  }

  #connect(): void {
    this.#attempts += 1;
    const { handlers, connect, connectTimeoutMs = CONNECT_TIMEOUT_MS } = this.#options;
    handlers.onAttempt?.(this.#attempts);
    const url = typeof this.#options.url === "string" ? this.#options.url : this.#options.url();
    const socket: SocketLike = connect ? connect(url) : new WebSocket(url);
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    socket.onopen = () => this.#onOpened();
    socket.onmessage = (event) => this.#onReceived(event.data);
    socket.onclose = (event) => {
      const cause = this.#isOpen ? "closed" : "not_opened";
      this.#lose(`closed with ${event.code} ${event.reason}`.trim(), cause, event.code);
    };
    socket.onerror = (event) => {
      // Once open, the close event that follows has the reason; before, only this event has it.
      if (this.#isOpen) return;
      const reason = messageIn(event) ?? `cannot be connected to${originHint(url)}`;
      this.#lose(reason, "not_opened");
    };
    this.#timers.after(connectTimeoutMs, () => {
      this.#lose(`not open after ${connectTimeoutMs} ms`, "not_opened");
    });
  }

  #onOpened(): void {
    const { clock, backoff, handlers, healthyAfterMs = HEALTHY_AFTER_MS } = this.#options;
    this.#timers.clear();
    this.#isOpen = true;
    this.#lastFrameAtMs = clock.now();
    this.#timers.after(healthyAfterMs, () => backoff.reset());
    this.#watchSilence();
    handlers.onOpen();
  }

  #onReceived(data: unknown): void {
    this.#lastFrameAtMs = this.#options.clock.now();
    if (typeof data === "string") this.#options.handlers.onText(data);
    else if (data instanceof ArrayBuffer) {
      this.#options.handlers.onText(new TextDecoder().decode(data));
    }
  }

  #watchSilence(): void {
    const { silenceMs, clock } = this.#options;
    if (silenceMs === undefined) return;
    // After the clock was set back, the silence counts from now.
    this.#lastFrameAtMs = Math.min(this.#lastFrameAtMs, clock.now());
    const leftMs = this.#lastFrameAtMs + silenceMs - clock.now();
    if (leftMs <= 0) return this.#lose(`silent for ${silenceMs} ms`, "silent");
    this.#timers.after(leftMs, () => this.#watchSilence());
  }

  #lose(reason: string, cause: LossCause, closeCode?: number): void {
    this.#timers.clear();
    this.#detach();
    const waitMs = this.#options.backoff.nextMs();
    this.#timers.after(waitMs, () => this.#connectAgain());
    this.#options.handlers.onLost?.(reason, cause, closeCode);
  }

  #detach(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    this.#isOpen = false;
    if (socket === undefined) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    // Errors while closing do not matter, but `ws` throws unhandled ones.
    socket.onerror = () => {};
    socket.close();
  }
}

/** Browsers give no reason; Deno, Bun and `ws` do. Deno's begins with the name of a class. */
function messageIn(event: object): string | undefined {
  if (!("message" in event) || typeof event.message !== "string") return undefined;
  return event.message.replace(/^\w*Error: /, "");
}
