import type { Clock } from "../../../lib/clock.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import type { ByteBudget } from "../shared/byte_budget.ts";
import type { ProxyMetrics } from "../shared/metrics.ts";
import type { ProxyOptions, ReadNodeUrls } from "../options.ts";
import type { Head } from "./head.ts";
import { HttpPool } from "./http_pool.ts";
import { registerNodeMetrics } from "./node_metrics.ts";
import { ProbeRounds } from "./probe_rounds.ts";
import { ReadNodes } from "./read_nodes.ts";
import { ReadPool } from "./read_pool.ts";
import { ReadSocket } from "./read_socket.ts";
import { SubscriptionSocket } from "./subscription_socket.ts";

const log = serviceLog("proxy");

/** The part of the hub that the socket to the leading read node calls. */
interface NodeListener {
  /** Whether the node has granted a subscription to `newHeads`. */
  readonly followsHeads: boolean;
  upstreamOpened(nowMs: number): void;
  upstreamClosed(): void;
  /** The node closed the socket because of what it was sent. */
  upstreamRefused(nowMs: number): void;
  /** A frame of the node. @returns False if it is malformed. */
  receive(text: string): boolean;
}

interface UpstreamNodesOptions {
  options: ProxyOptions;
  readNodes: ReadNodeUrls;
  /** Measures durations, except those of requests to nodes. */
  clock: Clock;
  requestClock: Clock;
  /** Is compared with the times of blocks. */
  unixClock: Clock;
  budget: ByteBudget;
  metrics: ProxyMetrics;
}

/** The proxy's connections to its nodes: HTTP to each, and sockets to the leading read node. */
export class UpstreamNodes {
  readonly write: HttpPool;
  readonly read: ReadPool;
  readonly plainReads: Pick<ReadPool, "ask">;
  readonly readNodes: ReadNodes;
  readonly #readSocket: ReadSocket | undefined;
  readonly #upstream: SubscriptionSocket;
  readonly #probeRounds: ProbeRounds;
  readonly #clock: Clock;
  #listener: NodeListener | undefined;

  constructor({ readNodes: { urls, wsUrls, names }, ...parts }: UpstreamNodesOptions) {
    const { options, clock, requestClock, unixClock, budget, metrics } = parts;
    this.#clock = clock;
    const { upstreamTimeoutMs: timeoutMs, reconnectInitialMs, reconnectMaxMs } = options;
    const http = { timeoutMs, clock: requestClock, budget, metrics };
    const reconnects = { random: Math.random, reconnectInitialMs, reconnectMaxMs, metrics };
    this.write = new HttpPool({ target: "write", url: new URL(options.writeNodeUrl), ...http });
    const readNodes = this.readNodes = new ReadNodes({
      names,
      maxLag: options.readNodeMaxLag,
      clock,
      unixClock,
      random: Math.random,
      onLeaderChange: (leader, reason) => this.#onLeaderChanged(names[leader] ?? "", reason),
      onMembershipChange(node, reason) {
        const facts = { node: names[node], reason };
        if (reason === undefined) log.info("Read node {node} added to the read group", facts);
        else log.warn("Read node {node} removed from the read group: {reason}", facts);
      },
    });
    registerNodeMetrics(metrics.registry, readNodes);
    const read = this.read = new ReadPool({ urls, nodes: readNodes, ...http });
    this.#upstream = new SubscriptionSocket({
      urls: wsUrls,
      leader: () => readNodes.leader,
      clock,
      ...reconnects,
      events: {
        opened: (node) => this.#onOpened(node),
        lost: (node, reason) => this.#onLost(node, reason),
        // A socket that was closed because of a client says nothing about the node.
        refused: () => this.#listener?.upstreamRefused(clock.now()),
        leaderChanged: () => this.#listener?.upstreamClosed(),
        received: (text) => this.#listener?.receive(text) ?? true,
      },
    });
    this.#probeRounds = new ProbeRounds({
      nodes: readNodes,
      clock,
      silenceMs: options.headSilenceMs,
      followed: () => this.#listener?.followsHeads ? this.#upstream.node : undefined,
      probe: (node) => read.probe(node),
      drop: (reason) => this.drop(reason),
    });
    const nodes = names.map((name, node) => ({ name, wsUrl: wsUrls[node] ?? "" }));
    this.#readSocket = options.reads === "http" ? undefined : new ReadSocket({
      nodes,
      leader: () => readNodes.leader,
      overHttp: (call) => read.ask(call),
      clock: requestClock,
      timeoutMs,
      ...reconnects,
    });
    this.plainReads = this.#readSocket ?? read;
  }

  /** Whether the socket for subscriptions is open, or any read node responds. */
  get isReachable(): boolean {
    return this.isConnected || (this.hasSeveral && this.readNodes.isAnyAlive);
  }

  /** Whether the socket for subscriptions is open. */
  get isConnected(): boolean {
    return this.#upstream.isConnected;
  }

  get hasSeveral(): boolean {
    return this.readNodes.names.length > 1;
  }

  /** Sends a frame over the socket for subscriptions. @returns False if it is not open. */
  send(text: string): boolean {
    return this.#upstream.send(text);
  }

  /** Replaces the socket for subscriptions, which is faulty. */
  drop(reason: string): void {
    this.#upstream.drop(reason);
  }

  /** The node announced a head, if it can be read. @returns False to keep it from clients. */
  announced(head: Head | undefined): boolean {
    this.#probeRounds.announced(head);
    return head === undefined || this.readNodes.onHead(this.#upstream.node, head);
  }

  /** Connects to the nodes. @param listener Gets what the leading read node sends. */
  start(listener: NodeListener): void {
    this.#listener = listener;
    this.#upstream.start();
    this.#probeRounds.start();
  }

  stop(): void {
    this.#readSocket?.stop();
    this.#upstream.stop();
    this.#probeRounds.stop();
    this.read.stop();
    this.write.stop();
  }

  #onOpened(node: number): void {
    this.readNodes.onConnected(node);
    this.#probeRounds.reconnected();
    this.#listener?.upstreamOpened(this.#clock.now());
  }

  #onLost(node: number, reason: string): void {
    this.#listener?.upstreamClosed();
    // With 1013, a node asks clients to use another one. It is removed until its probes show that
    // it keeps up.
    this.readNodes.onDied(node, `its WebSocket is lost: ${reason}`);
  }

  #onLeaderChanged(node: string, reason: string): void {
    log.warn("Read node {node} is now the leader: {reason}", { node, reason });
    this.#upstream.followLeader();
    this.#readSocket?.followLeader();
  }
}
