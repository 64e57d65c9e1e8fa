import { Counter, Gauge, type Registry } from "prom-client";
import { allMethods } from "../../lib/protocol/methods/all.ts";
import { copySeries, type CounterSeries, memoize } from "./counter_series.ts";
import { PresetHistogram } from "../../lib/http/preset_histogram.ts";

/** Further method names are counted as `other`, because callers choose names freely. */
const INVENTED_METHODS_MAX = 180;

const METHOD_NAME = /^[a-zA-Z0-9]+_[a-zA-Z0-9]+$/;

/** Upper bounds of the latency buckets, in seconds; a local node answers within the first three. */
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
export const LIMITS = [
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
  "subscription_displaced",
  "closed_the_socket",
  "upstream_subscriptions",
] as const;

/** One of {@link LIMITS}. */
export type Limit = (typeof LIMITS)[number];

/** HTTP methods with their own label; the others share `other`. */
const HTTP_METHODS = new Set(["GET", "POST", "OPTIONS", "HEAD"]);

/** A node by its role: a label of the metrics. */
export type Target = "read" | "write";

/** The series of the last request: the next one usually has the same labels. */
interface RequestSeries {
  method: string;
  target: string;
  status: number;
  series: CounterSeries<"method" | "target" | "status">;
  observe: (seconds: number) => void;
}

/** The metrics of the proxy, under the names of the specification ("Proxy metrics"). */
export class ProxyMetrics {
  readonly upstreamErrors: Counter<"target">;
  readonly wsConnections: Gauge;
  readonly wsMessages: Counter<"direction">;
  readonly upstreamConnected: Gauge;
  readonly broadcastReceived: Counter;
  readonly broadcastSent: Counter;
  readonly reconnectAttempts: Counter;
  readonly reconnects: Counter;
  readonly activeSubscriptions: Gauge;
  readonly #refusals: Counter<"limit">;
  readonly #httpDuration: PresetHistogram<"target">;
  readonly #upstreamLatency: PresetHistogram<"target">;
  readonly #requests: CounterSeries<"method" | "target" | "status">[] = [];
  readonly registry: Registry;
  #inventedMethods = 0;
  #lastRequest: RequestSeries | undefined;
  readonly #calls = new Map<string, CounterSeries<"method">>();
  readonly #requestSeries = memoize((method: string) =>
    memoize((target: string) =>
      memoize((status: number) => {
        const series = { labels: { method, target, status: String(status) }, count: 0 };
        this.#requests.push(series);
        return series;
      })
    )
  );
  readonly #durationSeries = memoize((target: string) => this.#httpDuration.series({ target }));
  /** Observes, in seconds, how long a node took to answer: looked up once, for the hot path. */
  readonly upstreamLatency = memoize((target: Target) => this.#upstreamLatency.series({ target }));

  constructor(registry: Registry) {
    this.registry = registry;
    const registers = [registry];
    const requests = () => this.#requests;
    new Counter({
      name: "proxy_http_requests_total",
      help:
        "HTTP requests by method, target (read, write, mixed, or proxy for its own) and status.",
      labelNames: ["method", "target", "status"],
      registers,
      collect() {
        copySeries(this, requests());
      },
    });
    this.#httpDuration = new PresetHistogram({
      name: "proxy_http_request_duration_seconds",
      help: "Duration of JSON-RPC requests over HTTP, by target.",
      labelNames: ["target"],
      buckets: LATENCY_BUCKETS,
      registers,
    });
    const calls = () => this.#calls.values();
    new Counter({
      name: "proxy_rpc_methods_total",
      help: "RPC calls by method name, over HTTP and WebSocket.",
      labelNames: ["method"],
      registers,
      collect() {
        copySeries(this, calls());
      },
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
      help: "Notifications, and answers to subscribe calls, received from the read node.",
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
    this.reconnects = new Counter({
      name: "proxy_broadcast_reconnects_total",
      help: "Connections to the read node's WebSocket that were lost and came back.",
      registers,
    });
    this.activeSubscriptions = new Gauge({
      name: "proxy_broadcast_active_subscriptions",
      help: "Subscriptions of clients in the hub.",
      registers,
    });
    this.#refusals = new Counter({
      name: "proxy_refusals_total",
      help: "Requests, messages and connections refused or closed because of a limit, by limit.",
      labelNames: ["limit"],
      registers,
    });
    for (const limit of LIMITS) this.#refusals.inc({ limit }, 0);
    for (const direction of ["upstream", "downstream", "lagged"] as const) {
      this.wsMessages.inc({ direction }, 0);
    }
    for (const target of ["read", "write"] as const) this.upstreamErrors.inc({ target }, 0);
  }

  /** Counts the events of the hub. */
  hubEvents() {
    return {
      received: () => this.broadcastReceived.inc(),
      sent: (count: number) => {
        this.broadcastSent.inc(count);
        this.wsMessages.inc({ direction: "downstream" }, count);
      },
      subscribed: (total: number) => this.activeSubscriptions.set(total),
      refused: (limit: Limit) => this.countRefusal(limit),
      lagged: (count: number) => this.wsMessages.inc({ direction: "lagged" }, count),
    };
  }

  /** Counts one HTTP request; `method` is that of HTTP, `target` is the source of the answer. */
  countHttp(method: string, target: string, status: number, tookMs: number): void {
    let last = this.#lastRequest;
    if (last?.status !== status || last.target !== target || last.method !== method) {
      const label = HTTP_METHODS.has(method) ? method : "other";
      const series = this.#requestSeries(label)(target)(status);
      last = { method, target, status, series, observe: this.#durationSeries(target) };
      this.#lastRequest = last;
    }
    last.series.count += 1;
    last.observe(tookMs / 1000);
  }

  /** Counts one WebSocket handshake, of either port: its status is 101 unless it was refused. */
  countHandshake(status: number): void {
    this.#requestSeries("GET")("proxy")(status).count += 1;
  }

  /** Counts something that was refused, or closed, because of a limit. */
  countRefusal(limit: Limit): void {
    this.#refusals.inc({ limit });
  }

  /** Reports the use of a bounded resource; `read` is called at every scrape. */
  showGauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.set(read());
      },
    });
  }

  /** Counts one call of a method. */
  countCall(method: string): void {
    (this.#calls.get(method) ?? this.#newCallSeries(method)).count += 1;
  }

  #newCallSeries(method: string): CounterSeries<"method"> {
    const isUsable = KNOWN_METHODS.has(method) ||
      (this.#inventedMethods < INVENTED_METHODS_MAX && METHOD_NAME.test(method));
    const label = isUsable ? method : "other";
    const existing = this.#calls.get(label);
    if (existing !== undefined) return existing;
    if (!KNOWN_METHODS.has(label)) this.#inventedMethods += 1;
    const series = { labels: { method: label }, count: 0 };
    this.#calls.set(label, series);
    return series;
  }
}
