/**
 * Dashboard and alert rules: checked by Prometheus' own tools, and by running Prometheus on a live
 * stack in which a bet is played.
 */
import assert from "node:assert/strict";
import { z } from "zod";
import { systemClock } from "../../lib/clock.ts";
import { playBet } from "../../services/stack/bet.ts";
import { FREE_PORTS, type RunningStack, startStack } from "../../services/stack/stack.ts";
import { eventually } from "../support/eventually.ts";
import {
  fileUrl,
  freePorts,
  hasPrometheus,
  NEEDS_PROMETHEUS,
  readText,
  readYaml,
  run,
} from "./support.ts";

/** The twelve of the specification (RPC proxy, "Proxy metrics"). */
const PROXY_METRICS = [
  "proxy_http_requests_total",
  "proxy_http_request_duration_seconds",
  "proxy_rpc_methods_total",
  "proxy_upstream_latency_seconds",
  "proxy_upstream_errors_total",
  "proxy_ws_connections_active",
  "proxy_ws_messages_total",
  "proxy_broadcast_upstream_connected",
  "proxy_broadcast_messages_received",
  "proxy_broadcast_messages_sent",
  "proxy_broadcast_reconnect_attempts",
  "proxy_broadcast_active_subscriptions",
];

const dashboardSchema = z.object({
  panels: z.array(z.object({
    title: z.string(),
    gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
    datasource: z.object({ uid: z.string() }).optional(),
    targets: z.array(z.object({ expr: z.string() })).default([]),
  })),
});
const rulesSchema = z.object({
  groups: z.array(z.object({
    rules: z.array(z.object({
      alert: z.string(),
      expr: z.string(),
      annotations: z.object({ runbook: z.string() }),
    })),
  })),
});
const configSchema = z.object({
  global: z.record(z.string(), z.string()),
  scrape_configs: z.array(z.object({
    job_name: z.string(),
    static_configs: z.array(z.object({ targets: z.array(z.string()) })),
  })),
});

const { panels } = dashboardSchema.parse(
  JSON.parse(readText("docs/monitoring/grafana/dashboard.json")),
);
const rules = rulesSchema.parse(readYaml("docs/monitoring/alerts.yml"))
  .groups.flatMap((group) => group.rules);
const queries = panels.flatMap(({ title, targets }) =>
  targets.map(({ expr }) => ({ title, expr }))
);

/** The metrics that a query names, a histogram without the suffix of its parts. */
function metricsOf(expr: string): string[] {
  return (expr.match(/\b(proxy|oracle|node|bridge|solver|exchanges|process)_\w+/g) ?? [])
    .map((name) => name.replace(/_bucket$/, ""));
}

/** Where each job of prometheus.yml is in a stack on free ports. */
function urlsByJob({ urls }: RunningStack): Record<string, string> {
  const { exchanges, oracle, node, proxy, bridge, solver } = urls;
  return { exchanges: exchanges ?? assert.fail(), oracle, node, proxy, bridge, solver };
}

async function withStack(test: (stack: RunningStack) => Promise<void>): Promise<void> {
  const stack = await startStack({ ports: FREE_PORTS, seed: 1 });
  try {
    await test(stack);
  } finally {
    await stack.stop();
  }
}

Deno.test("Dashboard: shows the twelve metrics of the proxy by the specification's names", () => {
  const shown = new Set(queries.flatMap(({ expr }) => metricsOf(expr)));
  for (const metric of PROXY_METRICS) assert(shown.has(metric), metric);
});

Deno.test("Dashboard: no panel lies on another, all ask the data source that is provisioned", () => {
  const { datasources } = z.object({ datasources: z.array(z.object({ uid: z.string() })) })
    .parse(readYaml("docs/monitoring/grafana/datasource.yml"));
  const taken = new Set<string>();
  for (const { title, gridPos: { x, y, w, h }, datasource } of panels) {
    if (datasource !== undefined) assert.equal(datasource.uid, datasources[0]?.uid, title);
    assert(x + w <= 24, `${title} reaches beyond the 24 columns`);
    for (let place = 0; place < w * h; place += 1) {
      const cell = `${x + place % w},${y + Math.floor(place / w)}`;
      assert(!taken.has(cell), `${title} lies on another panel`);
      taken.add(cell);
    }
  }
});

Deno.test("Dashboard and alerts: name metrics that the services have, and the dashboard all of them", async () => {
  await withStack(async (stack) => {
    const texts = await Promise.all(
      Object.values(urlsByJob(stack)).map(async (url) => (await fetch(`${url}/metrics`)).text()),
    );
    const served = new Set(
      texts.join("\n").match(/(?<=^# TYPE )\w+/gm) ?? assert.fail("No metrics"),
    );
    for (const { expr } of [...queries, ...rules]) {
      for (const metric of metricsOf(expr)) assert(served.has(metric), `${metric} in ${expr}`);
    }
    const shown = new Set(queries.flatMap(({ expr }) => metricsOf(expr)));
    assert.deepEqual([...served].filter((metric) => !shown.has(metric)), []);
  });
});

Deno.test("Alerts: what they watch for an increase is there before the first", async () => {
  await withStack(async (stack) => {
    const texts = await Promise.all(
      Object.values(urlsByJob(stack)).map(async (url) => (await fetch(`${url}/metrics`)).text()),
    );
    const lines = texts.join("\n").split("\n");
    for (const { expr } of rules) {
      for (const [, name = "", label = ""] of expr.matchAll(/increase\((\w+)(?:\{(.*?)\})?\[/g)) {
        const isThere = lines.some((line) => line.startsWith(name) && line.includes(label));
        assert(isThere, `${name}{${label}} has no value at the start`);
      }
    }
  });
});

Deno.test("Alerts: each has a test, and a chapter of its name in docs/operating.md", () => {
  const tests = readText("docs/monitoring/alerts_test.yml");
  const chapters = new Set<string>(readText("docs/operating.md").match(/(?<=^### ).*$/gm) ?? []);
  for (const { alert, annotations } of rules) {
    assert(tests.includes(`alertname="${alert}"`), `${alert} has no test`);
    assert.equal(annotations.runbook, `docs/operating.md#${alert.toLowerCase()}`);
    assert(chapters.has(alert), `${alert} has no chapter`);
  }
});

Deno.test("prometheus.yml: scrapes the services of compose.yaml at their ports", () => {
  const { scrape_configs } = configSchema.parse(readYaml("docs/monitoring/prometheus.yml"));
  const compose = z.object({
    services: z.record(
      z.string(),
      z.object({ environment: z.record(z.string(), z.string()).default({}) }),
    ),
  }).parse(readYaml("compose.yaml"));
  for (const { job_name, static_configs } of scrape_configs) {
    const { HEALTH_URL = "" } = compose.services[job_name]?.environment ?? {};
    const { port } = new URL(HEALTH_URL);
    assert.deepEqual(static_configs, [{ targets: [`${job_name}:${port}`] }]);
  }
});

const monitoring = fileUrl("docs/monitoring/").pathname;

for (const args of [["check", "config", "prometheus.yml"], ["test", "rules", "alerts_test.yml"]]) {
  Deno.test({
    name: `promtool ${args.join(" ")}${NEEDS_PROMETHEUS}`,
    ignore: !hasPrometheus,
    async fn() {
      const { code, text } = await run("promtool", args, { cwd: monitoring });
      assert.equal(code, 0, text);
    },
  });
}

/** Runs Prometheus with the repository's configuration, but fast, on the ports of a stack. */
async function withPrometheus(
  stack: RunningStack,
  test: (url: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  const config = configSchema.parse(readYaml("docs/monitoring/prometheus.yml"));
  const urls = urlsByJob(stack);
  await Deno.writeTextFile(
    `${folder}/prometheus.yml`,
    JSON.stringify({
      global: { scrape_interval: "250ms", scrape_timeout: "250ms", evaluation_interval: "250ms" },
      rule_files: [`${monitoring}alerts.yml`],
      scrape_configs: config.scrape_configs.map(({ job_name }) => ({
        job_name,
        static_configs: [{ targets: [new URL(urls[job_name] ?? "").host] }],
      })),
    }),
  );
  const address = `127.0.0.1:${freePorts(1)[0]}`;
  const prometheus = new Deno.Command("prometheus", {
    args: [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=${address}`,
    ],
    stdout: "null",
    stderr: "null",
  }).spawn();
  try {
    await test(`http://${address}`);
  } finally {
    prometheus.kill();
    await prometheus.status;
    await Deno.remove(folder, { recursive: true });
  }
}

const answerSchema = z.object({
  data: z.object({ result: z.array(z.object({ value: z.tuple([z.number(), z.string()]) })) }),
});
const rulesAnswerSchema = z.object({
  data: z.object({
    groups: z.array(z.object({
      rules: z.array(z.object({ name: z.string(), health: z.string(), state: z.string() })),
    })),
  }),
});

async function get<T extends z.ZodType>(
  url: string,
  schema: T,
): Promise<z.output<T> | undefined> {
  const answer = await fetch(url).catch(() => undefined);
  if (answer?.ok) return schema.parse(await answer.json());
  await answer?.body?.cancel();
  return undefined;
}

/** True once a query has a value that is a number. */
async function hasData(url: string, expr: string): Promise<true | undefined> {
  const query = expr.replaceAll("$__rate_interval", "30s");
  const answer = await get(`${url}/api/v1/query?query=${encodeURIComponent(query)}`, answerSchema);
  return answer?.data.result.some(({ value: [, text] }) => text !== "NaN") || undefined;
}

Deno.test({
  name: `Dashboard: every query of every panel has data while a bet is played${NEEDS_PROMETHEUS}`,
  ignore: !hasPrometheus,
  async fn() {
    await withStack((stack) =>
      withPrometheus(stack, async (url) => {
        // A rate needs the time before as well: two scrapes of every service.
        const { length } = Object.keys(urlsByJob(stack));
        const scraped = `count(count_over_time(up[30s]) >= 2 and up == 1) == ${length}`;
        await eventually("two scrapes of every service", () => hasData(url, scraped));
        // The first of a kind makes its series; only from the second on there is an increase.
        for (const kind of ["quote", "estimate"]) {
          const answer = await fetch(`${stack.urls.solver}/${kind}`, {
            method: "POST",
            body: "{}",
          });
          await answer.body?.cancel();
          const isSeen = `solver_quotes_total{kind="${kind}"}`;
          await eventually(`the first ${kind}`, () => hasData(url, isSeen));
        }
        await playBet(stack.urls, systemClock, () => {});
        for (const { title, expr } of queries) {
          await eventually(`${title}: ${expr}`, () => hasData(url, expr));
        }
        const answer = await get(`${url}/api/v1/rules`, rulesAnswerSchema);
        const states = answer?.data.groups.flatMap((group) => group.rules) ?? [];
        assert.equal(states.length, rules.length);
        for (const { name, health, state } of states) {
          assert.equal(health, "ok", name);
          assert.notEqual(state, "firing", name);
        }
      })
    );
  },
});
