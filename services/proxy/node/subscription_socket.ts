import { serviceLog } from "../../../lib/log/logging.ts";
import { ProblemTracker } from "../../../lib/log/problem_tracker.ts";
import {
  ReconnectingSocket,
  type ReconnectingSocketOptions,
} from "../../../lib/net/reconnecting_socket.ts";
import type { DeliveryLoop } from "../hub/delivery_loop.ts";
import type { Hub } from "../hub/hub.ts";
import type { ProxyMetrics } from "../shared/metrics.ts";
import type { ProbeRounds } from "./probe_rounds.ts";
import { headOf, type ReadNode } from "./read_node.ts";
import type { ReadNodes } from "./read_nodes.ts";

const log = serviceLog("proxy");

/** How a socket is opened, and opened again. */
export type SocketSettings = Pick<ReconnectingSocketOptions, "backoff" | "clock" | "connect">;

interface SubscriptionSocketOptions {
  /** The leader is read at every attempt. */
  nodes: Pick<ReadNodes, "leader" | "onSocketOpened" | "onSocketLost" | "onHead">;
  hub: Pick<Hub, "onUpstreamOpened" | "onUpstreamClosed" | "onUpstreamRejected" | "receive">;
  delivery: Pick<DeliveryLoop, "flushSoon">;
  probeRounds: Pick<ProbeRounds, "onConnected" | "onHead">;
  socket: SocketSettings;
  metrics: ProxyMetrics;
}

/** Close codes caused by our messages (RFC 6455, section 7.4.1): 1009 is a message too large. */
const REJECTION_CODES: ReadonlySet<number> = new Set([1002, 1003, 1007, 1008, 1009]);

/** The WebSocket to a read node for the hub: to the leader, if there are several. */
export class SubscriptionSocket {
  readonly #options: SubscriptionSocketOptions;
  readonly connection: ReconnectingSocket;
  #node: ReadNode;
  #isChangingLeader = false;

  constructor(options: SubscriptionSocketOptions) {
    this.#options = options;
    const { nodes, hub, delivery, probeRounds, socket, metrics } = options;
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
          nodes.onSocketOpened(this.#node);
          probeRounds.onConnected(this.#node, this.connection);
          hub.onUpstreamOpened(this.connection, socket.clock.now());
        },
        onText: (text) => {
          delivery.flushSoon();
          if (hub.receive(text, (block) => this.#acceptsHead(block))) return;
          metrics.upstreamErrors.inc({ target: "read" });
          log.warn(
            "The read node sent a frame that is not JSON-RPC, or a thesis without user and solver",
          );
        },
        onLost: (reason, _cause, closeCode) => {
          if (this.#isChangingLeader) return hub.onUpstreamClosed();
          metrics.upstreamErrors.inc({ target: "read" });
          if (loss.begin()) {
            const facts = { event: "node_lost", url: this.#node.endpoint.wsUrl, reason };
            log.warn("No connection to the read node at {url}: {reason}", facts);
          }
          // A socket that was closed because of a client says nothing about the node.
          if (closeCode !== undefined && REJECTION_CODES.has(closeCode)) {
            return hub.onUpstreamRejected(socket.clock.now());
          }
          hub.onUpstreamClosed();
          // With 1013, a node asks clients to use another one. It is removed until its probes show
          // that it keeps up.
          nodes.onSocketLost(this.#node, `its WebSocket is lost: ${reason}`);
        },
      },
    });
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

  /** The node announced a block. @returns False to keep it from clients. */
  #acceptsHead(block: unknown): boolean {
    const { probeRounds, nodes } = this.#options;
    const head = headOf(block);
    probeRounds.onHead(head);
    return head === undefined || nodes.onHead(this.#node, head);
  }
}
