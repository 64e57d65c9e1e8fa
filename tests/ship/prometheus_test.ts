/**
 * Dashboard and alert rules, in a Prometheus that watches a live stack in which a bet is played. The
 * rules' own tests are a command of docs/operating.md, which `commands_test.ts` runs.
 */
import assert from "node:assert/strict";
import { z } from "zod";
import { systemClock } from "../../lib/clock.ts";
import { playBet } from "../../services/stack/bet.ts";
import { type RunningStack, STACK_PRICING } from "../../services/stack/stack.ts";
import { eventually } from "../support/eventually.ts";
import { prometheusConfig, queries, rules, urlsByJob } from "./monitoring.ts";
import { filePath, hasProgram, withStack } from "./support.ts";
import { withFolder } from "../support/files.ts";
import { freePort } from "../support/ports.ts";

const hasPrometheus = hasProgram("prometheus");

/** Suffix of the names of tests that need Debian's `prometheus`. */
const NEEDS_PROMETHEUS = hasPrometheus ? "" : " (left out: no prometheus here)";

const monitoring = filePath("docs/monitoring/");

/** Runs Prometheus with the repository's configuration, but fast, on the ports of a stack. */
function withPrometheus(
  stack: RunningStack,
  test: (url: string) => Promise<void>,
): Promise<void> {
  return withFolder(async (folder) => {
    const urls = urlsByJob(stack);
    await Deno.writeTextFile(
      `${folder}/prometheus.yml`,
      JSON.stringify({
        global: { scrape_interval: "250ms", scrape_timeout: "250ms", evaluation_interval: "250ms" },
        rule_files: [`${monitoring}alerts.yml`],
        scrape_configs: prometheusConfig.scrape_configs.map(({ job_name }) => ({
          job_name,
          static_configs: [{ targets: [new URL(urls[job_name] ?? "").host] }],
        })),
      }),
    );
    const address = `127.0.0.1:${freePort()}`;
    await using _prometheus = new Deno.Command("prometheus", {
      args: [
        `--config.file=${folder}/prometheus.yml`,
        `--storage.tsdb.path=${folder}/data`,
        `--web.listen-address=${address}`,
      ],
      stdout: "null",
      stderr: "null",
    }).spawn();
    await test(`http://${address}`);
  });
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

async function hasData(url: string, expr: string): Promise<boolean | undefined> {
  const query = expr.replaceAll(/\$__(rate_interval|range)\b/g, "30s")
    .replaceAll(/\$(instance|market)\b/g, ".*");
  const answer = await get(`${url}/api/v1/query?query=${encodeURIComponent(query)}`, answerSchema);
  return answer?.data.result.some(({ value: [, text] }) => text !== "NaN");
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
          // Windows to compare predictions with have not ended yet.
          if (expr.startsWith("solver_calibration_")) continue;
          await eventually(`${title}: ${expr}`, () => hasData(url, expr));
        }
        const answer = await get(`${url}/api/v1/rules`, rulesAnswerSchema);
        const states = answer?.data.groups.flatMap((group) => group.rules) ?? [];
        assert.equal(states.length, rules.length);
        for (const { name, health, state } of states) {
          assert.equal(health, "ok", name);
          assert.notEqual(state, "firing", name);
        }
      }), { ...STACK_PRICING, maxExposure: 1_000_000_000n });
  },
});
