import { changes, gauge, increase, quantile, rate, ratio } from "./measure.ts";
import type { Problem } from "./problem.ts";

/** Of every service. */
export const SERVICES: readonly Problem[] = [
  {
    name: "ServiceDown",
    title: "Answers scrapes",
    measure: gauge("up"),
    bound: { op: "==", limit: 0 },
    severity: "critical",
    afterS: 30,
    message: "It does not answer",
    firstStep: "Start it again: every service continues where it stopped.",
  },
  {
    name: "ServiceRestarting",
    title: "Starts",
    measure: changes("process_start_time_seconds", "15m"),
    bound: { op: ">", limit: 2 },
    severity: "warning",
    message: "It has started {value} times",
    firstStep:
      "Read its last log line before each start: a supervisor restarts it, and it ends again.",
  },
  {
    name: "MemoryHigh",
    title: "Memory",
    measure: gauge("process_resident_memory_bytes"),
    bound: { op: ">", limit: 1e9 },
    unit: "bytes",
    severity: "warning",
    afterS: 600,
    message: "Its process uses {value} of memory",
    firstStep: "Look for many clients, or messages that are large: every queue is bounded.",
  },
];

/** Of the proxy. */
export const PROXY: readonly Problem[] = [
  {
    name: "ProxyUpstreamDisconnected",
    title: "WebSocket to the read node",
    measure: gauge("proxy_broadcast_upstream_connected"),
    bound: { op: "==", limit: 0 },
    severity: "critical",
    afterS: 30,
    message: "It has no WebSocket to the read node: clients get no notifications",
    firstStep: "Ask the read node itself; if it answers, check `--read-node-ws-url`.",
  },
  {
    name: "ProxyReconnecting",
    title: "Reconnects to the read node",
    measure: increase("proxy_broadcast_reconnects_total", "10m"),
    bound: { op: ">", limit: 5 },
    severity: "warning",
    message: "It has lost its connection to the read node {value} times",
    firstStep: "Look for an idle limit between them, or a node that disconnects slow readers.",
  },
  {
    name: "ProxyReadNodeOut",
    title: "Read nodes in use",
    measure: gauge("proxy_read_node_up"),
    bound: { op: "==", limit: 0 },
    severity: "warning",
    afterS: 120,
    message: "It does not use its read node {node}",
    firstStep: "`GET /health` of the proxy says why.",
  },
  {
    name: "ProxyUpstreamErrors",
    title: "Requests without an answer, a second",
    measure: rate("proxy_upstream_errors_total", "5m", { by: ["target"] }),
    bound: { op: ">", limit: 0.1 },
    severity: "critical",
    afterS: 120,
    message: "The {target} node leaves {value} requests a second without an answer",
    firstStep: "Ask that node directly.",
  },
  {
    name: "ProxyClientsLag",
    title: "Messages that clients miss",
    measure: ratio(
      rate("proxy_ws_messages_total", "5m", { labels: { direction: "lagged" } }),
      rate("proxy_ws_messages_total", "5m", { labels: { direction: /lagged|downstream/ } }),
    ),
    bound: { op: ">", limit: 0.01 },
    unit: "share",
    severity: "warning",
    afterS: 300,
    message: "Clients miss {value} of their messages",
    firstStep: "If all clients do, raise `--broadcast-capacity`; a few read too slowly.",
  },
  {
    name: "ProxySlow",
    title: "99th percentile of request time",
    measure: quantile(0.99, "proxy_http_request_duration_seconds", "target"),
    bound: { op: ">", limit: 1 },
    unit: "seconds",
    severity: "warning",
    afterS: 600,
    message: "One in a hundred {target} requests takes {value}",
    firstStep: "Compare `proxy_upstream_latency_seconds`: if it is as slow, the node is the cause.",
  },
];
