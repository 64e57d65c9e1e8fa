import { changes, gauge, increase, quantile, rate, ratio } from "./measure.ts";
import type { Problem } from "./problem.ts";

/** Of every service. */
export const SERVICES: readonly Problem[] = [
  {
    name: "ServiceDown",
    figure: "Answers scrapes",
    measure: gauge("up"),
    bound: "== 0",
    severity: "critical",
    afterS: 30,
    words: "It does not answer",
    advice: "Start it again: every service continues where it stopped.",
  },
  {
    name: "ServiceRestarting",
    figure: "Starts",
    measure: changes("process_start_time_seconds", "15m"),
    bound: "> 2",
    severity: "warning",
    words: "It has started {value} times",
    advice:
      "Read its last log line before each start: a supervisor restarts it, and it ends again.",
  },
  {
    name: "MemoryHigh",
    figure: "Memory",
    measure: gauge("process_resident_memory_bytes"),
    bound: "> 1e9",
    unit: "bytes",
    severity: "warning",
    afterS: 600,
    words: "Its process takes {value} of memory",
    advice: "Look for many clients, or messages that are large: every queue is bounded.",
  },
];

/** Of the proxy. */
export const PROXY: readonly Problem[] = [
  {
    name: "ProxyUpstreamDisconnected",
    figure: "WebSocket to the read node",
    measure: gauge("proxy_broadcast_upstream_connected"),
    bound: "== 0",
    severity: "critical",
    afterS: 30,
    words: "It has no WebSocket to the read node: clients get no notifications",
    advice: "Ask the read node itself; if it answers, check `--read-node-ws-url`.",
  },
  {
    name: "ProxyReconnecting",
    figure: "Reconnects to the read node",
    measure: increase("proxy_broadcast_reconnects_total", "10m"),
    bound: "> 5",
    severity: "warning",
    words: "It has lost its connection to the read node {value} times",
    advice: "Look for an idle limit between them, or a node that disconnects slow readers.",
  },
  {
    name: "ProxyReadNodeOut",
    figure: "Read nodes in use",
    measure: gauge("proxy_read_node_up"),
    bound: "== 0",
    severity: "warning",
    afterS: 120,
    words: "It does not use its read node {node}",
    advice: "`GET /health` of the proxy says why.",
  },
  {
    name: "ProxyUpstreamErrors",
    figure: "Requests without an answer, a second",
    measure: rate("proxy_upstream_errors_total", "5m", { by: ["target"] }),
    bound: "> 0.1",
    severity: "critical",
    afterS: 120,
    words: "The {target} node leaves {value} requests a second without an answer",
    advice: "Ask that node directly.",
  },
  {
    name: "ProxyClientsLag",
    figure: "Messages that clients miss",
    measure: ratio(
      rate("proxy_ws_messages_total", "5m", { labels: { direction: "lagged" } }),
      rate("proxy_ws_messages_total", "5m", { labels: { direction: /lagged|downstream/ } }),
    ),
    bound: "> 0.01",
    unit: "share",
    severity: "warning",
    afterS: 300,
    words: "Clients miss {value} of their messages",
    advice: "If all clients do, raise `--broadcast-capacity`; a few read too slowly.",
  },
  {
    name: "ProxySlow",
    figure: "99th percentile of request time",
    measure: quantile(0.99, "proxy_http_request_duration_seconds", "target"),
    bound: "> 1",
    unit: "seconds",
    severity: "warning",
    afterS: 600,
    words: "One in a hundred {target} requests takes {value}",
    advice: "Compare `proxy_upstream_latency_seconds`: if it is as slow, the node is the cause.",
  },
];
