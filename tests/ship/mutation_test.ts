/** `deno task mutate`: which lines it mutates, which tests it runs, and how it scores. */
import assert from "node:assert/strict";
import {
  changedRanges,
  formatScore,
  importersOf,
  isWithin,
  percentKilled,
  sampled,
  score,
  testsOf,
  withoutCoverage,
} from "../../.ci/mutation.ts";

const importers = importersOf(
  new Map([
    ["lib/a/quote.ts", 'import { z } from "zod";\nexport * from "./price.ts";'],
    ["services/solver/api.ts", 'import { sign } from "../../lib/a/quote.ts";'],
    ["tests/lib/a/quote_test.ts", 'import {\n  sign,\n} from "../../../lib/a/quote.ts";'],
    ["tests/lib/a/golden_test.ts", 'import { sign } from "../../../lib/a/quote.ts";'],
    ["tests/lib/a/shape_test.ts", 'import type { Quote } from "../../../lib/a/quote.ts";'],
    ["tests/spec/quote_test.ts", 'import { sign } from "../../lib/a/quote.ts";'],
    ["tests/solver/support.ts", 'import "../../services/solver/api.ts";'],
    ["tests/solver/execute_test.ts", 'import { app } from "./support.ts";'],
    ["services/solver/risk/book.ts", ""],
    ["tests/solver/risk/book_test.ts", 'import "../../../services/solver/risk/book.ts";'],
    ["tests/spec/book_test.ts", 'import "../../services/solver/risk/book.ts";'],
    ["services/solver/loop.ts", 'import "./step.ts";'],
    ["tests/solver/step_test.ts", 'import "../../services/solver/loop.ts";'],
    ["tests/spec/step_test.ts", 'import "../../services/solver/step.ts";'],
  ]),
);

Deno.test("mutate: a file is tested by the tests of its mirrored folder that import it", () => {
  const tests = ["tests/lib/a/golden_test.ts", "tests/lib/a/quote_test.ts"];
  assert.deepEqual(testsOf("lib/a/quote.ts", importers), tests);
});

Deno.test("mutate: tests may mirror a service without its folder, and import the file indirectly", () => {
  const { book, step } = { book: "services/solver/risk/book.ts", step: "services/solver/step.ts" };
  assert.deepEqual(testsOf(book, importers), ["tests/solver/risk/book_test.ts"]);
  assert.deepEqual(testsOf(step, importers), ["tests/solver/step_test.ts"]);
});

Deno.test("mutate: a file without such tests is tested by the nearest importers, of its own folder if any", () => {
  const near = ["tests/lib/a/golden_test.ts", "tests/lib/a/quote_test.ts"];
  assert.deepEqual(testsOf("lib/a/price.ts", importers), near);
  assert.deepEqual(testsOf("services/solver/api.ts", importers), ["tests/solver/execute_test.ts"]);
  assert.deepEqual(testsOf("lib/unused.ts", importers), []);
});

Deno.test("mutate: folders are covered whole, entry points are left out", () => {
  const folders = ["lib/protocol/", "lib/sweeper.ts", "services/solver"];
  const within = (path: string) => isWithin(path, folders);
  assert(
    ["lib/protocol/options.ts", "lib/sweeper.ts", "services/solver/risk/api.ts"].every(within),
  );
  const others = ["lib/protocols/a.ts", "lib/sweeper.tsx", "services/solver/api.ts", "lib/a.ts"];
  assert.deepEqual(others.filter(within), []);
});

Deno.test("mutate: only lines that a diff adds are mutated", () => {
  const diff = [
    "--- a/lib/a.ts",
    "+++ b/lib/a.ts",
    "@@ -1,2 +1,3 @@ class A {",
    "@@ -9 +10 @@",
    "@@ -20,4 +20,0 @@",
    "--- a/lib/gone.ts",
    "+++ /dev/null",
    "@@ -1,5 +0,0 @@",
  ].join("\n");
  assert.deepEqual(changedRanges(diff).map(({ range }) => range), [
    "lib/a.ts:1-3",
    "lib/a.ts:10-10",
  ]);
});

const SOURCE = 'const limit = 1;\nthrow new Error("too large");\nz.string().meta({ id: "A" });\n';
const mutant = (
  status: string,
  line: number,
  [from, to]: [number, number],
  mutatorName = "Math",
  id = "0",
) => ({
  id,
  mutatorName,
  replacement: "2",
  status,
  location: { start: { line, column: from }, end: { line, column: to } },
});
const report = {
  files: {
    "lib/a/x.ts": {
      source: SOURCE,
      mutants: [
        mutant("Killed", 1, [15, 16]),
        mutant("Survived", 1, [15, 16]),
        mutant("Timeout", 1, [15, 16]),
        mutant("Ignored", 1, [15, 16]),
        mutant("Survived", 2, [17, 28], "StringLiteral"),
        mutant("Survived", 3, [23, 26], "StringLiteral"),
      ],
    },
  },
};

Deno.test("mutate: timeouts are no kills; messages and documentation are ignored", () => {
  const { folders, survivors } = score([report]);
  const counts = { killed: 1, survived: 1, timedOut: 1, uncovered: 0 };
  assert.deepEqual([...folders], [["lib/a", counts]]);
  assert.equal(percentKilled(counts), 50);
  assert.deepEqual(survivors, [
    { place: "lib/a/x.ts:1", mutator: "Math", original: "1", replacement: "2" },
  ]);
  assert.match(formatScore(score([report])), /^\| `lib\/a` \| 50 % \| 1 \| 1 \| 1 \| 0 \|$/m);
});

Deno.test("mutate: the score of a sample contains only the mutants of the sample", () => {
  const mutants = ["0", "1", "2", "3", "4"].map((id) =>
    mutant(Number(id) % 2 === 0 ? "Killed" : "Survived", 1, [15, 16], "Math", id)
  );
  const whole = { files: { "lib/a/x.ts": { source: SOURCE, mutants } } };
  const counts = (every: number) => [...score([sampled(whole, every)]).folders.values()];
  assert.deepEqual(counts(2), [{ killed: 3, survived: 0, timedOut: 0, uncovered: 0 }]);
  assert.deepEqual(counts(1), [{ killed: 3, survived: 2, timedOut: 0, uncovered: 0 }]);
});

Deno.test("mutate: files that no test imports are uncovered, and lower the score", () => {
  const { folders } = score([report, withoutCoverage(report)]);
  assert.deepEqual([...folders.values()], [{ killed: 2, survived: 1, timedOut: 2, uncovered: 1 }]);
  assert.equal(percentKilled({ killed: 1, survived: 1, timedOut: 1, uncovered: 2 }), 25);
});
