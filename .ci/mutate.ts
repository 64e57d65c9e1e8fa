/**
 * `deno task mutate [--since <rev>] [--all] [--every <n>] [--jobs <n>] [folder or file]…`: changes
 * the code in small ways and runs the tests that belong to it; a change that no test detects is a gap.
 *
 * Without arguments: the lines of {@link FOLDERS} changed since the branch left `main`, or another
 * revision. With folders or files: all of these. With `--all`: everything in {@link FOLDERS}.
 * With `--every 5`: only one of five mutants, an estimate of the score in a fifth of the time.
 * Prints the score of each folder and writes it with every survivor to `mutation.txt`. Exits with 1
 * only if something could not be judged: docs/testing.md says how to read a score.
 */
import { parseArgs } from "node:util";
import config from "../deno.json" with { type: "json" };
import {
  changedRanges,
  formatScore,
  importersOf,
  isWithin,
  sampled,
  score,
  type StrykerReport,
  strykerReportSchema,
  testsOf,
  withoutCoverage,
} from "./mutation.ts";

/** Code about money, durability and the protocol; a folder that does not exist is skipped. */
const FOLDERS = [
  "lib/client",
  "lib/intents",
  "lib/net",
  "lib/prices",
  "lib/protocol",
  "services/backfill",
  "services/bridge",
  "services/console/page",
  "services/node",
  "services/oracle",
  "services/proxy",
  "services/solver",
];

/** npx keeps it outside the repository. The last version that runs on Node 20. */
const STRYKER = "@stryker-mutator/core@9.6.1";

const REPORT = "mutation.txt";

/** Where Stryker tells the tests which mutant is active; empty in its first run, without any. */
const ACTIVE_MUTANT = "${__STRYKER_ACTIVE_MUTANT__:-0}";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    since: { type: "string", default: "main" },
    all: { type: "boolean", default: false },
    every: { type: "string", default: "1" },
    jobs: { type: "string", default: "2" },
  },
});

const every = Number(values.every);
if (!Number.isInteger(every) || every < 1) {
  throw new Error(`--every ${values.every}: expected a whole number of at least 1, such as 5`);
}

/** Runs a program until it ends. @throws {Error} With its output, if it fails. */
async function run(command: string, ...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command, { args }).output();
  const decoder = new TextDecoder();
  if (!success) {
    throw new Error(
      `${command} ${args.join(" ")} failed:\n${decoder.decode(stdout)}${decoder.decode(stderr)}`,
    );
  }
  return decoder.decode(stdout);
}

function* typeScriptBelow(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) yield* typeScriptBelow(path);
    else if (name.endsWith(".ts")) yield path;
  }
}

/** The code to mutate, as paths with or without lines. */
async function targets(files: readonly string[]): Promise<{ path: string; range: string }[]> {
  const folders = values.all ? FOLDERS : positionals;
  const whole = (path: string) => ({ path, range: path });
  if (folders.length > 0) {
    const unknown = positionals.filter((each) => !files.some((path) => isWithin(path, [each])));
    if (unknown.length > 0) throw new Error(`No code to mutate in ${unknown.join(", ")}`);
    return files.filter((path) => isWithin(path, folders)).map(whole);
  }
  const base = (await run("git", "merge-base", values.since, "HEAD")).trim();
  const added = (await run("git", "ls-files", "--others", "--exclude-standard")).split("\n");
  return [
    ...changedRanges(await run("git", "diff", "--unified=0", "--no-color", base)),
    ...added.map(whole),
  ].filter(({ path }) => isWithin(path, FOLDERS));
}

/** Mutates some files, each mutant in a process of its own, judged by some test files. */
async function stryker(
  folder: string,
  mutate: readonly string[],
  tests: readonly string[],
): Promise<StrykerReport> {
  const permissions = config.tasks.test.match(/--allow-\S+/g) ?? [];
  const test = ["deno test --no-check --no-prompt --fail-fast", ...permissions, ...tests].join(" ");
  const fileName = `${folder}/report.json`;
  await Deno.writeTextFile(
    `${folder}/stryker.json`,
    JSON.stringify({
      testRunner: "command",
      commandRunner: {
        // Without tests every mutant survives: these are counted separately.
        command: tests.length === 0
          ? "true"
          : `[ $((${ACTIVE_MUTANT} % ${every})) -ne 0 ] || ${test}`,
      },
      mutate,
      plugins: [],
      reporters: ["json"],
      jsonReporter: { fileName },
      tempDirName: `${folder}/sandbox`,
      // Stryker would parse every file of the repository, and nothing here checks types.
      disableTypeChecks: false,
      symlinkNodeModules: false,
      concurrency: Number(values.jobs),
      timeoutMS: 10_000,
      allowConsoleColors: false,
    }),
  );
  await run("npx", "--yes", "-p", STRYKER, "stryker", "run", `${folder}/stryker.json`);
  return sampled(strykerReportSchema.parse(JSON.parse(await Deno.readTextFile(fileName))), every);
}

const files = ["lib", "services", "tests"].flatMap((folder) => [...typeScriptBelow(folder)]);
const importers = importersOf(new Map(files.map((path) => [path, Deno.readTextFileSync(path)])));
const groups = new Map<string, string[]>();
for (const { path, range } of await targets(files)) {
  const tests = testsOf(path, importers).join(" ");
  groups.set(tests, [...groups.get(tests) ?? [], range]);
}
if (groups.size === 0) console.log("Nothing to mutate");

const reports: StrykerReport[] = [];
const folder = await Deno.makeTempDir({ prefix: "mutate-" });
try {
  for (const [tests, ranges] of groups) {
    console.log(`${ranges.join(", ")}\n  judged by ${tests || "no test"}`);
    const judges = tests === "" ? [] : tests.split(" ");
    try {
      const report = await stryker(folder, ranges, judges);
      reports.push(judges.length === 0 ? withoutCoverage(report) : report);
    } catch (thrown) {
      // For example tests that fail without any mutant: the other groups still count.
      console.error(thrown instanceof Error ? thrown.message : thrown);
      Deno.exitCode = 1;
      continue;
    }
    // After each group, so that an interrupted run keeps its findings.
    await Deno.writeTextFile(REPORT, formatScore(score(reports)));
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}
if (reports.length > 0) {
  const text = formatScore(score(reports));
  console.log(`\n${text.slice(0, text.indexOf("\n\n"))}\n\nSurvivors: see ${REPORT}`);
}
