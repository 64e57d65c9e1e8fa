import { Backoff } from "../../../lib/net/backoff.ts";
import type { Clock, RandomSource } from "../../../lib/clock.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import { ProblemTracker } from "../../../lib/log/problem_tracker.ts";
import { BoundedSocket } from "../../../lib/net/bounded_socket.ts";
import { ReconnectingSocket } from "../../../lib/net/reconnecting_socket.ts";
import { REPLY_BYTES_MAX } from "./reply_body.ts";
import type { ProxyMetrics } from "../shared/metrics.ts";

const log = serviceLog("proxy");

interface SubscriptionSocketEvents {
  opened(node: number): void;
  /** The connection to a node is lost, or could not be opened. */
  lost(node: number, reason: string): void;
  /** The node closed the connection because of what it was sent. */
  refused(): void;
  /** The connection was closed because another node leads. */
  leaderChanged(): void;
  /** A frame of the node. @returns False if it is malformed. */
  received(text: string): boolean;
}

interface SubscriptionSocketOptions {
  /** WebSocket URLs of the read nodes. */
  urls: readonly string[];
  /** Returns the node to connect to; called at every attempt. */
  leader: () => number;
  clock: Clock;
  random: RandomSource;
  /** First wait before connecting again, in milliseconds; it doubles with every attempt. */
  reconnectInitialMs: number;
  /** Longest wait before connecting again, in milliseconds. */
  reconnectMaxMs: number;
  metrics: ProxyMetrics;
  events: SubscriptionSocketEvents;
}

/** Close codes caused by our messages (RFC 6455, section 7.4.1): 1009 is a message too large. */
const REFUSAL_CODES: ReadonlySet<number> = new Set([1002, 1003, 1007, 1008, 1009]);

/** The one WebSocket to a read node: to the leader, if there are several. */
export class SubscriptionSocket {
  readonly #options: SubscriptionSocketOptions;
  readonly #backoff: Backoff;
  readonly #socket: ReconnectingSocket;
  #node = 0;
  #isChangingLeader = false;

  constructor(options: SubscriptionSocketOptions) {
    this.#options = options;
    const { leader, clock, random, metrics, events } = options;
    const { reconnectInitialMs: initialMs, reconnectMaxMs: maxMs } = options;
    metrics.upstreamConnected.set(0);
    this.#backoff = new Backoff({ initialMs, maxMs, random });
    const loss = new ProblemTracker();
    let wasConnected = false;
    this.#socket = new ReconnectingSocket({
      url: () => {
        this.#node = leader();
        return this.#url;
      },
      connect: (url) => new BoundedSocket(url, { maxMessageBytes: REPLY_BYTES_MAX, clock }),
      clock,
      backoff: this.#backoff,
      handlers: {
        onAttempt(attempt) {
          if (attempt > 1) metrics.reconnectAttempts.inc();
        },
        onOpen: () => {
          metrics.upstreamConnected.set(1);
          const isBack = loss.ends();
          const event = isBack ? "node_back" : "node_connected";
          log.info("Connected to the read node at {url}", { event, url: this.#url });
          if (isBack && wasConnected) metrics.reconnects.inc();
          wasConnected = true;
          events.opened(this.#node);
        },
        onText(text) {
          if (events.received(text)) return;
          metrics.upstreamErrors.inc({ target: "read" });
          log.warn(
            "The read node sent a frame that is not JSON-RPC, or a thesis without user and solver",
          );
        },
        onLost: (reason, _cause, closeCode) => {
          metrics.upstreamConnected.set(0);
          if (this.#isChangingLeader) return events.leaderChanged();
          metrics.upstreamErrors.inc({ target: "read" });
          if (loss.begins()) {
            const facts = { event: "node_lost", url: this.#url, reason };
            log.warn("No connection to the read node at {url}: {reason}", facts);
          }
          if (closeCode !== undefined && REFUSAL_CODES.has(closeCode)) events.refused();
          else events.lost(this.#node, reason);
        },
      },
    });
  }

  get #url(): string {
    return this.#options.urls[this.#node] ?? "";
  }

  /** The node of the present connection or attempt, or of the last one. */
  get node(): number {
    return this.#node;
  }

  get isConnected(): boolean {
    return this.#socket.isConnected;
  }

  start(): void {
    this.#socket.start();
  }

  stop(): void {
    this.#socket.stop();
  }

  send(text: string): boolean {
    return this.#socket.send(text);
  }

  drop(reason: string): void {
    this.#socket.drop(reason);
  }

  /** The leader changed: connects to it now. */
  followLeader(): void {
    if (this.#node === this.#options.leader()) return;
    this.#isChangingLeader = true;
    this.#socket.drop("another node is the leader now");
    this.#isChangingLeader = false;
    this.#backoff.reset();
    this.#socket.reconnectNow();
  }
}
