import { serviceLog } from "../../../lib/log/logging.ts";
import { ProblemTracker } from "../../../lib/log/problem_tracker.ts";
import {
  ReconnectingSocket,
  type ReconnectingSocketOptions,
} from "../../../lib/net/reconnecting_socket.ts";
import type { ProxyMetrics } from "../shared/metrics.ts";
import type { ReadNode } from "./read_node.ts";
import type { ReadNodes } from "./read_nodes.ts";

const log = serviceLog("proxy");

interface SubscriptionSocketEvents {
  onOpened(node: ReadNode): void;
  /** The connection to a node is lost, or could not be opened. */
  onLost(node: ReadNode, reason: string): void;
  /** The node closed the connection because of what it was sent. */
  onRejected(): void;
  /** The connection was closed because another node leads. */
  onLeaderChanged(): void;
  /** A frame of the node. @returns False if it is malformed. */
  onReceived(text: string): boolean;
}

/** How a socket is opened, and opened again. */
export type SocketSettings = Pick<ReconnectingSocketOptions, "backoff" | "clock" | "connect">;

interface SubscriptionSocketOptions {
  /** The leader is read at every attempt. */
  nodes: Pick<ReadNodes, "leader">;
  socket: SocketSettings;
  metrics: ProxyMetrics;
  events: SubscriptionSocketEvents;
}

/** Close codes caused by our messages (RFC 6455, section 7.4.1): 1009 is a message too large. */
const REJECTION_CODES: ReadonlySet<number> = new Set([1002, 1003, 1007, 1008, 1009]);

/** The WebSocket to a read node for subscriptions: to the leader, if there are several. */
export class SubscriptionSocket {
  readonly #options: SubscriptionSocketOptions;
  readonly connection: ReconnectingSocket;
  #node: ReadNode;
  #isChangingLeader = false;

  constructor(options: SubscriptionSocketOptions) {
    this.#options = options;
    const { nodes, socket, metrics, events } = options;
    this.#node = nodes.leader;
    metrics.scrapedGauge(
      "proxy_broadcast_upstream_connected",
      "1 while the WebSocket to the read node is open, else 0.",
      () => this.connection.isConnected ? 1 : 0,
    );
    const loss = new ProblemTracker();
    let wasConnected = false;
    this.connection = new ReconnectingSocket({
      ...socket,
      url: () => {
        this.#node = nodes.leader;
        return this.#node.endpoint.wsUrl;
      },
      handlers: {
        onAttempt(attempt) {
          if (attempt > 1) metrics.sockets.reconnectAttempts.inc();
        },
        onOpen: () => {
          const isBack = loss.end();
          const event = isBack ? "node_back" : "node_connected";
          log.info("Connected to the read node at {url}", {
            event,
            url: this.#node.endpoint.wsUrl,
          });
          if (isBack && wasConnected) metrics.sockets.reconnects.inc();
          wasConnected = true;
          events.onOpened(this.#node);
        },
        onText(text) {
          if (events.onReceived(text)) return;
          metrics.upstreamErrors.inc({ target: "read" });
          log.warn(
            "The read node sent a frame that is not JSON-RPC, or a thesis without user and solver",
          );
        },
        onLost: (reason, _cause, closeCode) => {
          if (this.#isChangingLeader) return events.onLeaderChanged();
          metrics.upstreamErrors.inc({ target: "read" });
          if (loss.begin()) {
            const facts = { event: "node_lost", url: this.#node.endpoint.wsUrl, reason };
            log.warn("No connection to the read node at {url}: {reason}", facts);
          }
          if (closeCode !== undefined && REJECTION_CODES.has(closeCode)) events.onRejected();
          else events.onLost(this.#node, reason);
        },
      },
    });
  }

  /** The node of the present connection or attempt, or of the last one. */
  get node(): ReadNode {
    return this.#node;
  }

  /** The leader changed: connects to it now. */
  followLeader(): void {
    if (this.#node === this.#options.nodes.leader) return;
    this.#isChangingLeader = true;
    this.connection.drop("another node is the leader now");
    this.#isChangingLeader = false;
    this.#options.socket.backoff.reset();
    this.connection.reconnectNow();
  }
}
