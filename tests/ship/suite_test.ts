/** `deno task suite`: every test file runs. */
import assert from "node:assert/strict";
import { dirname } from "node:path";
import { testFilesBelow } from "../../.ci/suite.ts";
import { ALLOWED_SKIPS } from "../../.ci/verdict.ts";
import config from "../../deno.json" with { type: "json" };
import { denoEnv } from "../support/terminal.ts";
import { withFolder } from "../support/files.ts";
import { fileUrl, readText, run } from "./support.ts";

/** Runs a test in a folder with some files. */
async function withFiles(
  files: Record<string, string>,
  test: (folder: string) => Promise<void>,
): Promise<void> {
  await withFolder(async (folder) => {
    for (const [path, text] of Object.entries(files)) {
      await Deno.mkdir(dirname(`${folder}/${path}`), { recursive: true });
      await Deno.writeTextFile(`${folder}/${path}`, text);
    }
    await test(folder);
  });
}

const deno = (cwd: string, args: string[], env: Record<string, string> = {}) =>
  run(Deno.execPath(), args, {
    cwd,
    clearEnv: true,
    env: { ...denoEnv(), PATH: Deno.env.get("PATH") ?? "", NO_COLOR: "1", ...env },
  });

Deno.test("suite: finds the same test files as Deno", async () => {
  const paths = [
    ...["test", "a_test", "a.test", "_test", ".test", "latest", "a-test", "test_a", "Test"]
      .map((name) => `a/${name}.ts`),
    ...["tsx", "js", "jsx", "mjs", "mts", "cjs", "cts", "json", "md"].map((end) => `test.${end}`),
    ...["__tests__/a.ts", "a/__tests__/b/c.mjs", "a__tests__/d.ts", ".hidden/a_test.ts"],
    ...["node_modules/a_test.ts", "a/node_modules/a_test.ts", ".git/a_test.ts"],
  ];
  const files = Object.fromEntries(paths.map((path) => [path, 'Deno.test("runs", () => {});']));
  await withFiles(files, async (folder) => {
    const { stdout } = await deno(folder, ["test", "--no-check", "--reporter=junit"]);
    const found = [...stdout.matchAll(/<testsuite name="\.\/([^"]*)"/g)].map(([, path]) => path);
    assert.deepEqual(testFilesBelow(folder), found.toSorted());
    assert(found.length > 10, stdout);
  });
});

/** Runs the gate on made-up tests. @returns The first lines of its problems, and its summary. */
async function gateOf(
  tests: Record<string, string>,
  { passedMin = 1, env = {} }: { passedMin?: number; env?: Record<string, string> } = {},
): Promise<{ problems: string[]; summary: string }> {
  const programs = ["gate", "suite", "verdict", "preload"].map((name) => `.ci/${name}.ts`);
  const quick = (text: string) => text.replace("TIMEOUT_MS = 60_000", "TIMEOUT_MS = 300");
  const files = {
    ...tests,
    ...Object.fromEntries(programs.map((path) => [path, quick(readText(path))])),
    "deno.json": JSON.stringify({
      tasks: { ...config.tasks, coverage: "true", check: "true", demo: "true" },
      suite: { passedMin },
    }),
  };
  const result = { problems: [""], summary: "" };
  await withFiles(files, async (folder) => {
    const { stdout, code } = await deno(folder, ["run", "--allow-all", ".ci/gate.ts"], env);
    result.problems = [...stdout.matchAll(/^Gate: (.*)$/gm)].map(([, problem = ""]) => problem);
    result.summary = (await Deno.readTextFile(`${folder}/summary.txt`)).trim();
    assert.equal(code, result.problems.length === 0 ? 0 : 1, stdout);
  });
  return result;
}

const passes = 'Deno.test("passes", () => {});';
const fails = 'Deno.test("fails", () => { throw new Error("broken"); });';

Deno.test("gate: green if every file has a test; variables that change tests are not passed on", async () => {
  const env = { TEST_HUB_SCHEDULES: "0", UPDATE_DOCS: "1", TEST_POSTGRES_URL: "postgres:" };
  const tests = {
    "tests/a_test.ts": `Deno.test("sees", () => {
      const { PATH, HOME, TMPDIR, DENO_DIR, DENO_COVERAGE_DIR, NO_COLOR, DENO_JOBS, ...rest } = Deno.env.toObject();
      if (JSON.stringify(rest) !== '{"TEST_POSTGRES_URL":"postgres:"}') throw new Error(JSON.stringify(rest));
    });`,
    "tests/b.test.mjs": passes,
    "tests/simulation/long_test.ts": passes,
  };
  assert.deepEqual(await gateOf(tests, { passedMin: 3, env }), {
    problems: [],
    summary: "3 passed, 0 failed, 0 skipped",
  });
});

Deno.test("gate: reports files that exit, are not found, have no test or hang, and forbidden skips", async () => {
  const skips = Object.keys(ALLOWED_SKIPS);
  const { problems, summary } = await gateOf({
    "tests/exits/a_test.ts": "Deno.exit(0);",
    "tests/exits/b_test.ts": fails,
    "tests/exits/node/a_test.ts": 'import process from "node:process"; process.exit();',
    "tests/exits/node/b_test.ts": fails,
    "tests/hidden.test.ts": fails,
    "tests/hidden_test.mts": fails,
    "lib/test.js": fails,
    "tests/simulation/long_test.ts": fails,
    "tests/if_test.ts": `if (Deno.args.includes("never")) ${passes}`,
    "tests/oracle/other_test.ts": skips
      .map((key) => `Deno.test.ignore(${JSON.stringify(key.replace(/^\S+: /, ""))}, () => {});`)
      .join("\n"),
    "tests/hangs_test.ts": `${passes}
      Deno.test("waits", () => new Promise(() => setInterval(() => {}, 50)));
      Deno.test({ name: "loops", fn() { for (;;); } });
      Deno.test.each([1])("waits for %d", () => new Promise(() => setInterval(() => {}, 50)));
      Deno.test("may take longer", { timeout: 10_000 }, () => {
        return new Promise((resolve) => setTimeout(resolve, 600));
      });`,
  }, { passedMin: 3 });
  const [step, ...others] = problems;
  assert.match(step ?? "", /^Step suite failed/);
  const expected = [
    "No test ran in tests/exits/a_test.ts",
    "No test ran in tests/exits/b_test.ts",
    "No test ran in tests/exits/node/a_test.ts",
    "No test ran in tests/exits/node/b_test.ts",
    "No test ran in tests/if_test.ts",
    "2 tests passed, fewer than suite.passedMin of deno.json: 3",
    "Failed: lib/test.js: fails",
    "Failed: tests/hangs_test.ts: waits",
    "Failed: tests/hangs_test.ts: loops",
    "Failed: tests/hangs_test.ts: waits for 1",
    "Failed: tests/hidden.test.ts: fails",
    "Failed: tests/hidden_test.mts: fails",
    "Failed: tests/simulation/long_test.ts: fails",
    ...skips.map((key) =>
      `Skipped, and not in ALLOWED_SKIPS: ${key.replace(/^\S+:/, "tests/oracle/other_test.ts:")}`
    ),
  ];
  // Files are reported in the order in which they end.
  assert.deepEqual(others.toSorted(), expected.toSorted());
  assert.equal(summary, `2 passed, 7 failed, ${skips.length} skipped`);
});

Deno.test("suite: a simulation with no cases or an invalid seed fails", async () => {
  const environments: Record<string, string>[] = [
    { TEST_HUB_SCHEDULES: "0" },
    { TEST_READER_SCHEDULES: "few" },
    { TEST_SEED: "seven" },
  ];
  for (const env of environments) {
    const args = ["test", "--allow-env", "--no-check", "tests/simulation/hub_test.ts"];
    const { code, text } = await deno(fileUrl(".").pathname, args, env);
    assert.equal(code, 1, text);
    assert.match(text, /=(0|few|seven): expected a whole number of at least [01]/);
  }
});
