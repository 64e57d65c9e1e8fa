import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { seededRandom } from "../../../lib/random.ts";
import { runHere } from "../../support/command_context.ts";
import { runProgram } from "../../support/process.ts";
import { candlesText, simulatedTape, tapeText } from "./support.ts";
import { withFolder } from "../../support/files.ts";

/**
 * Three standard errors of a score's difference for one box; for several, divide by the root of
 * their number. If only the paths within the candles differ, the scores of one box differ by a
 * quarter.
 */
const SCORE_DIFFERENCE_MAX = 3 * 0.25;

function withFiles(
  test: (files: { tape: string; candles: string; folder: string }) => Promise<void>,
): Promise<void> {
  return withFolder(async (folder) => {
    const tape = `${folder}/tape.csv`;
    const rows = simulatedTape(seededRandom(3), { volatility: 0.6, durationMs: 600_000 });
    await Deno.writeTextFile(tape, tapeText(rows));
    const candles = `${folder}/candles.csv`;
    const text = candlesText(seededRandom(4), { volatility: 0.5, minutes: 1_440 });
    await Deno.writeTextFile(candles, text);
    await test({ tape, candles, folder });
  });
}

Deno.test("solver backtest: prints scores, calibration and gains of trades", {
  timeout: 120_000,
}, () =>
  withFiles(async ({ tape }) => {
    const { code, stdout, stderr } = await runProgram(["solver", "backtest", "--tape", tape]);
    assert.equal(code, 0, stderr);
    assert.match(
      stdout,
      /^\d+ boxes over 5 minutes; ± is a standard error by days, n\/a for fewer than three$/m,
    );
    assert.match(
      stdout,
      /^ {2}HAR, fitted +left out: its fit needs 1 hour of prices, and has 3 minutes/m,
    );
    assert.doesNotMatch(stdout, /NaN|Infinity|losing days|worst day|drawdown/);
    assert.doesNotMatch(stdout, /strategy of --strategy/);
    assert.match(stdout, /^duration +barrier +mock +terminal only +base rate$/m);
    assert.match(stdout, /^15 s +0\.\d{4}/m);
    assert.match(stdout, /Calibration of barrier\npredicted +held +difference/);
    assert.match(stdout, /^15 s +[-+]0\.\d{4} ± n\/a/m);
    assert.match(stdout, /^user +maker +margin +cap +lead +mispricing +selection +gain/m);
    assert.match(stdout, /^knows the best rival model +mock +\d+ +[+-]0\.\d{4}/m);
  }));

Deno.test("solver backtest: reads candles, and rates docs/examples/strategy.ts", () =>
  withFiles(async ({ candles }) => {
    const { code, stdout, stderr } = await runHere(
      [
        "solver",
        "backtest",
        "--candles",
        candles,
        "--strategy",
        fileURLToPath(new URL("../../../docs/examples/strategy.ts", import.meta.url)),
        "--durations-ms",
        "900000",
      ],
    );
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^\d+ boxes over 12 hours;/);
    assert.match(stdout, /^ {2}HAR, fitted +a forecast of volatility/m);
    assert.match(stdout, /^duration +barrier +mock +nearer-bound +terminal only +base rate +HAR/m);
    assert.doesNotMatch(stdout, /NaN/);
    const row = /^bets on everything +nearer-bound +(\d+) +([+-]\d\.\d+) +n\/a/m.exec(stdout);
    assert.ok(row !== null && Number(row[1]) > 300, stdout);
    for (const maker of ["barrier", "nearer-bound"]) {
      for (const head of [`Calibration of ${maker}`, `${maker} by duration and width`]) {
        assert.match(stdout, new RegExp(`^${head}$`, "m"));
      }
    }
  }));

Deno.test("solver backtest: a strategy without any price leaves figures n/a", () =>
  withFiles(async ({ tape, folder }) => {
    const code = "export default ({ refuse }) => ({ name: 'shy', " +
      "price: () => refuse('PRICE_UNAVAILABLE', 'never'), recheck() {} });";
    await Deno.writeTextFile(`${folder}/shy.ts`, code);
    const args = ["--tape", tape, "--durations-ms", "15000", "--strategy", `${folder}/shy.ts`];
    const { code: exitCode, stdout, stderr } = await runHere(["solver", "backtest", ...args]);
    assert.equal(exitCode, 0, stderr);
    assert.doesNotMatch(stdout, /NaN/);
    assert.match(stdout, /^15 s +n\/a/m);
  }));

for (const member of ["price", "holdMs", "recheck"]) {
  Deno.test(`solver backtest: an exception in ${member} of a strategy is one line with its file, exit code 1`, () =>
    withFiles(async ({ tape, folder }) => {
      const path = `${folder}/boom.ts`;
      const sound = "name: 'x', price: (bet) => ({ payout: bet.betAmount * 2n }), recheck() {}";
      const thrower = `${member}() { throw new RangeError("boom"); }`;
      await Deno.writeTextFile(path, `export default () => ({ ${sound}, ${thrower} });`);
      const args = ["--tape", tape, "--durations-ms", "15000", "--strategy", path];
      const { code, stderr } = await runHere(["solver", "backtest", ...args]);
      assert.deepEqual([code, stderr.trimEnd()], [1, `Strategy ${path} threw: boom`]);
    }));
}

Deno.test("solver backtest: candles may begin at any second of the minute", () =>
  withFiles(async ({ candles, folder }) => {
    const shifted = `${folder}/shifted.csv`;
    const text = await Deno.readTextFile(candles);
    const later = text.replaceAll(/^\d+/gm, (time) => String(Number(time) + 20_000));
    await Deno.writeTextFile(shifted, later);
    const reportOf = async (file: string) => {
      const args = ["--candles", file, "--durations-ms", "900000", "--widths", "1"];
      const { code, stdout, stderr } = await runHere(["solver", "backtest", ...args]);
      assert.equal(code, 0, stderr);
      const [, boxes = "", scores = ""] = /^(\d+) boxes.*?^all (.*?)$/ms.exec(stdout) ?? [];
      return [boxes, ...scores.matchAll(/[-+]?\d\.\d+/g)].map(Number);
    };
    const [expected, found] = [await reportOf(candles), await reportOf(shifted)];
    // Boxes begin at whole minutes: the last one ends after the prices, or begins before the first part.
    assert.ok(expected[0]! > 130 && Math.abs(found[0]! - expected[0]!) <= 1, `${found[0]} boxes`);
    assert.ok(expected.length > 5);
    // The paths within a candle are made up, so scores of boxes that begin within differ by chance.
    const differenceMax = SCORE_DIFFERENCE_MAX / Math.sqrt(expected[0]!);
    expected.slice(1).forEach((score, index) =>
      assert.ok(Math.abs(found[index + 1]! - score) < differenceMax, `${found}, ${expected}`)
    );
  }));

Deno.test("solver backtest: wrong options and files are reported on one line", () =>
  withFiles(async ({ tape, candles, folder }) => {
    await Deno.writeTextFile(`${folder}/none.ts`, "export const strategy = 1;");
    const cases: [string[], number, RegExp][] = [
      [[], 2, /Expected either --tape or --candles/],
      [["--tape", tape, "--candles", candles], 2, /Expected either --tape or --candles/],
      [["--tape", "nowhere.csv"], 1, /^Tape nowhere\.csv cannot be read: /],
      [["--candles", "nowhere.csv"], 1, /^Candles nowhere\.csv cannot be read: /],
      [["--tape", tape, "--durations-ms", "5000,1"], 2, /from 1000 to 86400000/],
      [
        ["--tape", tape, "--durations-ms", "86400000"],
        1,
        /^No box fits into 5 m of prices to report on: use a longer/,
      ],
      [["--candles", candles, "--durations-ms", "90000"], 1, /boxes of 90000 ms/],
      [["--tape", tape, "--strategy", "nowhere.ts"], 1, /^Strategy nowhere\.ts cannot be loaded/],
      [["--tape", tape, "--strategy", `${folder}/none.ts`], 1, /expected a StrategyFactory/],
    ];
    for (const [args, code, words] of cases) {
      const ended = await runHere(["solver", "backtest", ...args]);
      assert.equal(ended.code, code, ended.stderr);
      assert.match(ended.stderr, words);
    }
  }));
