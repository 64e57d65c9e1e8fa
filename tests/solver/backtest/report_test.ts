import assert from "node:assert/strict";
import { DAY_MS } from "../../../lib/time.ts";
import type { Trial } from "../../../services/solver/backtest/maker.ts";
import { reportOn } from "../../../services/solver/backtest/report.ts";
import { Results } from "../../../services/solver/backtest/results.ts";
import { USERS } from "../../../services/solver/backtest/users.ts";

const kind = { durationMs: 60_000, width: 1 };
const plan = {
  makers: ["own", "other"],
  durationsMs: [60_000],
  widths: [1],
  focus: ["own"],
  spanMs: 4 * DAY_MS,
  blockMs: DAY_MS,
};

function trialOf(day: number, held: boolean, users: readonly string[]): Trial {
  const execution = { maker: 0, isExecuted: true, probability: 0.4 };
  return {
    box: { lower: 1, upper: 2, startMs: 0, endMs: 1 },
    kind,
    quotedAtMs: day * DAY_MS,
    quotes: [{ probability: 0.4, ratio: 1.8 }, { probability: 0.6, ratio: 1 / 0.6 }],
    bets: users.map((user) => ({ user, execution })),
    pendingDecisions: [],
    isBroken: !held,
  };
}

/** One of four boxes of each day is won; the informed user knows which. */
function results(): Results {
  const all = new Results(DAY_MS);
  for (const day of [0, 1, 2, 3]) {
    for (const box of [0, 1, 2, 3]) {
      const users = box === 0 ? [USERS.everyone, USERS.informed] : [USERS.everyone];
      all.add(trialOf(day, box === 0, users), plan.makers);
    }
  }
  return all;
}

Deno.test("Report: the gain from each user, and how much of it was expected", () => {
  const { gains } = reportOn(results(), plan);
  const [everyone, informed] = gains;
  assert.deepEqual([everyone?.user, informed?.user], [USERS.everyone, USERS.informed]);
  const close = (found: number | undefined, value: number) =>
    assert.ok(Math.abs((found ?? NaN) - value) < 1e-12, `${found}`);
  // A quarter held at 1.8, .4 were expected; the informed user's all held.
  close(everyone?.gain.mean, 0.55);
  close(everyone?.expected, 0.28);
  close(everyone?.surprise.mean, 0.55 - 0.28);
  close(informed?.gain.mean, -0.8);
});

Deno.test("Report: scoresAbove is the mean difference of scores, calibrationError has the share due to chance", () => {
  const report = reportOn(results(), plan);
  const [row] = report.scoresAbove("own");
  // (.36 + 3 · .16) / 4 and (.16 + 3 · .36) / 4.
  assert.ok(Math.abs((row?.[1]?.mean ?? NaN) - (0.31 - 0.21)) < 1e-12);
  const { mean, chance } = report.calibrationError("own");
  assert.ok(Math.abs(mean - 0.15) < 1e-12);
  assert.equal(chance, 0, "every day had as many");
  const [cell] = report.cells("own");
  assert.ok(Math.abs((cell?.expected ?? NaN) - 0.28) < 1e-12);
});
