/** `deno task coverage`: on what one run of the program, or one file of tests, leaves behind. */
import assert from "node:assert/strict";
import { fileUrl, run } from "./support.ts";

const cwd = fileUrl(".").pathname;

/** Runs Deno while coverage is collected, then the report on that. */
async function report(args: string[]): Promise<{ code: number; text: string }> {
  const folder = await Deno.makeTempDir();
  const env = { DENO_COVERAGE_DIR: folder };
  const { code, text } = await run(Deno.execPath(), args, { cwd, env });
  assert.equal(code, 0, text);
  const task = ["task", "--quiet", "coverage", folder];
  const result = await run(Deno.execPath(), task, { cwd });
  await Deno.remove(folder, { recursive: true });
  return result;
}

const version = ["run", "--allow-all", "main.ts", "--version"];

Deno.test("coverage: fails below the thresholds, and says by how much", async () => {
  const { code, text } = await report(version);
  assert.equal(code, 1, text);
  assert.match(text, /^Coverage, lines: \d+(\.\d)? % \(at least \d+(\.\d)? %\)$/m);
  assert.match(text, /Line coverage \S+ is below the threshold/);
});

Deno.test("coverage: well above a threshold, says that it is to be raised", async () => {
  // Its branches are all reached by its own test.
  const backoff = ["test", "--allow-env", "--no-check", "tests/lib/net/backoff_test.ts"];
  const { text } = await report(backoff);
  assert.match(text, /threshold for branches is to be raised: deno task coverage --raise/);
});
