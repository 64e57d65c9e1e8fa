import { Counter, Gauge, type Registry } from "prom-client";
import type { ReadNode } from "./read_node.ts";
import type { ReadNodes } from "./read_nodes.ts";

interface NodeMetric {
  name: string;
  help: string;
  value: (node: ReadNode, leads: boolean) => number;
}

const GAUGES: readonly NodeMetric[] = [
  {
    name: "proxy_read_node_up",
    help: "0 while a read node is removed from the read group or does not answer, else 1.",
    value: ({ isUp }) => isUp ? 1 : 0,
  },
  {
    name: "proxy_read_node_leads",
    help: "1 for the read node that serves reads and subscriptions, 0 for the others.",
    value: (_node, leads) => leads ? 1 : 0,
  },
  {
    name: "proxy_read_node_head",
    help: "Newest block number of each read node, 0 before any is known.",
    value: ({ head }) => head?.number ?? 0,
  },
  {
    name: "proxy_read_node_probe_seconds",
    help: "How long each read node takes to answer a probe, 0 before the first; " +
      "a single one is probed only while it announces no heads.",
    value: ({ tookMs }) => tookMs === Infinity ? 0 : tookMs / 1000,
  },
];

const COUNTERS: readonly NodeMetric[] = [
  {
    name: "proxy_read_node_requests_total",
    help: "Requests over HTTP to each read node, without probes.",
    value: ({ readsTotal }) => readsTotal,
  },
  {
    name: "proxy_read_node_errors_total",
    help:
      "Requests over HTTP that a read node did not answer; of several, also those with 429 or 5xx.",
    value: ({ errorsTotal }) => errorsTotal,
  },
  {
    name: "proxy_read_node_removals_total",
    help:
      "How often each of several read nodes was removed from the read group, 0 for a single one.",
    value: ({ removalsTotal }) => removalsTotal,
  },
];

/** Registers the metrics of each read node, which are read at every scrape. */
export function registerNodeMetrics(registry: Registry, nodes: ReadNodes): void {
  const options = ({ name, help, value }: NodeMetric) => ({
    name,
    help,
    labelNames: ["node"] as const,
    registers: [registry],
    collect(this: Gauge<"node"> | Counter<"node">) {
      this.reset();
      for (const [index, node] of nodes.states.entries()) {
        this.inc({ node: node.name }, value(node, index === nodes.leader));
      }
    },
  });
  for (const metric of GAUGES) new Gauge(options(metric));
  for (const metric of COUNTERS) new Counter(options(metric));
}
