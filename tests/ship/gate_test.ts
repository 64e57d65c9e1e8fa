/**
 * Every test file runs in `deno task suite`. The gate is red whenever something did not run, and
 * always ends with its one line.
 */
import assert from "node:assert/strict";
import { dirname } from "node:path";
import { runGate, runStep, type Step } from "../../.ci/gate.ts";
import { testFilesBelow } from "../../.ci/suite.ts";
import { ALLOWED_SKIPS, joinReports, judge, readReport } from "../../.ci/verdict.ts";
import config from "../../deno.json" with { type: "json" };
import { withFolder } from "../support/files.ts";
import { casesFrom, testSeed } from "../support/random.ts";
import { denoEnv } from "../support/process.ts";
import { filePath, fileUrl, readText, run, runTask } from "./support.ts";

const cwd = filePath(".");

const testcase = (name: string, inner = "") =>
  `<testcase name="${name}" classname="./tests/a_test.ts" time="0.1">\n${inner}</testcase>`;
const PASSED = testcase("one");
const FAILED = testcase("two", '<failure message="x">&lt;skipped/&gt;</failure>');
const SKIPPED = testcase("on &quot;Windows&quot;", "<skipped/>");

const report = (...cases: string[]) => `<testsuites tests="9">${cases.join("\n")}</testsuites>\n`;

interface Case {
  xml: string | undefined;
  earlier?: string[];
  allowed?: Record<string, string>;
  summary: string;
  problems: RegExp[];
}

const cases: Record<string, Case> = {
  "a test failed": {
    xml: report(PASSED, FAILED),
    summary: "1 passed, 1 failed, 0 skipped",
    problems: [/^Failed: tests\/a_test.ts: two\n<skipped\/>$/],
  },
  "a test is skipped that may be": {
    xml: report(PASSED, SKIPPED),
    allowed: { 'tests/a_test.ts: on "Windows"': "Linux only" },
    summary: "1 passed, 0 failed, 1 skipped",
    problems: [],
  },
  "there is no report": {
    xml: undefined,
    summary: "0 passed, 1 failed, 0 skipped",
    problems: [/no complete report$/],
  },
  "the report is cut off": {
    xml: report(PASSED).slice(0, -5),
    summary: "0 passed, 1 failed, 0 skipped",
    problems: [/no complete report$/],
  },
  "something went wrong before": {
    xml: report(PASSED),
    earlier: ["PostgreSQL did not start"],
    summary: "1 passed, 1 failed, 0 skipped",
    problems: [/^PostgreSQL did not start$/],
  },
};

for (
  const [what, { xml, earlier = [], allowed = {}, summary, problems }] of Object.entries(cases)
) {
  Deno.test(`Gate: is ${problems.length === 0 ? "green" : "red"} where ${what}`, () => {
    const verdict = judge(xml, earlier, { files: ["tests/a_test.ts"], passedMin: 1, allowed });
    assert.equal(verdict.summary, summary);
    assert.equal(verdict.problems.length, problems.length, verdict.problems.join("\n"));
    for (const [index, problem] of problems.entries()) {
      assert.match(verdict.problems[index] ?? "", problem);
    }
    assert.equal(verdict.isGreen, problems.length === 0);
  });
}

const step = (line: string, timeoutSeconds = 60): Step => ({
  name: "demo",
  command: ["bash", "-c", line],
  timeoutSeconds,
});

Deno.test("Gate: a step that fails or hangs is reported", async () => {
  assert.equal(await runStep(step("exit 0")), undefined);
  assert.match(await runStep(step("exit 3")) ?? "", /^Step demo failed with exit code 3: bash -c /);
  assert.match(await runStep(step("sleep 600", 0.05)) ?? "", /^Step demo was ended after 0.05 s: /);
});

Deno.test("Gate: after a failed step the gate is red, and all other steps still run", async () => {
  const file = await Deno.makeTempFile();
  // The first step ends only when the second one has begun.
  const together = [step(`until [ -e ${file}.2 ]; do :; done; exit 1`), step(`>${file}.2; exit 1`)];
  const stages = [together, [step(`echo '${report(PASSED)}' > ${file}`)]];
  const { isGreen, problems, summary } = await runGate(stages, file, [], {
    files: [],
    passedMin: 1,
  });
  assert.equal(isGreen, false);
  assert.equal(problems.length, 2);
  assert.equal(summary, "1 passed, 1 failed, 0 skipped");
  await Promise.all([file, `${file}.2`].map((path) => Deno.remove(path)));
});

Deno.test("Gate: joinReports sums all reports, or returns undefined if one is incomplete", () => {
  const reports = [report(PASSED), report(FAILED)];
  const totals = readReport(joinReports(reports));
  assert.deepEqual([totals?.passed, totals?.failed.length], [1, 1]);
  assert.equal(joinReports([report(PASSED), report(FAILED).slice(0, -5)]), undefined);
  assert.equal(joinReports([report(PASSED), undefined]), undefined);
});

/** Runs `.ci/run` on a machine on which nothing can be installed, with something in place of npx. */
function runBare(npx: string): Promise<{ code: number; stdout: string }> {
  return withFolder(async (folder) => {
    const programs = { npx, npm: "exit 1", "apt-get": "exit 1", setpriv: "exit 1" };
    await Deno.mkdir(`${folder}/.ci`);
    // A copy could not be run while another thread that starts a program has it open for writing.
    await Deno.symlink(fileUrl(".ci/run"), `${folder}/.ci/run`);
    for (const [name, line] of Object.entries(programs)) {
      await Deno.writeTextFile(`${folder}/${name}`, `#!/bin/bash\n${line}\n`, { mode: 0o755 });
    }
    const env = { PATH: `${folder}:${Deno.env.get("PATH")}` };
    return await run(`${folder}/.ci/run`, [], { cwd: folder, env });
  });
}

const WRITES_SUMMARY = 'for a; do case $a in --summary=*) echo "$SUMMARY" > "${a#*=}"; esac; done';

Deno.test(".ci/run: the last line is the summary, even if the gate itself crashes", async () => {
  const summary = "7 passed, 0 failed, 0 skipped";
  const lastLine = (text: string) => text.trimEnd().split("\n").at(-1);
  const green = await runBare(`SUMMARY="${summary}"; ${WRITES_SUMMARY}`);
  assert.equal(lastLine(green.stdout), summary);
  assert.equal(green.code, 0);
  const red = await runBare(`SUMMARY="${summary}"; ${WRITES_SUMMARY}; exit 1`);
  assert.equal(red.code, 1);
  for (const npx of ["exit 0", "exit 127", "kill -9 $$", "kill -TERM $PPID"]) {
    const { code, stdout } = await runBare(npx);
    assert.equal(lastLine(stdout), "0 passed, 1 failed, 0 skipped", npx);
    assert.equal(code, 1, npx);
  }
});

Deno.test(".ci/run: a program that cannot be installed or started is reported as a problem", async () => {
  const { stdout } = await runBare('printf "%s\\n" "$@"');
  assert.match(stdout, /^PostgreSQL did not start$/m);
  assert.match(stdout, /^Anvil is missing/m);
});

Deno.test("coverage: fails below the thresholds", () =>
  withFolder(async (folder) => {
    const env = { DENO_COVERAGE_DIR: folder };
    const version = ["run", "--allow-all", "main.ts", "--version"];
    assert.equal((await run(Deno.execPath(), version, { cwd, env })).code, 0);
    const { code, text } = await runTask(["coverage", folder]);
    assert.equal(code, 1, text);
    assert.match(text, /Line coverage \S+ is below the threshold/);
  }));

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

const deno = (folder: string, args: string[], env: Record<string, string> = {}) =>
  run(Deno.execPath(), args, {
    cwd: folder,
    clearEnv: true,
    env: { ...denoEnv(), NO_COLOR: "1", ...env },
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
  const programs = ["gate", "suite", "verdict"].map((name) => `.ci/${name}.ts`);
  const preload = readText(".ci/preload.ts");
  const quick = preload.replace("TIMEOUT_MS = 60_000", "TIMEOUT_MS = 300");
  assert.notEqual(quick, preload);
  const files = {
    ...tests,
    ...Object.fromEntries(programs.map((path) => [path, readText(path)])),
    ".ci/preload.ts": quick,
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
      const { PATH, HOME, TMPDIR, DENO_DIR, DENO_COVERAGE_DIR, NO_COLOR, DENO_JOBS, SUITE_FOLDER, ...rest } = Deno.env.toObject();
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

Deno.test("gate: an error that nothing caught fails the test that ran then, and no other", async () => {
  const { problems, summary } = await gateOf({
    "tests/uncaught_test.ts": `Deno.test("rejects", async () => {
        Promise.reject(new Error("later"));
        await new Promise((resolve) => setTimeout(resolve, 10));
      });
      Deno.test({ name: "rejects at its end", fn: () => void Promise.reject(new Error("end")) });
      Deno.test("throws in a timer", { timeout: 1_000 }, async () => {
        setTimeout(() => { throw new Error("timer"); }, 1);
        await new Promise((resolve) => setTimeout(resolve, 10));
      });
      Deno.test(function caught() { Promise.reject(new Error("caught")).catch(() => {}); });`,
    "tests/other_test.ts": passes,
  });
  assert.deepEqual(problems.slice(1), [
    "Failed: tests/uncaught_test.ts: rejects",
    "Failed: tests/uncaught_test.ts: rejects at its end",
    "Failed: tests/uncaught_test.ts: throws in a timer",
  ]);
  assert.equal(summary, "2 passed, 3 failed, 0 skipped");
});

Deno.test("suite: fails once it is interrupted, also if the tests that run did not get the signal", async () => {
  const { problems } = await gateOf({
    "tests/a_test.ts": 'Deno.test("interrupts", () => Deno.kill(Deno.ppid, "SIGINT"));',
    "tests/simulation/long_test.ts": passes,
  });
  assert.match(problems[0] ?? "", /^Step suite failed/);
  assert.deepEqual(problems.slice(1), ["No test ran in tests/simulation/long_test.ts"]);
});

Deno.test("suite: a simulation with no cases or an invalid seed fails", () => {
  const read = { TEST_CASES: () => casesFrom("TEST_CASES", 1), TEST_SEED: testSeed };
  const cases = [
    ["TEST_CASES", "0"],
    ["TEST_CASES", "few"],
    ["TEST_SEED", "x"],
  ] as const;
  for (const [variable, value] of cases) {
    Deno.env.set(variable, value);
    try {
      assert.throws(read[variable], /=(0|few|x): expected a whole number of at least [01]/);
    } finally {
      Deno.env.delete(variable);
    }
  }
});
