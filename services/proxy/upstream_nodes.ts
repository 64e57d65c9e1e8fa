import type { Clock } from "../../lib/clock.ts";
import { serviceLog } from "../../lib/log/logging.ts";
import { Backoff } from "../../lib/timing/backoff.ts";
import { BoundedSocket } from "../../lib/net/bounded_socket.ts";
import type { DeliveryLoop } from "./hub/delivery_loop.ts";
import type { Hub } from "./hub/hub.ts";
import { HttpPool } from "./node/http_pool.ts";
import { ProbeRounds } from "./node/probe_rounds.ts";
import { registerNodeMetrics } from "./node/read_node.ts";
import { ReadNodes } from "./node/read_nodes.ts";
import { ReadPool } from "./node/read_pool.ts";
import { ReadSocket } from "./read_socket/read_socket.ts";
import { REPLY_BYTES_MAX } from "./node/reply_body.ts";
import { type SocketSettings, SubscriptionSocket } from "./node/subscription_socket.ts";
import { type ProxyOptions, readNodeEndpoints } from "./options.ts";
import type { ByteBudget } from "./shared/limits.ts";
import type { ProxyMetrics } from "./shared/metrics.ts";

const log = serviceLog("proxy");

interface UpstreamNodesOptions {
  options: ProxyOptions;
  /** Gets what the leading read node sends. */
  hub: Hub;
  delivery: DeliveryLoop;
  /** Measures durations: it must not jump. */
  clock: Clock;
  /** Is compared with the times of blocks. */
  unixClock: Clock;
  budget: ByteBudget;
  metrics: ProxyMetrics;
}

/** The proxy's connections to its nodes: HTTP to each, and sockets to the leading read node. */
export class UpstreamNodes {
  readonly writePool: HttpPool;
  readonly readPool: ReadPool;
  readonly plainReadPath: Pick<ReadPool, "ask">;
  readonly readNodes: ReadNodes;
  readonly #readSocket: ReadSocket | undefined;
  readonly #subscriptionSocket: SubscriptionSocket;
  readonly #probeRounds: ProbeRounds;

  constructor(parts: UpstreamNodesOptions) {
    const { options, hub, delivery, clock, budget, metrics } = parts;
    const { upstreamTimeoutMs: timeoutMs } = options;
    const http = { timeoutMs, clock, budget, metrics };
    this.writePool = new HttpPool({ target: "write", url: new URL(options.writeNodeUrl), ...http });
    const readNodes = this.readNodes = this.#createReadNodes(parts);
    registerNodeMetrics(metrics.registry, readNodes);
    const readPool = this.readPool = new ReadPool({ nodes: readNodes, ...http });
    const probeRounds = this.#probeRounds = new ProbeRounds({
      nodes: readNodes,
      clock,
      silenceMs: options.headSilenceMs,
      hub,
      probe: (node) => readPool.probe(node),
    });
    this.#subscriptionSocket = new SubscriptionSocket({
      nodes: readNodes,
      hub,
      delivery,
      probeRounds,
      socket: socketSettings(options, clock),
      metrics,
    });
    this.#readSocket = options.reads === "http" ? undefined : new ReadSocket({
      nodes: readNodes,
      overHttp: (call) => readPool.ask(call),
      socket: socketSettings(options, clock),
      timeoutMs,
      metrics,
    });
    this.plainReadPath = this.#readSocket ?? readPool;
  }

  #createReadNodes({ options, clock, unixClock }: UpstreamNodesOptions): ReadNodes {
    return new ReadNodes({
      endpoints: readNodeEndpoints(options),
      maxLag: options.readNodeMaxLag,
      clock,
      unixClock,
      random: Math.random,
      onLeaderChange: (leader, reason, before) => {
        const facts = { before: before.name, reason, node: leader.name };
        log.warn("Read node {before} no longer leads: {reason}; {node} is now the leader", facts);
        this.#followLeader();
      },
      onMembershipChange({ name: node }, reason) {
        const facts = { node, reason };
        if (reason === undefined) log.info("Read node {node} added to the read group", facts);
        else log.warn("Read node {node} removed from the read group: {reason}", facts);
      },
    });
  }

  /** Whether the socket for subscriptions is open, or any read node responds. */
  get isReachable(): boolean {
    return this.isConnected || (this.readNodes.hasSeveral && this.readNodes.isAnyAlive);
  }

  /** Whether the socket for subscriptions is open. */
  get isConnected(): boolean {
    return this.#subscriptionSocket.connection.isConnected;
  }

  /** Connects to the nodes. */
  start(): void {
    this.#subscriptionSocket.connection.start();
    this.#probeRounds.start();
  }

  stop(): void {
    this.#readSocket?.stop();
    this.#subscriptionSocket.connection.stop();
    this.#probeRounds.stop();
    this.readPool.stop();
    this.writePool.stop();
  }

  #followLeader(): void {
    this.#subscriptionSocket.followLeader();
    this.#readSocket?.followLeader();
  }
}

function socketSettings(
  { reconnectInitialMs: initialMs, reconnectMaxMs: maxMs }: ProxyOptions,
  clock: Clock,
): SocketSettings {
  return {
    clock,
    backoff: new Backoff({ initialMs, maxMs, random: Math.random }),
    connect: (url) => new BoundedSocket(url, { maxMessageBytes: REPLY_BYTES_MAX, clock }),
  };
}
