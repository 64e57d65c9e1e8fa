import assert from "node:assert/strict";
import { seededRandom } from "../../../lib/random.ts";
import { runHere } from "../../support/command_context.ts";
import { runProgram } from "../../support/process.ts";
import { simulatedTape, tapeText } from "./support.ts";

async function withTape(test: (tape: string, folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const tape = `${folder}/tape.csv`;
    const rows = simulatedTape(seededRandom(3), { volatility: 0.6, durationMs: 600_000 });
    await Deno.writeTextFile(tape, tapeText(rows));
    await test(tape, folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("solver backtest: prints calibration, Brier score and gains, and writes a picture", () =>
  withTape(async (tape, folder) => {
    const svg = `${folder}/backtest.svg`;
    const { code, stdout, stderr } = await runProgram(
      ["solver", "backtest", "--tape", tape, "--svg", svg],
    );
    assert.equal(code, 0, stderr);
    assert.match(stdout, /probability +boxes +predicted +held/);
    assert.match(stdout, /0\.9 to 1\.0 +\d+ +0\.9\d+/);
    assert.match(stdout, /Brier score 0\.\d{4} over \d+ boxes/);
    assert.match(stdout, /bets where it pays by the model +\d+ +[+-]\d/);
    const picture = await Deno.readTextFile(svg);
    assert.match(picture, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
    assert.ok(!/NaN|undefined|Infinity/.test(picture));
    assert.equal(picture.match(/<circle /g)?.length, stdout.match(/^0\.\d to /gm)?.length);
  }));

Deno.test("solver backtest: what is wrong is one line", () =>
  withTape(async (tape) => {
    const cases: [string[], number, RegExp][] = [
      [[], 2, /Missing --tape\. See rangemaker solver backtest --help/],
      [["--tape", "nowhere.csv"], 1, /^Tape nowhere\.csv cannot be read: /],
      [["--tape", tape, "--durations-ms", "5000,1"], 2, /from 1000 to 86400000/],
      [["--tape", tape, "--durations-ms", "86400000"], 1, /^No box fits into 600000 ms/],
      [["--tape", tape, "--svg", "/nowhere/x.svg"], 1, /cannot be written/],
    ];
    for (const [args, code, words] of cases) {
      const ended = await runHere(["solver", "backtest", ...args]);
      assert.equal(ended.code, code, ended.stderr);
      assert.match(ended.stderr, words);
    }
  }));
