import { type Clock, monotonicClock, systemClock } from "../../lib/clock.ts";
import { itemsOf } from "../../lib/cli/option_kinds.ts";
import { UsageError } from "../../lib/cli/options.ts";
import { serviceLog } from "../../lib/log/logging.ts";
import { AddressCounts, type OverRate, PEER_SHARE } from "./address_counts.ts";
import { ByteBudget } from "./byte_budget.ts";
import { CONNECTIONS_MAX } from "./http_pool/http_pool.ts";
import { WsClients } from "./clients/ws_clients.ts";
import type { Cors } from "./clients/cors.ts";
import { quantitySchema } from "./node/head.ts";
import { HeadWatch } from "./node/head_watch.ts";
import { NEW_HEADS_KEY } from "./hub/subscription_request.ts";
import { HeadSequence } from "./hub/head_sequence.ts";
import { Hub } from "./hub/hub.ts";
import { MethodTable } from "./calls/methods.ts";
import type { ProxyMetrics, Target } from "./metrics.ts";
import { ask, nodeHttp, type NodePort, postTo } from "./node/node_http.ts";
import type { ProxyOptions } from "./options.ts";
import { registerNodeMetrics } from "./node/node_metrics.ts";
import { ProbeRounds } from "./node/probe_rounds.ts";
import { ReadNodes } from "./node/read_nodes.ts";
import { Placement, READ_NODES_MAX } from "./calls/placement.ts";
import { ReadPool } from "./node/read_pool.ts";
import { Router } from "./calls/router.ts";
import { Upstream } from "./node/upstream.ts";
import { ReadSocket } from "./node/read_socket.ts";

const log = serviceLog("proxy");

/** The parts of a proxy, connected to each other. */
export interface ProxyParts {
  /** Bytes of large messages in memory, of all callers together. */
  budget: ByteBudget;
  /** Unanswered requests and messages, by caller. */
  openRequests: AddressCounts;
  router: Router;
  clients: WsClients;
  upstream: Upstream;
  /** Set if there are several read nodes. */
  readNodes: ReadNodes | undefined;
  /** Connects to the nodes and starts all timers. */
  start(): void;
  /** Stops everything that {@link start} started. */
  stop(): void;
}

/**
 * Makes the parts and connects them.
 *
 * @param clock For everything except requests to nodes, which use a clock that never jumps.
 */
export function assemble(
  options: ProxyOptions,
  metrics: ProxyMetrics,
  cors: Cors,
  clock: Clock = systemClock,
  overRate?: OverRate,
): ProxyParts {
  const { upstreamTimeoutMs: timeoutMs, reconnectInitialMs, reconnectMaxMs } = options;
  const budget = new ByteBudget(options.maxBufferedBytes);
  metrics.showGauge(
    "proxy_upstream_subscriptions",
    "Different subscriptions at the read node; --max-upstream-subscriptions limits those with parameters.",
    () => hub.table.count,
  );
  metrics.showGauge(
    "proxy_buffered_bytes",
    "Bytes of answers and large requests in memory; the limit is --max-buffered-bytes.",
    () => budget.used,
  );
  const httpOptions = { timeoutMs, clock: monotonicClock, budget, metrics };
  const { urls, wsUrls } = readNodeUrls(options);
  const readNodes = new ReadNodes({
    names: namesOf(urls),
    maxLag: options.readNodeMaxLag,
    clock,
    random: Math.random,
    moved(leader, reason) {
      log.warn("{node} leads the read nodes now: {reason}", { node: names[leader], reason });
      upstream.move();
      readSocket?.move();
    },
    changed(node, reason) {
      if (reason === undefined) log.info("Read node {node} is in", { node: names[node] });
      else log.warn("Read node {node} is out: {reason}", { node: names[node], reason });
    },
  });
  const { names } = readNodes;
  const hasSeveral = urls.length > 1;
  const readPool = new ReadPool({ urls, nodes: readNodes, ...httpOptions });
  // A single node cannot be compared with any other.
  const rounds = hasSeveral
    ? [new ProbeRounds({ nodes: readNodes, clock, probe: (node) => readPool.probe(node) })]
    : [];
  registerNodeMetrics(metrics.registry, () => readNodes.states);
  const writePool = nodeHttp({ target: "write", url: options.writeNodeUrl, ...httpOptions });
  const nodes: Record<Target, NodePort> = {
    read: readPool,
    write: { post: (text, options) => postTo(writePool, text, options) },
  };
  const upstream: Upstream = new Upstream({
    urls: wsUrls,
    leader: () => readNodes.leader,
    clock,
    random: Math.random,
    reconnectInitialMs,
    reconnectMaxMs,
    metrics,
    events: {
      opened(node) {
        readNodes.onConnected(node);
        headWatch.restart();
        hub.upstreamOpened(clock.now());
      },
      closed(reason, isRefusal, node) {
        hub.upstreamClosed(isRefusal);
        // A socket that was closed because of a client says nothing about the node. With 1013 a node
        // asks for another one to be used: it is out until its probes show that it keeps up.
        if (node !== undefined && !isRefusal) {
          readNodes.onDied(node, `its WebSocket is lost: ${reason}`);
        }
      },
      received(text) {
        const understood = hub.receive(text);
        clients.flushSoon();
        return understood;
      },
    },
  });
  const readSocket = options.reads === "http" ? undefined : new ReadSocket({
    node: () => ({ name: names[readNodes.leader] ?? "", url: wsUrls[readNodes.leader] ?? "" }),
    clock: monotonicClock,
    random: Math.random,
    timeoutMs,
    reconnectInitialMs,
    reconnectMaxMs,
    metrics,
  });
  const router = new Router({
    methods: new MethodTable(options.writeMethods, options.httpMethods),
    nodes,
    readSocket,
    placement: new Placement(readNodes),
    maxBatch: options.maxBatch,
    coalesceReads: options.coalesceReads,
    budget,
    metrics,
  });
  const hub = new Hub({
    capacity: options.broadcastCapacity,
    upstream,
    random: Math.random,
    subscribeTimeoutMs: options.subscribeTimeoutMs,
    maxSubscriptions: options.maxUpstreamSubscriptions,
    slowClients: options.slowClients,
    events: {
      ...metrics.hubEvents(),
      announced(head) {
        headWatch.announced(head);
        return head === undefined || readNodes.onHead(upstream.node, head);
      },
    },
    heads: hasSeveral
      ? new HeadSequence({
        clock,
        blocks: (from, to) => readPool.blocks(upstream.node, from, to),
        sent: () => clients.flushSoon(),
      })
      : undefined,
  });
  const headWatch = new HeadWatch({
    clock,
    silenceMs: options.headSilenceMs,
    isSubscribed: () => hub.table.isLive(NEW_HEADS_KEY),
    readHead: async () => quantitySchema.parse(await ask(nodes.read, "eth_blockNumber", [])),
    drop: (reason) => upstream.drop(reason),
  });
  // Over HTTP and WebSockets together; no caller's share fills the connections to a node.
  const openRequests = new AddressCounts(
    options.maxConnectionsPerAddress,
    Math.floor(CONNECTIONS_MAX * PEER_SHARE),
  );
  const clients = new WsClients({
    openRequests,
    hub,
    router,
    clock,
    metrics,
    cors,
    budget,
    overRate,
    maxClients: options.maxWsClients,
    maxClientsPerAddress: options.maxConnectionsPerAddress,
    maxMessageBytes: options.maxBodyBytes,
    maxSubscriptionsPerClient: options.maxSubscriptionsPerClient,
  });
  const running = [clients, headWatch, upstream, ...rounds];
  return {
    budget,
    openRequests,
    router,
    clients,
    upstream,
    readNodes: hasSeveral ? readNodes : undefined,
    start: () => running.forEach((part) => part.start()),
    stop() {
      readSocket?.stop();
      for (const part of [...running, readPool, writePool]) part.stop();
    },
  };
}

/** The URLs of the read nodes. @throws {UsageError} If their WebSockets do not match them. */
function readNodeUrls(options: ProxyOptions): { urls: string[]; wsUrls: string[] } {
  const urls = itemsOf(options.readNodeUrl);
  const wsUrls = options.readNodeWsUrl === undefined
    ? urls.map((url) => url.replace(/^http/i, "ws")) // most nodes answer both on one port
    : itemsOf(options.readNodeWsUrl);
  if (wsUrls.length !== urls.length) {
    throw new UsageError(
      `--read-node-ws-url must have a URL for each of --read-node-url: received ${wsUrls.length} ` +
        `and ${urls.length}`,
    );
  }
  if (urls.length > READ_NODES_MAX) {
    throw new UsageError(
      `--read-node-url may have ${READ_NODES_MAX} URLs: received ${urls.length}`,
    );
  }
  return { urls, wsUrls };
}

/** Name of each node: host and port, without passwords; equal ones are numbered. */
function namesOf(urls: readonly string[]): string[] {
  const hosts = urls.map((url) => new URL(url).host);
  return hosts.map((host, index) => {
    const isUnique = hosts.every((other, at) => at === index || other !== host);
    return isUnique ? host : `${host} ${index + 1}`;
  });
}
