/**
 * The steps of the gate, each within its time, then the verdict: run by `.ci/run`.
 * `--problem <text>`: an earlier problem, such as a missing program.
 */
import { parseArgs } from "node:util";
import config from "../deno.json" with { type: "json" };
import { testFilesBelow } from "./suite.ts";
import { type Expected, judge, type Verdict } from "./verdict.ts";

/** One command that has to succeed in time. */
export interface Step {
  name: string;
  command: readonly string[];
  timeoutSeconds: number;
}

/** How long an interrupted step may take to end before it is killed. */
const KILL_AFTER_SECONDS = 10;

/** Exit codes of coreutils' `timeout`: after its signal, and after it had to kill. */
const TIMED_OUT = [124, 137];

/**
 * Runs one step; its children end with it.
 *
 * @param isBeside Another step prints meanwhile: the output of this one comes when it has ended.
 * @returns The problem, if there was one.
 */
export async function runStep(
  { name, command, timeoutSeconds }: Step,
  isBeside = false,
): Promise<string | undefined> {
  const args = ["--signal=INT", `--kill-after=${KILL_AFTER_SECONDS}`, `${timeoutSeconds}`];
  const output = isBeside ? "piped" : "inherit";
  if (!isBeside) console.log(`\n== ${name}`);
  const child = new Deno.Command("timeout", {
    args: [...args, ...command],
    stdin: "null",
    stdout: output,
    stderr: output,
  }).spawn();
  const printed = isBeside ? await child.output() : undefined;
  const { code } = printed ?? await child.status;
  if (printed !== undefined) {
    console.log(`\n== ${name}`);
    for (const text of [printed.stdout, printed.stderr]) {
      console.log(new TextDecoder().decode(text));
    }
  }
  if (code === 0) return undefined;
  const line = command.join(" ");
  return TIMED_OUT.includes(code)
    ? `Step ${name} was ended after ${timeoutSeconds} s: ${line}`
    : `Step ${name} failed with exit code ${code}: ${line}`;
}

/**
 * Runs all steps, even after a failure, and judges the report of the tests.
 *
 * @param stages Their steps run at the same time, the stages one after the other.
 */
export async function runGate(
  stages: readonly (readonly Step[])[],
  report: string,
  earlier: readonly string[],
  expected: Expected,
): Promise<Verdict> {
  const problems = [...earlier];
  for (const steps of stages) {
    const found = await Promise.all(steps.map((step, index) => runStep(step, index > 0)));
    problems.push(...found.filter((problem) => problem !== undefined));
  }
  const xml = await Deno.readTextFile(report).catch((thrown) => {
    if (thrown instanceof Deno.errors.NotFound) return undefined;
    throw thrown;
  });
  return judge(xml, problems, expected);
}

if (import.meta.main) {
  const { values: { report, coverage, summary, problem } } = parseArgs({
    options: {
      report: { type: "string", default: "report.xml" },
      coverage: { type: "string", default: "coverage" },
      summary: { type: "string", default: "summary.txt" },
      problem: { type: "string", multiple: true, default: [] },
    },
  });
  const task = (name: string, timeoutSeconds: number, ...args: string[]): Step => ({
    name,
    command: [Deno.execPath(), "task", "--quiet", name, ...args],
    timeoutSeconds,
  });
  const check = task("check", 30 * 60);
  const verdict = await runGate(
    [
      [
        // `check` covers the types, those of the tests included.
        task(
          "suite",
          30 * 60,
          "--no-check",
          `--junit-path=${report}`,
          `--coverage=${coverage}`,
          "--coverage-raw-data-only",
        ),
        // It computes while tests wait.
        { ...check, command: ["nice", ...check.command] },
      ],
      [task("coverage", 10 * 60, coverage), task("demo", 2 * 60)],
    ],
    report,
    problem,
    { files: testFilesBelow("."), ...config.suite },
  );
  console.log();
  if (verdict.passed > config.suite.passedMin) {
    console.log(`suite.passedMin of deno.json may be raised to ${verdict.passed}`);
  }
  for (const text of verdict.problems) console.log(`Gate: ${text}`);
  await Deno.writeTextFile(summary, `${verdict.summary}\n`);
  Deno.exit(verdict.isGreen ? 0 : 1);
}
