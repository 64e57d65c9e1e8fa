import { z } from "zod";
import { Backoff, SERVICE_WAIT_MAX_MS } from "../../../lib/net/backoff.ts";
import type { Clock, RandomSource } from "../../../lib/clock.ts";
import { type NodePrice, nodePriceSchema } from "../../../lib/protocol/price.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import { type Thesis, thesisSchema } from "../../../lib/protocol/thesis.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import type { SocketLike } from "../../../lib/net/reconnecting_socket.ts";
import { RpcSubscriber, subscription } from "../../../lib/net/rpc_subscriber.ts";

/** Events of a {@link NodeFeed}. */
export interface NodeFeedHandlers {
  /** Reads what was missed, after each connection and at intervals. Throws to be called again. */
  catchUp(signal: AbortSignal): Promise<void>;
  /** Both subscriptions are accepted, and what was missed has been read. */
  onLive(): void;
  /** The connection is lost; it reconnects by itself. */
  onLost(): void;
  /** A thesis of the solver was opened or changed its state. */
  onThesis(thesis: Thesis): void;
  /** Prices of a checkpoint, by symbol. */
  onPrices(prices: Record<string, NodePrice>): void;
}

export interface NodeFeedOptions {
  /** WebSocket URL of the core node, or of a proxy in front of it. */
  url: string;
  solver: Address;
  clock: Clock;
  random: RandomSource;
  handlers: NodeFeedHandlers;
  /** Opens a socket; the platform's by default. */
  connect?: (url: string) => SocketLike;
}

/** The node sends prices at every checkpoint, ten times a second: silence means that it is gone. */
const SILENCE_MS = 10_000;

/** Waits between attempts to connect. */
export const RECONNECT = { initialMs: 250, maxMs: SERVICE_WAIT_MAX_MS };

/** Follows the core node over WebSocket: own theses, and prices. */
export class NodeFeed {
  readonly #options: NodeFeedOptions;
  readonly #subscriber: RpcSubscriber;
  readonly #log = serviceLog("solver");
  /** Each outage is logged once. */
  #outageLogged = false;

  constructor(options: NodeFeedOptions) {
    const { url, solver, clock, random, connect, handlers } = options;
    const backoff = () => new Backoff({ ...RECONNECT, random });
    this.#options = options;
    this.#subscriber = new RpcSubscriber({
      url,
      clock,
      connect,
      backoff: backoff(),
      silenceMs: SILENCE_MS,
      subscriptions: [
        subscription(["theses", { solver }], thesisSchema, handlers.onThesis),
        subscription(["prices"], z.record(z.string(), nodePriceSchema), handlers.onPrices),
      ],
      catchUp: {
        read: (signal) => handlers.catchUp(signal),
        backoff: backoff(),
        onFailure: ({ message }) =>
          this.#log.warn("Open theses cannot be read: {reason}", {
            event: "exposure_unknown",
            reason: message,
          }),
      },
      onLive: () => this.#live(),
      onLost: (reason) => this.#lost(reason),
    });
  }

  /** Connects, and keeps connecting. */
  start(): void {
    this.#subscriber.start();
  }

  /** Closes the connection for good; resolves when nothing is being read. */
  stop(): Promise<void> {
    return this.#subscriber.stop();
  }

  #live(): void {
    const { url, handlers } = this.#options;
    if (this.#outageLogged) {
      this.#log.info("Core node is followed again at {url}", { event: "node_back", url });
    }
    this.#outageLogged = false;
    handlers.onLive();
  }

  #lost(reason: string): void {
    const { url, handlers } = this.#options;
    if (!this.#outageLogged) {
      this.#log.warn("Core node cannot be followed at {url}: {reason}", {
        event: "node_lost",
        url,
        reason,
      });
    }
    this.#outageLogged = true;
    handlers.onLost();
  }
}
