import assert from "node:assert/strict";
import { type RandomSource, seededRandom } from "../../../lib/random.ts";
import { HOUR_MS } from "../../../lib/time.ts";
import { type SlotSource, tradeSlots } from "../../../services/solver/backtest/slots.ts";
import { reportOn } from "../../../services/solver/backtest/report.ts";
import type { Results } from "../../../services/solver/backtest/results.ts";
import { USERS } from "../../../services/solver/backtest/users.ts";
import { MAKERS, plan, runMakers, simulatedTape } from "./support.ts";

const VOLATILITY = 0.6;
function simulated(random: RandomSource, hours: number): SlotSource {
  return tradeSlots(simulatedTape(random, { volatility: VOLATILITY, durationMs: hours * HOUR_MS }));
}

const HOURS = 3;
let known: Results | undefined;

/** The run that several tests read. */
function withKnownVolatility(): Results {
  return known ??= runMakers(simulated(seededRandom(1), HOURS), seededRandom(2), {
    volatility: VOLATILITY,
  });
}

function report(results: Results) {
  return reportOn(results, {
    ...plan,
    makers: MAKERS,
    focus: ["barrier"],
    spanMs: HOURS * HOUR_MS,
  });
}

Deno.test("Backtest: with the true volatility, the model is calibrated within sampling error", () => {
  const { calibration, boxes } = report(withKnownVolatility());
  const independent = boxes / plan.widths.length;
  const points = calibration("barrier");
  assert.ok(points.length >= 5);
  for (const { predicted, held } of points) {
    // Boxes of several widths share their prices: no more certain than one of them.
    const count = Math.min(held.count, independent);
    const error = Math.sqrt(predicted * (1 - predicted) / count);
    const off = Math.abs(held.mean - predicted);
    assert.ok(off <= 5 * error + 0.002, `${held.mean} held of ${predicted} predicted`);
  }
});

Deno.test("Backtest: estimating the volatility raises the Brier score by at most 0.01", () => {
  const known = report(withKnownVolatility());
  const estimated = report(runMakers(simulated(seededRandom(1), HOURS), seededRandom(2)));
  const scoreOf = ({ scores }: typeof known) => scores.at(-1)?.byMaker[0]?.mean ?? 1;
  assert.ok(scoreOf(estimated) <= scoreOf(known) + 0.01);
});

Deno.test("Backtest: without a last look, a patient user gets ten times as many bets", () => {
  const random = seededRandom(1);
  const given = { volatility: VOLATILITY, waitMs: 15_000 };
  const results = runMakers(simulated(random, 1), random, given);
  const bets = (maker: string) => results.gain(USERS.patient, maker)?.gain.mean().count ?? 0;
  assert.ok(bets("plain") > 100);
  assert.ok(bets("barrier") < bets("plain") / 10);
});

Deno.test("Backtest: a price after the quote does not influence the box's probability", () => {
  const rows = simulatedTape(seededRandom(1), { volatility: VOLATILITY, durationMs: 1_800_000 });
  const crash = rows.map((row, index) => index < rows.length - 10 ? row : { ...row, price: 1n });
  const [calm, crashed] = [rows, crash].map((all) => runMakers(tradeSlots(all), seededRandom(2)));
  const kind = (width: number) => ({ durationMs: 20_000, width });
  const predicted = (results: Results) =>
    Array.from(
      { length: 10 },
      (_, index) => results.bucket("barrier", 20_000, index)?.predicted.mean(),
    );
  assert.deepEqual(predicted(crashed!), predicted(calm!));
  for (const width of plan.widths) {
    const [before, after] = [calm!, crashed!].map((results) =>
      results.score("barrier", kind(width))
    );
    // Only the last box can have seen the crash.
    const change = Math.abs(after!.mean().mean - before!.mean().mean) * after!.mean().count;
    assert.ok(change <= 1 + 1e-9, `${change}`);
  }
});

Deno.test("Backtest: the price of a slot is that of the last trade before it", () => {
  const rows = [[50, 1n], [120, 2n], [180, 3n], [200, 4n], [560, 5n]] as const;
  const source = tradeSlots(
    rows.map(([timeMs, price]) => ({ timeMs, side: "buy", price, amount: "1" })),
  );
  assert.deepEqual([source.fromMs, source.toMs], [100, 700]);
  const found = Array.from(source.slots(), ({ timeMs, price }) => [timeMs, price]);
  assert.deepEqual(found, [[100, 1], [200, 4], [300, 4], [400, 4], [500, 4], [600, 5]]);
});

Deno.test("Backtest: a tape whose times are in microseconds is refused with its length and what to check", () => {
  const rows = [1_675_329_600_138_000, 1_675_330_200_138_000].map((timeMs) => ({
    timeMs,
    side: "buy" as const,
    price: 1n,
    amount: "1",
  }));
  assert.throws(
    () => tradeSlots(rows),
    /^TapeError: Tape covers 6\.9 days: expected at most 4\.9; cut it, and check that its times are in milliseconds$/,
  );
});
