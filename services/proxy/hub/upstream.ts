import { getLogger } from "@logtape/logtape";
import { Backoff } from "../../../lib/net/backoff.ts";
import type { Clock, RandomSource } from "../../../lib/clock.ts";
import { LOG_ROOT } from "../../../lib/http/logging.ts";
import { ReconnectingSocket } from "../../../lib/net/reconnecting_socket.ts";
import type { UpstreamPort } from "./subscription_table.ts";
import type { ProxyMetrics } from "../metrics.ts";
import { NodeSocket } from "./node_socket.ts";

const log = getLogger([LOG_ROOT, "proxy"]);

/** Events of an {@link Upstream}. */
export interface UpstreamEvents {
  opened(): void;
  /** @param isRefusal The node closed the connection because of what it was sent. */
  closed(reason: string, isRefusal: boolean): void;
  /** A frame of the node. @returns False if it is not JSON-RPC. */
  received(text: string): boolean;
}

/** Options of an {@link Upstream}. */
export interface UpstreamOptions {
  /** WebSocket URL of the read node. */
  url: string;
  clock: Clock;
  random: RandomSource;
  /** First wait before connecting again, in milliseconds; it doubles with every attempt. */
  reconnectInitialMs: number;
  /** Longest wait before connecting again, in milliseconds. */
  reconnectMaxMs: number;
  metrics: ProxyMetrics;
  events: UpstreamEvents;
}

/** Close codes that blame what was sent (RFC 6455, section 7.4.1): 1009 is a message too large. */
const REFUSAL = /^closed with (?:1002|1003|1007|1008|1009)\b/;

/** The one WebSocket to the read node. */
export class Upstream implements UpstreamPort {
  readonly #socket: ReconnectingSocket;

  constructor(options: UpstreamOptions) {
    const { url, clock, random, metrics, events } = options;
    const { reconnectInitialMs: initialMs, reconnectMaxMs: maxMs } = options;
    metrics.upstreamConnected.set(0);
    let isLost = false;
    this.#socket = new ReconnectingSocket({
      url,
      connect: (url) => new NodeSocket(url, clock),
      clock,
      backoff: new Backoff({ initialMs, maxMs, random }),
      handlers: {
        onAttempt(attempt) {
          if (attempt > 1) metrics.reconnectAttempts.inc();
        },
        onOpen() {
          metrics.upstreamConnected.set(1);
          const event = isLost ? "node_back" : "node_connected";
          log.info("Connected to the read node at {url}", { event, url });
          isLost = false;
          events.opened();
        },
        onText(text) {
          if (events.received(text)) return;
          metrics.upstreamErrors.inc({ target: "read" });
          log.warn("The read node sent a frame that is not JSON-RPC");
        },
        onDown(reason) {
          metrics.upstreamConnected.set(0);
          metrics.upstreamErrors.inc({ target: "read" });
          if (!isLost) {
            const facts = { event: "node_lost", url, reason };
            log.warn("No connection to the read node at {url}: {reason}", facts);
          }
          isLost = true;
          events.closed(reason, REFUSAL.test(reason));
        },
      },
    });
  }

  /** Whether the connection is open. */
  get connected(): boolean {
    return this.#socket.connected;
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
}
