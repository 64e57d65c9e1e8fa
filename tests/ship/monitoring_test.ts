/** Dashboard and alert rules use existing metrics; `prometheus_test.ts` runs them. */
import assert from "node:assert/strict";
import { stringify } from "yaml";
import { z } from "zod";
import {
  fillPlaceholders,
  type Problem,
  PROBLEM_GROUPS,
  PROBLEMS,
} from "../../lib/problems/mod.ts";
import type { RunningStack } from "../../services/stack/stack.ts";
import {
  configSchema,
  metricsOf,
  panels,
  prometheusConfig,
  queries,
  rules,
  templating,
  urlsByJob,
} from "./monitoring.ts";
import { fileUrl, readText, readYaml, withStack } from "./support.ts";

const MARKET_LABEL = /(?:market|pair)=~"\$market"/;
const BY_MARKET =
  /node_price_(?:fresh|slots_(?:missing|damaged|needed))|solver_bets_usdc|solver_calibration|oracle_(?:price|sources|source_(?:deviation|lag))/;

Deno.test("Dashboard: every query filters by instance, and by market if its metric has that label", () => {
  assert.deepEqual(templating.list.map(({ name }) => name), ["instance", "market"]);
  for (const { title, expr } of queries) {
    for (const [selector] of expr.matchAll(/\b[a-z]+(?:_\w+|\b)\{[^}]*\}/g)) {
      assert(selector.includes('instance=~"$instance"'), `${title}: ${selector}`);
      assert.equal(MARKET_LABEL.test(selector), BY_MARKET.test(selector), `${title}: ${selector}`);
    }
    const selectors = expr.match(/\$instance/g)?.length;
    assert.equal(selectors, metricsOf(`${expr}`).length || 1, `${title}: ${expr}`);
  }
});

Deno.test("Dashboard: all panels use the provisioned data source", () => {
  const { datasources } = z.object({ datasources: z.array(z.object({ uid: z.string() })) })
    .parse(readYaml("docs/monitoring/grafana/datasource.yml"));
  for (const { title, datasource } of panels) {
    if (datasource !== undefined) assert.equal(datasource.uid, datasources[0]?.uid, title);
  }
});

async function metricLines(stack: RunningStack): Promise<string[]> {
  const urls = Object.values(urlsByJob(stack));
  const texts = await Promise.all(urls.map(async (url) => (await fetch(`${url}/metrics`)).text()));
  return texts.join("\n").split("\n");
}

Deno.test("Dashboard and alerts: use existing metrics, the dashboard all; alerts on an increase have a first value", async () => {
  await withStack(async (stack) => {
    const lines = await metricLines(stack);
    const served = new Set(lines.flatMap((line) => /^# TYPE (\w+)/.exec(line)?.[1] ?? []));
    for (const { expr } of [...queries, ...rules]) {
      for (const metric of metricsOf(expr)) assert(served.has(metric), `${metric} in ${expr}`);
    }
    const shown = new Set(queries.flatMap(({ expr }) => metricsOf(expr)));
    assert.deepEqual([...served].filter((metric) => !shown.has(metric)), []);
    for (const { expr } of rules) {
      for (const [, name = "", label = ""] of expr.matchAll(/increase\((\w+)(?:\{(.*?)\})?\[/g)) {
        const isThere = lines.some((line) => line.startsWith(name) && line.includes(label));
        assert(isThere, `${name}{${label}} has no value at the start`);
      }
    }
  });
});

Deno.test("Alerts and runbook: the files match lib/problems", async () => {
  const plain = (text: string) => text.replaceAll(/\s+/g, " ");
  const cases = [
    ["docs/monitoring/alerts.yml", alertsFile()],
    ["docs/runbooks.md", withChapters(readText("docs/runbooks.md"))],
  ] as const;
  for (const [path, made] of cases) {
    if (Deno.env.get("UPDATE_DOCS") === "1") await Deno.writeTextFile(fileUrl(path), made);
    assert.equal(plain(readText(path)), plain(made), `${path}: run this with UPDATE_DOCS=1`);
  }
});

Deno.test("Alerts: each alert has a test, and a chapter of its name in docs/runbooks.md", () => {
  const tests = readText("docs/monitoring/alerts_test.yml");
  const chapters = new Set<string>(readText("docs/runbooks.md").match(/(?<=^### ).*$/gm) ?? []);
  // Not of the file, which an update has just written.
  for (const { alert, annotations } of PROBLEMS.map(ruleOf)) {
    assert(tests.includes(`alertname="${alert}"`), `${alert} has no test`);
    const url = `{{ $externalLabels.documents }}/runbooks.md#${alert.toLowerCase()}`;
    assert.equal(annotations.runbook_url, url);
    assert(chapters.has(alert), `${alert} has no chapter`);
  }
});

Deno.test("Alertmanager: inhibitions compare labels that every alert has", () => {
  const { inhibit_rules: inhibitions } = z.object({
    inhibit_rules: z.array(z.object({ equal: z.array(z.string()) })),
  }).parse(readYaml("docs/monitoring/alertmanager.yml"));
  const groups = rules.flatMap(({ expr }) =>
    [...expr.matchAll(/\bby \(([^)]*)\)/g)].map(([, names = ""]) => names.split(", "))
  );
  for (const label of inhibitions.flatMap(({ equal }) => equal)) {
    for (const names of groups) assert(names.includes(label), `${names} lack ${label}`);
  }
});

for (const [suffix, left] of [["", []], [".production", ["exchanges", "console"]]] as const) {
  Deno.test(`prometheus${suffix}.yml: scrapes the services of compose${suffix}.yaml at their ports`, () => {
    const compose = z.object({
      services: z.record(
        z.string(),
        z.object({ environment: z.record(z.string(), z.string()).default({}) }),
      ),
    }).parse(readYaml(`compose${suffix}.yaml`));
    const config = configSchema.parse(readYaml(`docs/monitoring/prometheus${suffix}.yml`));
    const names: readonly string[] = left;
    const jobs = prometheusConfig.scrape_configs.map(({ job_name }) => job_name)
      .filter((job) => !names.includes(job));
    assert.deepEqual(config.scrape_configs.map(({ job_name }) => job_name), jobs);
    for (const { job_name, static_configs } of config.scrape_configs) {
      const { HEALTH_URL = "" } = compose.services[job_name]?.environment ?? {};
      const { port } = new URL(HEALTH_URL);
      assert.deepEqual(static_configs, [{ targets: [`${job_name}:${port}`] }]);
    }
  });
}

const ALERTS_HEAD =
  `# Made of lib/problems: UPDATE_DOCS=1 deno task test tests/ship/monitoring_test.ts
# Every alert has a chapter of its name in docs/runbooks.md: what it means and what to do. The links
# to them begin with the external label "documents" of prometheus.yml.
# severity: "critical" loses money or users now; "warning" will, if nobody looks at it today.
`;

const VALUES = {
  share: "{{ $value | humanizePercentage }}",
  seconds: "{{ $value | humanizeDuration }}",
  bytes: "{{ $value | humanize1024 }}B",
  rate: '{{ $value | printf "%.2f" }}', // humanize would write 0.12 as 120m
  number: "{{ $value | humanize }}",
} as const;

function alertsFile(): string {
  const groups = Object.entries(PROBLEM_GROUPS).map(([name, problems]) => ({
    name,
    rules: problems.map(ruleOf),
  }));
  return ALERTS_HEAD + stringify({ groups }, { lineWidth: 0 });
}

function ruleOf({ name, measure, bound, unit, severity, afterS, message }: Problem) {
  const text = fillPlaceholders(
    message,
    (label) => label === "value" ? VALUES[unit ?? "number"] : `{{ $labels.${label} }}`,
  );
  return {
    alert: name,
    expr: `${measure.promql} ${bound.op} ${bound.limit}`,
    ...(afterS !== undefined && { for: `${afterS}s` }),
    labels: { severity },
    annotations: {
      summary: `{{ $labels.instance }}: ${text}`,
      runbook_url: `{{ $externalLabels.documents }}/runbooks.md#${name.toLowerCase()}`,
    },
  };
}

/** docs/runbooks.md with a chapter for each problem: heading and first paragraph are of the table. */
function withChapters(guide: string): string {
  const start = guide.indexOf(`### ${PROBLEMS[0]?.name}\n`);
  const others = new Map(
    guide.slice(start).split(/^### /m).map((chapter) => {
      const [name = "", _first, ...paragraphs] = chapter.trim().split("\n\n");
      return [name, paragraphs] as const;
    }),
  );
  const chapters = PROBLEMS.map((problem) =>
    [`### ${problem.name}`, firstParagraph(problem), ...others.get(problem.name) ?? []].join("\n\n")
  );
  return `${guide.slice(0, start)}${chapters.join("\n\n")}\n`;
}

/** When it is reported, and what to do first: `_Critical, after 15 s: it seals no blocks._ Read …`. */
function firstParagraph(problem: Problem): string {
  const { bound, unit, severity, afterS, message, firstStep } = problem;
  const { op, limit } = bound;
  const value = {
    share: `${100 * limit} %`,
    seconds: `${limit} s`,
    bytes: `${limit / 1e9} GB`,
    rate: `${limit}`,
    number: `${limit}`,
  }[unit ?? "number"];
  const text = fillPlaceholders(message, (name) => {
    if (name !== "value") return `\`${name}\``;
    if (limit === 0) return "some";
    return op === "<" ? `less than ${value}` : `more than ${value}`;
  });
  const kind = severity === "critical" ? "Critical" : "Warning";
  const after = afterS === undefined
    ? ""
    : `, after ${afterS < 120 ? `${afterS} s` : `${afterS / 60} minutes`}`;
  const what = text.replace(/^[A-Z]/, (first) => first.toLowerCase());
  return `_${kind}${after}: ${what}._ ${fillPlaceholders(firstStep, (name) => `<${name}>`)}`;
}
