import assert from "node:assert/strict";
import type { Trial } from "../../../services/solver/backtest/maker.ts";
import { reportOn } from "../../../services/solver/backtest/report.ts";
import { partsOf, Results } from "../../../services/solver/backtest/results.ts";
import { USERS } from "../../../services/solver/backtest/users.ts";
import { DAY_MS } from "../../../lib/time.ts";

const kind = { durationMs: 60_000, width: 1 };
const plan = {
  makers: ["own", "other"],
  durationsMs: [60_000],
  widths: [1],
  focus: ["own"],
  compared: "other",
  spanMs: 4 * DAY_MS,
  omitted: [],
};

function trialOf(day: number, held: boolean, users: readonly string[]): Trial {
  return {
    box: { lower: 1, upper: 2, startMs: 0, endMs: 1 },
    kind,
    quotedMs: day * DAY_MS,
    offers: [
      { probability: 0.4, chargedProbability: 0.5, margin: 0.1, ratio: 1.8 },
      { probability: 0.6, margin: 0, ratio: 1 / 0.6 },
    ],
    bets: users.map((user) => ({ user, maker: 0, probability: 0.4 })),
    undecided: [],
    isBroken: !held,
  };
}

/** One of four boxes of each day is won; the informed user knows which. */
function results(): Results {
  const all = new Results();
  for (const day of [0, 1, 2, 3]) {
    for (const box of [0, 1, 2, 3]) {
      const users = box === 0 ? [USERS.everyone, USERS.informed] : [USERS.everyone];
      all.add(trialOf(day, box === 0, users), plan.makers);
    }
  }
  return all;
}

Deno.test("Parts of a gain: margin, limit and charge add up to the expected gain", () => {
  const cases = [
    // Half of the boxes pay 1.8: nothing but the margin.
    [{ probability: 0.5, margin: 0.1, ratio: 1.8 }, [0.1, 0, 0]],
    [{ probability: 0.4, chargedProbability: 0.5, margin: 0.1, ratio: 1.8 }, [0.1, 0, 0.18]],
    [{ probability: 0.05, margin: 0.1, ratio: 10 }, [0.1, 0.4, 0]],
    [{ probability: 0.04, chargedProbability: 0.05, margin: 0.1, ratio: 10 }, [0.1, 0.32, 0.18]],
    // Without a margin of its own, all of it is one.
    [{ probability: 0.5, ratio: 1.5 }, [0.25, 0, 0]],
  ] as const;
  for (const [offer, expected] of cases) {
    const parts = partsOf(offer, offer.probability);
    parts.forEach((part, index) =>
      assert.ok(Math.abs(part - expected[index]!) < 1e-12, `${parts}`)
    );
    const sum = parts[0] + parts[1] + parts[2];
    assert.ok(Math.abs(sum - (1 - offer.probability * offer.ratio)) < 1e-12);
  }
});

Deno.test("Report: expectation, mispricing and selection add up to the gain", () => {
  const { gains } = reportOn(results(), plan);
  const [everyone, informed] = gains;
  assert.deepEqual([everyone?.user, informed?.user], [USERS.everyone, USERS.informed]);
  for (const { path, expected, parts, mispricing, selection } of gains) {
    const sum = parts.reduce((total, part) => total + part, 0);
    assert.ok(Math.abs(sum - expected) < 1e-12);
    assert.ok(Math.abs(sum + mispricing + selection - path.mean) < 1e-12);
  }
  // A quarter held at 1.8, .4 were expected; the informed user's all held.
  const close = (found: number | undefined, value: number) =>
    assert.ok(Math.abs((found ?? NaN) - value) < 1e-12, `${found}`);
  close(everyone?.expected, 0.28);
  close(everyone?.mispricing, 0.55 - 0.28);
  close(everyone?.selection, 0);
  close(informed?.selection, -0.8 - 0.55);
});

Deno.test("Report: differences of scores and calibrations have their errors", () => {
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
