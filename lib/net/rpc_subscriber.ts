import * as z from "zod/mini";
import { type Clock, Timers } from "../clock.ts";
import type { RangemakerError } from "../errors.ts";
import { tryParseJson } from "../json.ts";
import type { Backoff } from "../timing/backoff.ts";
import { PollingLoop } from "../timing/polling_loop.ts";
import { ReconnectingSocket, type SocketLike } from "./reconnecting_socket.ts";

/** One thing to subscribe to; made by {@link createSubscription}. */
interface RpcSubscription {
  /** Parameters of `eth_subscribe`, such as `["theses", { user }]`. */
  readonly params: readonly unknown[];
  /** Handles the result of one notification. @returns Whether it has the expected shape. */
  tryDeliver(result: unknown): boolean;
}

/** A subscription whose notifications have the shape of `schema`. */
export function createSubscription<S extends z.core.$ZodType>(
  params: readonly unknown[],
  schema: S,
  onNotification: (value: z.output<S>) => void,
): RpcSubscription {
  return {
    params,
    tryDeliver(result) {
      const parsed = z.safeParse(schema, result);
      if (parsed.success) onNotification(parsed.data);
      return parsed.success;
    },
  };
}

/** How an {@link RpcSubscriber} detects that a quiet connection is dead. */
interface Heartbeat {
  /** Time between two requests, in milliseconds. */
  everyMs: number;
  /** A connection without any frame for this long after a request is dropped. */
  answerMs: number;
}

/** Reads the changes made while there was no connection. */
interface CatchUp {
  /**
   * Called after every connect, and every {@link CATCH_UP_INTERVAL_MS}: a proxy may lose
   * notifications of its node unnoticed. Check `signal` after each wait: once it is aborted, the
   * result no longer counts.
   *
   * @throws {RangemakerError} It failed, and is tried again.
   */
  read(signal: AbortSignal): Promise<void>;
  backoff: Backoff;
  /** Called after a failed read, unless the one before failed with the same code. */
  onFailure(error: RangemakerError): void;
}

export interface RpcSubscriberOptions {
  /** JSON-RPC over WebSocket. */
  url: string;
  clock: Clock;
  backoff: Backoff;
  subscriptions: readonly RpcSubscription[];
  /** If it is missing, notifications before {@link onLive} may have been missed. */
  catchUp?: CatchUp;
  /** Every subscription is accepted, and missed changes have been read. */
  onLive(): void;
  /** The connection is lost, or was never made; another attempt follows. */
  onLost(reason: string): void;
  /** Drops a connection without frames for this long: for subscriptions that never pause. */
  silenceMs?: number;
  /** Requests a frame at intervals: for subscriptions that may pause for long. */
  heartbeat?: Heartbeat;
  /** Opens a socket; the platform's WebSocket by default. */
  connect?: ((url: string) => SocketLike) | undefined;
}

/** The proxy waits 10 s for a node that is unreachable before it refuses a subscription. */
const ACCEPT_TIMEOUT_MS = 15_000;

/** Time between two reads of {@link CatchUp}. */
const CATCH_UP_INTERVAL_MS = 30_000;

/** The heartbeat's request; subscriptions count from 1. */
const HEARTBEAT_ID = 0;

/** Longest part of a frame that goes into a reason. */
const FRAME_TEXT_MAX = 200;

const frameSchema = z.union([
  z.object({ id: z.number(), error: z.object({ message: z.string() }) }),
  z.object({ id: z.number(), result: z.unknown() }),
  z.object({ params: z.object({ subscription: z.string(), result: z.unknown() }) }),
]);

/**
 * Keeps subscriptions to a node alive: subscribes after every connect, and drops a connection that
 * refuses, answers wrongly or stays silent, since nothing on it can be trusted afterwards.
 */
export class RpcSubscriber {
  readonly #options: RpcSubscriberOptions;
  readonly #socket: ReconnectingSocket;
  /** The subscription behind each id that the node gave. */
  readonly #accepted = new Map<string, RpcSubscription>();
  readonly #catchUp: PollingLoop | undefined;
  #isLive = false;
  /** Whether a frame has come since the last heartbeat. */
  #isHeard = false;
  readonly #timers: Timers;

  constructor(options: RpcSubscriberOptions) {
    const { url, clock, backoff, silenceMs, connect, catchUp } = options;
    this.#options = options;
    this.#timers = new Timers(clock);
    this.#catchUp = catchUp && new PollingLoop({
      ...catchUp,
      clock,
      intervalMs: CATCH_UP_INTERVAL_MS,
      poll: async (signal) => {
        await catchUp.read(signal);
        if (!signal.aborted) this.#setLive();
      },
    });
    this.#socket = new ReconnectingSocket({
      url,
      clock,
      backoff,
      silenceMs,
      connect,
      handlers: {
        onOpen: () => this.#subscribe(),
        onText: (text) => this.#receive(text),
        onLost: (reason) => this.#onLost(reason),
      },
    });
  }

  /** Connects, and keeps connecting. */
  start(): void {
    this.#socket.start();
  }

  /** Drops the connection; the next attempt follows after the backoff. */
  drop(reason: string): void {
    this.#socket.drop(reason);
  }

  /** Closes the connection for good; resolves when nothing is being read. */
  async stop(): Promise<void> {
    this.#timers.clear();
    this.#socket.stop();
    await this.#catchUp?.stop();
  }

  #subscribe(): void {
    const { subscriptions } = this.#options;
    subscriptions.forEach(({ params }, index) => this.#call(index + 1, "eth_subscribe", params));
    this.#timers.after(ACCEPT_TIMEOUT_MS, () => {
      this.drop(`no answer to a subscription within ${ACCEPT_TIMEOUT_MS} ms`);
    });
  }

  #call(id: number, method: string, params: readonly unknown[]): void {
    this.#socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
  }

  #receive(text: string): void {
    this.#isHeard = true;
    const frame = frameSchema.safeParse(tryParseJson(text)).data;
    const shown = text.slice(0, FRAME_TEXT_MAX);
    if (frame === undefined) return this.drop(`unexpected frame ${shown}`);
    if ("params" in frame) {
      const { subscription, result } = frame.params;
      // Some nodes notify before they answer.
      const isEarly = this.#accepted.size < this.#options.subscriptions.length;
      if (this.#accepted.get(subscription)?.tryDeliver(result) ?? isEarly) return;
      return this.drop(`unexpected notification ${shown}`);
    }
    if (frame.id === HEARTBEAT_ID) return;
    const requested = this.#options.subscriptions[frame.id - 1];
    if (requested === undefined) return this.drop(`unexpected answer ${shown}`);
    if ("error" in frame) return this.drop(`refuses a subscription: ${frame.error.message}`);
    if (typeof frame.result !== "string") return this.drop(`unexpected answer ${shown}`);
    this.#accept(frame.result, requested);
  }

  #accept(id: string, requested: RpcSubscription): void {
    this.#accepted.set(id, requested);
    if (this.#accepted.size < this.#options.subscriptions.length) return;
    this.#timers.clear();
    this.#scheduleHeartbeat();
    if (this.#catchUp === undefined) this.#setLive();
    else this.#catchUp.start();
  }

  #setLive(): void {
    if (this.#isLive) return;
    this.#isLive = true;
    this.#options.onLive();
  }

  #scheduleHeartbeat(): void {
    const { heartbeat } = this.#options;
    if (heartbeat === undefined) return;
    this.#timers.after(heartbeat.everyMs, () => {
      this.#isHeard = false; // no times are compared: the clock may be set meanwhile
      this.#call(HEARTBEAT_ID, "eth_chainId", []);
      // Measured from the request: a hidden browser tab may run this timer a minute late.
      this.#timers.after(heartbeat.answerMs, () => {
        if (!this.#isHeard) return this.drop("no answer to a heartbeat");
        this.#scheduleHeartbeat();
      });
    });
  }

  #onLost(reason: string): void {
    this.#timers.clear();
    this.#catchUp?.pause();
    this.#isLive = false;
    this.#accepted.clear();
    this.#options.onLost(reason);
  }
}
