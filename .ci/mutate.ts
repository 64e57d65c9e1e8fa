/**
 * `deno task mutate [--since <rev>] [--all] [--jobs <n>] [folder or file]…`: changes the code in small
 * ways and runs the tests that belong to it; a change that no test detects is a gap.
 *
 * Without arguments: the lines of {@link FOLDERS} changed since the branch left `main`, or another
 * revision. With folders or files: all of these. With `--all`: everything in {@link FOLDERS}.
 * Prints Stryker's report of each group of files with the same tests, and writes all of them to
 * `mutation.txt`. Exits with 1 only if something could not be judged: docs/testing.md says how to read
 * a report.
 */
import { readdirSync } from "node:fs";
import { parseArgs } from "node:util";
import config from "../deno.json" with { type: "json" };
import { runProgram } from "./program.ts";

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

/** A plugin for Stryker: no test should pin down messages, or what only OpenAPI documents show. */
const IGNORE_TEXTS = `
const textsOf = ({ value, quasis = [] }) => [value, ...quasis.map(({ value }) => value.raw)];
const shouldIgnore = ({ node, parent, listKey }) =>
  (/^(String|Template)Literal$/.test(node.type) && textsOf(node).some((text) => /\\s/.test(text))) ||
    (listKey === "arguments" && ["meta", "describe"].includes(parent.callee.property?.name))
    ? "a text"
    : undefined;
export const strykerPlugins = [{ kind: "Ignore", name: "texts", value: { shouldIgnore } }];
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    since: { type: "string", default: "main" },
    all: { type: "boolean", default: false },
    jobs: { type: "string", default: "2" },
  },
});

/** An import of a file of this repository that remains at run time. */
const IMPORT = /^(?:import|export)\s(?!type\s)(?:[^";]*?\sfrom\s*)?"(\.[^"]+)"/gm;

/** The importers of each file. */
function importersOf(sources: ReadonlyMap<string, string>): Map<string, string[]> {
  const importers = new Map<string, string[]>();
  for (const [path, text] of sources) {
    for (const [, specifier = ""] of text.matchAll(IMPORT)) {
      const target = new URL(specifier, `file:///${path}`).pathname.slice(1);
      importers.set(target, [...importers.get(target) ?? [], path]);
    }
  }
  return importers;
}

/**
 * The test files that judge a source file: the one that mirrors it and those of the mirrored folder
 * that import it; where there are none, the test files that are fewest imports away, only those of
 * the mirrored folder if there are any.
 */
function testsOf(source: string, importers: ReadonlyMap<string, string[]>): string[] {
  const mirror = `tests/${source.replace(/^services\//, "").replace(/\.ts$/, "_test.ts")}`;
  const folder = mirror.slice(0, mirror.lastIndexOf("/") + 1);
  /** Tests by their distance from the file, in imports. */
  const distances: string[][] = [];
  const seen = new Set([source]);
  for (let layer = [source]; layer.length > 0;) {
    layer = [...new Set(layer.flatMap((path) => importers.get(path) ?? []))]
      .filter((path) => !seen.has(path));
    for (const path of layer) seen.add(path);
    distances.push(layer.filter((path) => path.endsWith("_test.ts")).toSorted());
  }
  const near = (distances[0] ?? []).filter((path) => path.startsWith(folder));
  if (seen.has(mirror)) near.push(mirror);
  if (near.length > 0) return [...new Set(near)].toSorted();
  const nearest = distances.find((tests) => tests.length > 0) ?? [];
  const ofFolder = nearest.filter((path) => path.startsWith(folder));
  return ofFolder.length > 0 ? ofFolder : nearest;
}

/** Files of a service without decisions about money, durability or the protocol. */
const EDGE = /^services\/\w+\/(mod|options|api|metrics|doctor_checks|operations)\.ts$/;

/** Whether a file is in one of some folders, or is one of them, and is not the edge of a service. */
function isWithin(path: string, folders: readonly string[]): boolean {
  return path.endsWith(".ts") && !EDGE.test(path) &&
    folders.some((folder) => path === folder || path.startsWith(`${folder.replace(/\/$/, "")}/`));
}

/** The changed lines in the output of `git diff --unified=0`, in Stryker's form: `file:1-3`. */
function changedRanges(diff: string): { path: string; range: string }[] {
  let path = "";
  const ranges: { path: string; range: string }[] = [];
  for (const line of diff.split("\n")) {
    const [, file] = /^\+\+\+ b\/(.*)$/.exec(line) ?? [];
    path = file ?? path;
    const [, start, length = "1"] = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(line) ?? [];
    if (start === undefined || length === "0") continue;
    ranges.push({ path, range: `${path}:${start}-${Number(start) + Number(length) - 1}` });
  }
  return ranges;
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
  const base = await runProgram("git", "merge-base", values.since, "HEAD");
  const added = (await runProgram("git", "ls-files", "--others", "--exclude-standard")).split("\n");
  return [
    ...changedRanges(await runProgram("git", "diff", "--unified=0", "--no-color", base)),
    ...added.map(whole),
  ].filter(({ path }) => isWithin(path, FOLDERS));
}

/** Mutates some files, each mutant in a process of its own, judged by some test files. */
async function stryker(
  folder: string,
  mutate: readonly string[],
  tests: string,
): Promise<string> {
  const permissions = config.tasks.test.match(/--allow-\S+/g) ?? [];
  await Deno.writeTextFile(`${folder}/texts.mjs`, IGNORE_TEXTS);
  await Deno.writeTextFile(
    `${folder}/stryker.json`,
    JSON.stringify({
      testRunner: "command",
      commandRunner: {
        command: `deno test --no-check --no-prompt --fail-fast ${permissions.join(" ")} ${tests}`,
      },
      mutate,
      plugins: [`${folder}/texts.mjs`],
      ignorers: ["texts"],
      reporters: ["clear-text"],
      clearTextReporter: { logTests: false, reportTests: false, allowEmojis: false },
      tempDirName: `${folder}/sandbox`,
      // Stryker would parse every file of the repository, and nothing here checks types.
      disableTypeChecks: false,
      symlinkNodeModules: false,
      concurrency: Number(values.jobs),
      timeoutMS: 10_000,
      allowConsoleColors: false,
    }),
  );
  return await runProgram(
    "npx",
    "--yes",
    "-p",
    STRYKER,
    "stryker",
    "run",
    `${folder}/stryker.json`,
  );
}

const files = ["lib", "services", "tests"].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts")).map((path) => `${folder}/${path}`)
);
const importers = importersOf(new Map(files.map((path) => [path, Deno.readTextFileSync(path)])));
const groups = new Map<string, string[]>();
for (const { path, range } of await targets(files)) {
  const tests = testsOf(path, importers).join(" ");
  groups.set(tests, [...groups.get(tests) ?? [], range]);
}
if (groups.size === 0) console.log("Nothing to mutate");

await Deno.writeTextFile(REPORT, "");
const folder = await Deno.makeTempDir({ prefix: "mutate-" });
try {
  for (const [tests, ranges] of groups) {
    const title = `${ranges.join(", ")}\n  judged by ${tests || "no test"}`;
    console.log(title);
    try {
      const report = tests === "" ? "" : await stryker(folder, ranges, tests);
      console.log(report.slice(report.lastIndexOf("\n\n")));
      // After each group, so that an interrupted run keeps its findings.
      await Deno.writeTextFile(REPORT, `${title}\n${report}\n`, { append: true });
    } catch (thrown) {
      // For example tests that fail without any mutant: the other groups still count.
      console.error(thrown instanceof Error ? thrown.message : thrown);
      Deno.exitCode = 1;
    }
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}
if (groups.size > 0) console.log(`\nSurvivors: see ${REPORT}`);
