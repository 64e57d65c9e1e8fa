/** Dashboard, rules and Prometheus configuration, as the tests read them. */
import assert from "node:assert/strict";
import { z } from "zod";
import type { RunningStack } from "../../services/stack/stack.ts";
import { readText, readYaml } from "./support.ts";

const dashboardSchema = z.object({
  templating: z.object({ list: z.array(z.object({ name: z.string(), query: z.unknown() })) }),
  panels: z.array(z.object({
    title: z.string(),
    datasource: z.object({ uid: z.string() }).optional(),
    targets: z.array(z.object({ expr: z.string() })).default([]),
  })),
});
const rulesSchema = z.object({
  groups: z.array(z.object({
    rules: z.array(z.object({
      alert: z.string(),
      expr: z.string(),
      annotations: z.object({ runbook_url: z.string() }),
    })),
  })),
});
export const configSchema = z.object({
  global: z.object({ external_labels: z.object({ documents: z.string() }) }),
  scrape_configs: z.array(z.object({
    job_name: z.string(),
    static_configs: z.array(z.object({ targets: z.array(z.string()) })),
  })),
});

/** The panels of the dashboard, rows included, and its variables. */
export const { panels, templating } = dashboardSchema.parse(
  JSON.parse(readText("docs/monitoring/grafana/dashboard.json")),
);

export const rules = rulesSchema.parse(readYaml("docs/monitoring/alerts.yml"))
  .groups.flatMap((group) => group.rules);

export const queries = panels.flatMap(({ title, targets }) =>
  targets.map(({ expr }) => ({ title, expr }))
);

/** The metrics that a query names, a histogram without the suffix of its parts. */
export function metricsOf(expr: string): string[] {
  return (expr.match(/\b(proxy|oracle|node|bridge|solver|exchanges|process|http)_\w+/g) ?? [])
    .map((name) => name.replace(/_bucket$/, ""));
}

export const prometheusConfig = configSchema.parse(readYaml("docs/monitoring/prometheus.yml"));

/** Where each job of prometheus.yml is in a stack on free ports. */
export function urlsByJob({ urls }: RunningStack): Record<string, string> {
  const { console, exchanges, oracle, node, proxy, bridge, solver } = urls;
  return {
    console: console ?? assert.fail(),
    exchanges: exchanges ?? assert.fail(),
    oracle,
    node,
    proxy,
    bridge,
    solver,
  };
}
