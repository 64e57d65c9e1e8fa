/** The gate is red whenever something did not run, and always ends with its one line. */
import assert from "node:assert/strict";
import { runGate, runStep, type Step } from "../../.ci/gate.ts";
import { joinReports, judge, readReport } from "../../.ci/verdict.ts";
import { fileUrl, run } from "./support.ts";
import { withFolder } from "../support/files.ts";

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
    await Deno.copyFile(fileUrl(".ci/run"), `${folder}/.ci/run`);
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

const cwd = fileUrl(".").pathname;

Deno.test("coverage: fails below the thresholds", () =>
  withFolder(async (folder) => {
    const env = { DENO_COVERAGE_DIR: folder };
    const version = ["run", "--allow-all", "main.ts", "--version"];
    assert.equal((await run(Deno.execPath(), version, { cwd, env })).code, 0);
    const { code, text } = await run(Deno.execPath(), ["task", "--quiet", "coverage", folder], {
      cwd,
    });
    assert.equal(code, 1, text);
    assert.match(text, /Line coverage \S+ is below the threshold/);
  }));
