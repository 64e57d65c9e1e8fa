import { getLogger } from "@logtape/logtape";
import { z } from "zod";
import { Backoff } from "../../../lib/net/backoff.ts";
import type { Clock, RandomSource } from "../../../lib/clock.ts";
import { type NodePrice, nodePriceSchema } from "../../../lib/protocol/price.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import { type Thesis, thesisSchema } from "../../../lib/protocol/thesis.ts";
import { LOG_ROOT } from "../../../lib/http/logging.ts";
import { ReconnectingSocket, type SocketLike } from "../../../lib/net/reconnecting_socket.ts";

/** What a {@link NodeFeed} tells. */
export interface NodeFeedHandlers {
  /** Both subscriptions stand: what happens from now on is told; what happened before may be missed. */
  onSubscribed(): void;
  /** The connection is gone; it is made again by itself. */
  onLost(): void;
  /** A thesis of the solver was opened or changed its state. */
  onThesis(thesis: Thesis): void;
  /** Prices of a checkpoint, by symbol. */
  onPrices(prices: Record<string, NodePrice>): void;
}

/** What a {@link NodeFeed} works with. */
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

/** Ids of the two requests, and with them what their subscriptions bring. */
const REQUESTS = { theses: 1, prices: 2 } as const;

/** The node tells prices at every checkpoint, ten times a second: silence means that it is gone. */
const SILENCE_MS = 10_000;

/** Waits between attempts to connect. */
const RECONNECT_INITIAL_MS = 250;
const RECONNECT_MAX_MS = 10_000;

const frameSchema = z.union([
  z.object({ id: z.literal(Object.values(REQUESTS)), result: z.string() }),
  z.object({ params: z.object({ subscription: z.string(), result: z.unknown() }) }),
]);

const pricesSchema = z.record(z.string(), nodePriceSchema);

/** Follows the core node over WebSocket: own theses, and prices. */
export class NodeFeed {
  readonly #options: NodeFeedOptions;
  readonly #socket: ReconnectingSocket;
  readonly #log = getLogger([LOG_ROOT, "solver"]);
  /** Whether the present outage was told: once is enough. */
  #outageLogged = false;
  /** What each subscription id brings. */
  readonly #kinds = new Map<string, keyof typeof REQUESTS>();

  constructor(options: NodeFeedOptions) {
    const { url, clock, random, connect } = options;
    this.#options = options;
    this.#socket = new ReconnectingSocket({
      url,
      clock,
      backoff: new Backoff({ initialMs: RECONNECT_INITIAL_MS, maxMs: RECONNECT_MAX_MS, random }),
      silenceMs: SILENCE_MS,
      ...(connect && { connect }),
      handlers: {
        onOpen: () => this.#subscribe(),
        onText: (text) => this.#receive(text),
        onDown: (reason) => this.#lost(reason),
      },
    });
  }

  /** Connects, and keeps connecting. */
  start(): void {
    this.#socket.start();
  }

  /** Ends for good. */
  stop(): void {
    this.#socket.stop();
  }

  #subscribe(): void {
    this.#kinds.clear();
    const { solver } = this.#options;
    this.#request("theses", ["theses", { solver }]);
    this.#request("prices", ["prices"]);
  }

  #request(kind: keyof typeof REQUESTS, params: unknown[]): void {
    const id = REQUESTS[kind];
    this.#socket.send(JSON.stringify({ jsonrpc: "2.0", id, method: "eth_subscribe", params }));
  }

  /** A frame that makes no sense ends the connection: after it nothing could be trusted. */
  #receive(text: string): void {
    const frame = frameSchema.safeParse(parsed(text));
    if (!frame.success) return this.#socket.drop(`unexpected frame ${text.slice(0, 200)}`);
    if ("id" in frame.data) return this.#subscribed(frame.data.id, frame.data.result);
    const { subscription, result } = frame.data.params;
    if (!this.#tell(this.#kinds.get(subscription), result)) {
      this.#socket.drop(`unexpected notification ${text.slice(0, 200)}`);
    }
  }

  #subscribed(id: number, subscription: string): void {
    this.#kinds.set(subscription, id === REQUESTS.theses ? "theses" : "prices");
    if (this.#kinds.size < Object.keys(REQUESTS).length) return;
    if (this.#outageLogged) {
      this.#log.info("Core node is followed at {url}", { url: this.#options.url });
    }
    this.#outageLogged = false;
    this.#options.handlers.onSubscribed();
  }

  #lost(reason: string): void {
    const { url, handlers } = this.#options;
    if (!this.#outageLogged) {
      this.#log.warn("Core node cannot be followed at {url}: {reason}", { url, reason });
    }
    this.#outageLogged = true;
    handlers.onLost();
  }

  #tell(kind: keyof typeof REQUESTS | undefined, result: unknown): boolean {
    const { handlers } = this.#options;
    if (kind === "theses") {
      const thesis = thesisSchema.safeParse(result);
      if (thesis.success) handlers.onThesis(thesis.data);
      return thesis.success;
    }
    if (kind === "prices") {
      const prices = pricesSchema.safeParse(result);
      if (prices.success) handlers.onPrices(prices.data);
      return prices.success;
    }
    return false;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // No schema takes it, and the caller has the text.
  }
}
