import type { CallerAddress } from "../../lib/http/caller_address.ts";
import { type Clock, monotonicClock, systemClock } from "../../lib/clock.ts";
import { ByteBudget } from "./byte_budget.ts";
import { WsClients } from "./clients/ws_clients.ts";
import type { Cors } from "./router/cors.ts";
import { HeadWatch } from "./hub/head_watch.ts";
import { Hub } from "./hub/hub.ts";
import { MethodTable } from "./router/methods.ts";
import type { ProxyMetrics } from "./metrics.ts";
import { nodeHttp, readHead } from "./router/node_http.ts";
import type { ProxyOptions } from "./options.ts";
import { Router } from "./router/router.ts";
import { Upstream } from "./hub/upstream.ts";
import { UpstreamReads } from "./router/upstream_reads.ts";

/** The parts of a proxy, connected with each other. */
export interface ProxyParts {
  /** Large messages in memory, of all callers together. */
  budget: ByteBudget;
  router: Router;
  clients: WsClients;
  upstream: Upstream;
  /** Connects to the nodes and starts all timers. */
  start(): void;
  /** Ends what {@link start} began. */
  stop(): void;
}

/**
 * Makes the parts and connects them.
 *
 * @param clock For everything except requests to nodes, which use a clock that never jumps.
 * @param overRate Seconds until an address may ask again; undefined if it may ask now.
 */
export function assemble(
  options: ProxyOptions,
  metrics: ProxyMetrics,
  cors: Cors,
  clock: Clock = systemClock,
  overRate?: (address: CallerAddress) => Promise<number | undefined>,
): ProxyParts {
  const { upstreamTimeoutMs: timeoutMs, reconnectInitialMs, reconnectMaxMs } = options;
  const budget = new ByteBudget(options.maxBufferedBytes);
  metrics.showGauge(
    "proxy_upstream_subscriptions",
    "Different subscriptions at the read node; the limit is --max-upstream-subscriptions.",
    () => hub.book.count,
  );
  metrics.showGauge(
    "proxy_buffered_bytes",
    "Bytes of answers and large requests in memory; the limit is --max-buffered-bytes.",
    () => budget.used,
  );
  const httpOptions = { timeoutMs, clock: monotonicClock, budget, metrics };
  const nodes = {
    read: nodeHttp({ target: "read", url: options.readNodeUrl, ...httpOptions }),
    write: nodeHttp({ target: "write", url: options.writeNodeUrl, ...httpOptions }),
  };
  const upstream: Upstream = new Upstream({
    url: options.readNodeWsUrl ?? webSocketUrl(options.readNodeUrl),
    clock,
    random: Math.random,
    reconnectInitialMs,
    reconnectMaxMs,
    metrics,
    events: {
      opened() {
        headWatch.restart();
        hub.upstreamOpened(clock.now());
      },
      closed(reason, isRefusal) {
        upstreamReads?.lost(reason);
        hub.upstreamClosed(isRefusal);
      },
      received(text) {
        if (upstreamReads?.answered(text)) return true;
        const understood = hub.receive(text);
        clients.flushSoon();
        return understood;
      },
    },
  });
  const upstreamReads = options.readsOverWs
    ? new UpstreamReads({ upstream, clock: monotonicClock, timeoutMs, metrics })
    : undefined;
  const router = new Router({
    methods: new MethodTable(options.writeMethods),
    nodes,
    upstreamReads,
    maxBatch: options.maxBatch,
    coalesceReads: options.coalesceReads,
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
      noticed: (key, frame) => headWatch.noticed(key, frame),
    },
  });
  const headWatch = new HeadWatch({
    clock,
    silenceMs: options.headSilenceMs,
    isLive: (key) => hub.book.isLive(key),
    readHead: () => readHead(nodes.read),
    drop: (reason) => upstream.drop(reason),
  });
  const clients = new WsClients({
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
  const running = [clients, headWatch, upstream];
  return {
    budget,
    router,
    clients,
    upstream,
    start: () => running.forEach((part) => part.start()),
    stop() {
      upstreamReads?.lost("the proxy stops");
      for (const part of [...running, nodes.read, nodes.write]) part.stop();
    },
  };
}

/** The WebSocket URL of a node that answers both on one port, as most do. */
function webSocketUrl(httpUrl: string): string {
  return httpUrl.replace(/^http/i, "ws");
}
