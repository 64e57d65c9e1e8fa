import { Counter, Gauge, type Registry } from "prom-client";
import { PresetHistogram } from "../../lib/http/preset_histogram.ts";

/** Method names beyond the first this many are counted as `other`: callers choose names freely. */
const METHOD_LABELS_MAX = 200;

/** Upper bounds of the latency buckets, in seconds: a local node answers within the first three. */
const LATENCY_BUCKETS = [
  0.001,
  0.0025,
  0.005,
  0.01,
  0.025,
  0.05,
  0.1,
  0.25,
  0.5,
  1,
  2.5,
  5,
  10,
  30,
];

/** Methods that keep a label of their own even if callers use up the rest with invented names. */
const KNOWN_METHODS = [
  "core_sendTransaction",
  "core_settleThesis",
  "core_getAccount",
  "core_simulateTransaction",
  "core_getTransaction",
  "core_getThesis",
  "core_getTheses",
  "core_getPrices",
  "core_getPriceHistory",
  "core_getOracleStatus",
  "eth_subscribe",
  "eth_unsubscribe",
  "eth_chainId",
  "eth_blockNumber",
  "eth_getBlockByNumber",
  "eth_getBalance",
  "eth_getLogs",
  "eth_getTransactionReceipt",
  "eth_call",
  "eth_sendRawTransaction",
  "net_version",
  "web3_clientVersion",
];

/** Methods of HTTP that keep a label of their own. */
const HTTP_METHODS = new Set(["GET", "POST", "OPTIONS", "HEAD"]);

/** A node, by what it is asked for: a label of the metrics. */
export type Target = "read" | "write";

/** Adds to a series: one to a counter, a duration in seconds to a histogram. */
type Series = (value: number) => void;

/** The metrics of the proxy, under the names of the specification ("Proxy metrics"). */
export class ProxyMetrics {
  readonly upstreamErrors: Counter<"target">;
  readonly wsConnections: Gauge;
  readonly wsMessages: Counter<"direction">;
  readonly upstreamConnected: Gauge;
  readonly broadcastReceived: Counter;
  readonly broadcastSent: Counter;
  readonly reconnectAttempts: Counter;
  readonly activeSubscriptions: Gauge;
  readonly #httpRequests: Counter<"method" | "target" | "status">;
  readonly #httpDuration: PresetHistogram<"target">;
  readonly #upstreamLatency: PresetHistogram<"target">;
  readonly #rpcMethods: Counter<"method">;
  readonly #methodLabels = new Set(KNOWN_METHODS);
  readonly #requestSeries = oncePer((method: string) =>
    oncePer((target: string) =>
      oncePer((status: number): Series => {
        const counter = this.#httpRequests.labels(method, target, String(status));
        return () => counter.inc();
      })
    )
  );
  readonly #durationSeries = oncePer((target: string) => this.#httpDuration.series({ target }));
  readonly #latencySeries = oncePer((target: Target) => this.#upstreamLatency.series({ target }));
  readonly #callSeries = oncePer((method: string): Series => {
    const counter = this.#rpcMethods.labels(method);
    return () => counter.inc();
  });

  constructor(registry: Registry) {
    const registers = [registry];
    this.#httpRequests = new Counter({
      name: "proxy_http_requests_total",
      help:
        "HTTP requests by method, target (read, write, mixed, or proxy for its own) and status.",
      labelNames: ["method", "target", "status"],
      registers,
    });
    this.#httpDuration = new PresetHistogram({
      name: "proxy_http_request_duration_seconds",
      help: "Duration of JSON-RPC requests over HTTP, by target.",
      labelNames: ["target"],
      buckets: LATENCY_BUCKETS,
      registers,
    });
    this.#rpcMethods = new Counter({
      name: "proxy_rpc_methods_total",
      help: "RPC calls by method name, over HTTP and WebSocket.",
      labelNames: ["method"],
      registers,
    });
    this.#upstreamLatency = new PresetHistogram({
      name: "proxy_upstream_latency_seconds",
      help: "Time until a node answered a call, by target.",
      labelNames: ["target"],
      buckets: LATENCY_BUCKETS,
      registers,
    });
    this.upstreamErrors = new Counter({
      name: "proxy_upstream_errors_total",
      help: "Requests that a node did not answer, by target.",
      labelNames: ["target"],
      registers,
    });
    this.wsConnections = new Gauge({
      name: "proxy_ws_connections_active",
      help: "Client WebSockets that are open.",
      registers,
    });
    this.wsMessages = new Counter({
      name: "proxy_ws_messages_total",
      help: "WebSocket messages from clients (upstream), to clients (downstream), " +
        "and missed by clients that were too slow (lagged).",
      labelNames: ["direction"],
      registers,
    });
    this.upstreamConnected = new Gauge({
      name: "proxy_broadcast_upstream_connected",
      help: "1 while the WebSocket to the read node is open, else 0.",
      registers,
    });
    this.broadcastReceived = new Counter({
      name: "proxy_broadcast_messages_received",
      help: "Notifications received from the read node.",
      registers,
    });
    this.broadcastSent = new Counter({
      name: "proxy_broadcast_messages_sent",
      help: "Notifications sent to clients, one for each client reached.",
      registers,
    });
    this.reconnectAttempts = new Counter({
      name: "proxy_broadcast_reconnect_attempts",
      help: "Attempts to connect to the read node's WebSocket after the first.",
      registers,
    });
    this.activeSubscriptions = new Gauge({
      name: "proxy_broadcast_active_subscriptions",
      help: "Subscriptions of clients in the hub.",
      registers,
    });
    for (const direction of ["upstream", "downstream", "lagged"] as const) {
      this.wsMessages.inc({ direction }, 0);
    }
    for (const target of ["read", "write"] as const) this.upstreamErrors.inc({ target }, 0);
  }

  /** Counts what the hub does. */
  hubEvents() {
    return {
      received: () => this.broadcastReceived.inc(),
      sent: (count: number) => {
        this.broadcastSent.inc(count);
        this.wsMessages.inc({ direction: "downstream" }, count);
      },
      subscribed: (total: number) => this.activeSubscriptions.set(total),
      lagged: (count: number) => this.wsMessages.inc({ direction: "lagged" }, count),
    };
  }

  /** Counts one HTTP request; `method` is that of HTTP, `target` who answered. */
  countHttp(method: string, target: string, status: number, tookMs: number): void {
    const label = HTTP_METHODS.has(method) ? method : "other";
    this.#requestSeries(label)(target)(status)(1);
    this.#durationSeries(target)(tookMs / 1000);
  }

  /** Notes how long a node took to answer. */
  observeUpstream(target: Target, tookMs: number): void {
    this.#latencySeries(target)(tookMs / 1000);
  }

  /** Counts one call of a method. */
  countCall(method: string): void {
    this.#callSeries(this.#methodLabel(method))(1);
  }

  #methodLabel(method: string): string {
    const labels = this.#methodLabels;
    if (labels.has(method)) return method;
    const usable = labels.size < METHOD_LABELS_MAX && /^[a-zA-Z0-9]+_[a-zA-Z0-9]+$/.test(method);
    if (!usable) return "other";
    labels.add(method);
    return method;
  }
}

/**
 * Makes a thing once for each label, and there are as many as bounded labels: to have prom-client look
 * up a series by its labels with every request costs several times as much.
 */
function oncePer<K, V>(make: (label: K) => V): (label: K) => V {
  const made = new Map<K, V>();
  return (label) => {
    let thing = made.get(label);
    if (thing === undefined) {
      thing = make(label);
      made.set(label, thing);
    }
    return thing;
  };
}
