import type { Counter, Registry } from "prom-client";
import { metricsIn } from "../../../lib/http/metrics.ts";
import { allMethods } from "../../../lib/protocol/methods/all.ts";
import { createHotCounter, HotHistogram, memoize } from "./hot_metrics.ts";

/** Further method names are counted as `other`, because callers choose names freely. */
const UNKNOWN_METHODS_MAX = 180;

const METHOD_NAME = /^[a-zA-Z0-9]+_[a-zA-Z0-9]+$/;

/** Upper bounds of the latency buckets, in seconds; a local node answers within the first three. */
const LATENCY_BUCKETS = [1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Methods that keep their own label even after callers used up the others with invented names. */
const KNOWN_METHODS = new Set([
  ...Object.keys(allMethods),
  "eth_getBalance",
  "eth_getLogs",
  "eth_getTransactionReceipt",
  "eth_call",
  "eth_sendRawTransaction",
]);

/** The limits that callers can reach, as labels of `proxy_refusals_total`. */
const LIMIT_NAMES = [
  "requests_per_address",
  "connections_per_address",
  "connections",
  "request_rate",
  "buffered_bytes",
  "message_bytes",
  "slow_body",
  "waiting_reads",
  "subscriptions_per_client",
  "subscription_parameters",
  "upstream_subscriptions_per_address",
  "equal_subscriptions",
  "subscription_displaced",
  "socket_closed",
  "upstream_subscriptions",
] as const;

/** One of {@link LIMIT_NAMES}. */
export type Limit = (typeof LIMIT_NAMES)[number];

/** HTTP methods with their own label; the others share `other`. */
const HTTP_METHODS = new Set(["GET", "POST", "OPTIONS", "HEAD"]);

/** A node by its role: a label of the metrics. */
export type Target = "read" | "write";

/** Counts and times of calls: they are on the path of every read, so a series is looked up once. */
function createCallMetrics(registry: Registry) {
  const latency = (name: string, help: string) => {
    const histogram = new HotHistogram(registry, name, help, LATENCY_BUCKETS, "target");
    return memoize((target: string) => histogram.createSeries({ target }));
  };
  const requests = createHotCounter(
    registry,
    "proxy_http_requests_total",
    "HTTP requests by method, target (read, write, mixed, or proxy for its own) and status.",
    "method",
    "target",
    "status",
  );
  const durationOf = latency(
    "proxy_http_request_duration_seconds",
    "Duration of JSON-RPC requests over HTTP, by target.",
  );
  const calls = createHotCounter(
    registry,
    "proxy_rpc_methods_total",
    "RPC calls by method name, over HTTP and WebSocket.",
    "method",
  );
  return {
    // Nested, since one joined key per request would take four times as long.
    requestsOf: memoize((method: string) =>
      memoize((target: string) =>
        memoize((status: number) => requests({ method, target, status: String(status) }))
      )
    ),
    durationOf,
    callsOf: memoize((method: string) => calls({ method })),
    upstreamLatencyOf: latency(
      "proxy_upstream_latency_seconds",
      "Time until a node answered a call, by target.",
    ),
  };
}

/** What is counted of WebSockets: those of clients, and the one that brings notifications. */
function createSocketMetrics(registry: Registry) {
  const { counter } = metricsIn(registry);
  const messages = createHotCounter(
    registry,
    "proxy_ws_messages_total",
    "WebSocket messages from clients (upstream), to clients (downstream), " +
      "and missed by clients that were too slow (lagged).",
    "direction",
  );
  return {
    // Messages of clients: from them, to them, and missed.
    upstream: messages({ direction: "upstream" }),
    downstream: messages({ direction: "downstream" }),
    lagged: messages({ direction: "lagged" }),
    received: counter(
      "proxy_broadcast_messages_received",
      "Notifications, and answers to subscribe calls, received from the read node.",
    ),
    sent: counter(
      "proxy_broadcast_messages_sent",
      "Notifications sent to clients, one for each client reached.",
    ),
    reconnectAttempts: counter(
      "proxy_broadcast_reconnect_attempts",
      "Attempts to connect to the read node's WebSocket after the first.",
    ),
    reconnects: counter(
      "proxy_broadcast_reconnects_total",
      "Connections to the read node's WebSocket that were lost and came back.",
    ),
  };
}

/** The metrics of the proxy, under the names of the specification ("Proxy metrics"). */
export class ProxyMetrics {
  readonly registry: Registry;
  readonly upstreamErrors: Counter<"target">;
  readonly sockets: ReturnType<typeof createSocketMetrics>;
  /** Declares a gauge that is read at every scrape. */
  readonly scrapedGauge: (name: string, help: string, read: () => number) => void;
  readonly #calls: ReturnType<typeof createCallMetrics>;
  readonly #refusals: Counter<"limit">;
  /** The methods with their own label. */
  readonly #methods = new Set(KNOWN_METHODS);

  constructor(registry: Registry) {
    this.registry = registry;
    const { counter, scrapedGauge } = metricsIn(registry);
    this.scrapedGauge = scrapedGauge;
    this.#calls = createCallMetrics(registry);
    this.upstreamErrors = counter(
      "proxy_upstream_errors_total",
      "Requests without an answer or with a gateway's 502 to 504, lost WebSockets and invalid " +
        "notifications, by target.",
      "target",
    );
    this.sockets = createSocketMetrics(registry);
    this.#refusals = counter(
      "proxy_refusals_total",
      "Requests, messages and connections refused or closed because of a limit, by limit.",
      "limit",
    );
    for (const limit of LIMIT_NAMES) this.#refusals.inc({ limit }, 0);
    for (const target of ["read", "write"] as const) this.upstreamErrors.inc({ target }, 0);
  }

  /** Returns the observer of a node's answer time, in seconds. The hot path looks it up once. */
  upstreamLatencyOf(target: Target): (seconds: number) => void {
    return this.#calls.upstreamLatencyOf(target);
  }

  createHubEvents() {
    const { received, sent, downstream, lagged } = this.sockets;
    return {
      onReceived: () => received.inc(),
      onSent: (count: number) => {
        sent.inc(count);
        downstream.count += count;
      },
      onRefused: (limit: Limit) => this.countRefusal(limit),
      onLagged: (count: number) => void (lagged.count += count),
    };
  }

  /** Counts one HTTP request; `method` is that of HTTP, `target` is the source of the answer. */
  countHttp(method: string, target: string, status: number, tookMs: number): void {
    const label = HTTP_METHODS.has(method) ? method : "other";
    this.#calls.requestsOf(label)(target)(status).count += 1;
    this.#calls.durationOf(target)(tookMs / 1000);
  }

  /** Counts one WebSocket handshake, of either port: its status is 101 unless it was refused. */
  countHandshake(status: number): void {
    this.#calls.requestsOf("GET")("proxy")(status).count += 1;
  }

  /** Counts something that was refused, or closed, because of a limit. */
  countRefusal(limit: Limit): void {
    this.#refusals.inc({ limit });
  }

  countCall(method: string): void {
    this.#calls.callsOf(this.#hasLabel(method) ? method : "other").count += 1;
  }

  #hasLabel(method: string): boolean {
    if (this.#methods.has(method)) return true;
    const isFull = this.#methods.size >= KNOWN_METHODS.size + UNKNOWN_METHODS_MAX;
    if (isFull || !METHOD_NAME.test(method)) return false;
    this.#methods.add(method);
    return true;
  }
}
