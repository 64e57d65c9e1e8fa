/** `deno task suite`: every test file runs, and which of them share an isolate. */
import assert from "node:assert/strict";
import { isolatesOf, testFilesBelow } from "../../.ci/suite.ts";
import { fileUrl } from "./support.ts";

Deno.test("suite: the files of a folder share an isolate, after those that run alone", () => {
  const files = [
    "tests/lib/a_test.ts",
    "tests/lib/net/b_test.ts",
    "tests/lib/z_test.ts",
    "tests/solver/api_test.ts",
    "tests/solver/death_test.ts",
    "tests/spec/c_test.ts",
    "tests/spec/d_test.ts",
  ];
  assert.deepEqual(isolatesOf(files), [
    ["tests/solver/death_test.ts"],
    ["tests/spec/c_test.ts"],
    ["tests/spec/d_test.ts"],
    ["tests/lib/a_test.ts", "tests/lib/z_test.ts"],
    ["tests/lib/net/b_test.ts"],
    ["tests/solver/api_test.ts"],
  ]);
});

Deno.test("suite: every test file of the repository is in one isolate", () => {
  const tests = fileUrl("tests").pathname;
  const files = [...testFilesBelow(tests)].map((path) => path.replace(tests, "tests"));
  assert.deepEqual(isolatesOf(files).flat().toSorted(), files.toSorted());
  assert(files.includes("tests/ship/suite_test.ts") && files.length > 200, `${files.length} files`);
  const bench = files.filter((path) => path.includes("/bench/") || !path.endsWith("_test.ts"));
  assert.deepEqual(bench, []);
});
