import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { seededRandom } from "../../../lib/random.ts";
import { runHere } from "../../support/command_context.ts";
import { simulatedTape, tapeText } from "./support.ts";
import { withFolder } from "../../support/files.ts";

/** Bets are simulated in its second half. */
function withTape(
  test: (tape: string, folder: string) => Promise<void>,
  durationMs = 600_000,
): Promise<void> {
  return withFolder(async (folder) => {
    const tape = `${folder}/tape.csv`;
    const rows = simulatedTape(seededRandom(3), { volatility: 0.6, durationMs });
    await Deno.writeTextFile(tape, tapeText(rows));
    await test(tape, folder);
  });
}

Deno.test("solver backtest: rates docs/examples/strategy.ts", () =>
  withTape(async (tape) => {
    const example = fileURLToPath(new URL("../../../docs/examples/strategy.ts", import.meta.url));
    const args = ["--tape", tape, "--strategy", example, "--durations-ms", "15000"];
    const { code, stdout, stderr } = await runHere(["solver", "backtest", ...args]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^duration +barrier +mock +nearer-bound$/m);
    assert.doesNotMatch(stdout, /NaN|Infinity/);
    assert.match(
      stdout,
      /^\d+ boxes over 2.5 minutes; ± is a standard error across blocks of 1 h, n\/a/m,
    );
    assert.match(stdout, /^15 s +0\.\d{4}/m);
    assert.match(stdout, /Calibration of barrier\npredicted +held +difference/);
    assert.match(stdout, /^15 s +[-+]0\.\d{4} ± n\/a/m);
    assert.match(stdout, /^knows the rival's model +mock +\d+ +[+-]0\.\d{4}/m);
    const row = /^bets on everything +nearer-bound +(\d+) +([+-]\d\.\d+) +n\/a/m.exec(stdout);
    assert.ok(row !== null && Number(row[1]) > 300, stdout);
    assert.match(stdout, /^knows the rival's model +nearer-bound/m);
    for (const maker of ["barrier", "nearer-bound"]) {
      for (const head of [`Calibration of ${maker}`, `${maker} by duration and width`]) {
        assert.match(stdout, new RegExp(`^${head}$`, "m"));
      }
    }
  }, 300_000));

Deno.test("solver backtest: says at its start how much it simulates", () =>
  withTape(async (tape) => {
    const lines: string[] = [];
    const { error } = console;
    console.error = (line: string) => void lines.push(line.trimEnd());
    try {
      await runHere(["solver", "backtest", "--tape", tape, "--durations-ms", "86400000"]);
    } finally {
      console.error = error;
    }
    assert.match(lines.join("\n"), /: Simulating bets on 6000 trades over 0\.2 h$/);
  }));

Deno.test("solver backtest: a strategy without any price leaves figures n/a", () =>
  withTape(async (tape, folder) => {
    const code = "export default ({ refuse }) => ({ name: 'shy', " +
      "price: () => refuse('PRICE_UNAVAILABLE', 'never'), recheck() {} });";
    await Deno.writeTextFile(`${folder}/shy.ts`, code);
    const args = ["--tape", tape, "--durations-ms", "15000", "--strategy", `${folder}/shy.ts`];
    const { code: exitCode, stdout, stderr } = await runHere(["solver", "backtest", ...args]);
    assert.equal(exitCode, 0, stderr);
    assert.doesNotMatch(stdout, /NaN/);
    assert.match(stdout, /^15 s +n\/a/m);
  }, 200_000));

for (const member of ["price", "holdMs", "recheck"]) {
  Deno.test(`solver backtest: an exception in ${member} of a strategy is one line with its file, exit code 1`, () =>
    withTape(async (tape, folder) => {
      const path = `${folder}/boom.ts`;
      const sound = "name: 'x', price: (bet) => ({ payout: bet.betAmount * 2n }), recheck() {}";
      const thrower = `${member}() { throw new RangeError("boom"); }`;
      await Deno.writeTextFile(path, `export default () => ({ ${sound}, ${thrower} });`);
      const args = ["--tape", tape, "--durations-ms", "15000", "--strategy", path];
      const { code, stderr } = await runHere(["solver", "backtest", ...args]);
      assert.deepEqual([code, stderr.trimEnd()], [1, `Strategy ${path} threw: boom`]);
    }));
}

Deno.test("solver backtest: wrong options and files are reported on one line", () =>
  withTape(async (tape) => {
    const cases: [string[], number, RegExp][] = [
      [[], 2, /--tape/],
      [["--tape", "nowhere.csv"], 1, /^Tape nowhere\.csv cannot be read: /],
      [["--tape", tape, "--durations-ms", "5000,1"], 2, /from 1000 to 86400000/],
      [
        ["--tape", tape, "--durations-ms", "86400000"],
        1,
        /^No box fits into 5 m of prices to report on: use a longer/,
      ],
      [["--tape", tape, "--strategy", "nowhere.ts"], 1, /^Strategy nowhere\.ts cannot be loaded/],
    ];
    for (const [args, code, words] of cases) {
      const ended = await runHere(["solver", "backtest", ...args]);
      assert.equal(ended.code, code, ended.stderr);
      assert.match(ended.stderr, words);
    }
  }));
