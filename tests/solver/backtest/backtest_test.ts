import assert from "node:assert/strict";
import type { RandomSource } from "../../../lib/clock.ts";
import { seededRandom } from "../../../lib/random.ts";
import {
  BacktestError,
  type BoxPlan,
  slideBoxes,
  type TriedBox,
} from "../../../services/solver/backtest/boxes.ts";
import { reportOn } from "../../../services/solver/backtest/report.ts";
import { slotPricesOf } from "../../../services/solver/backtest/slot_prices.ts";
import { withSeed } from "../../support/random.ts";
import { simulatedTape } from "./support.ts";

const VOLATILITY = 0.6;

/** Boxes that do not overlap in time, so that each is a draw of its own for its width. */
const plan: BoxPlan = {
  stepMs: 20_000,
  durationsMs: [20_000],
  widths: [0.6, 0.8, 1, 1.25, 1.5, 2, 2.5, 3],
  charges: { margin: 0.03, vegaCharge: 0.1 },
  estimate: { halfLifeMs: 1_800_000, floor: 0.05, minHistoryMs: 600_000 },
};

function simulated(random: RandomSource, given: Partial<BoxPlan> = {}): TriedBox[] {
  const rows = simulatedTape(random, { volatility: VOLATILITY, durationMs: 8 * 3_600_000 });
  return slideBoxes(slotPricesOf(rows), { ...plan, ...given }, random);
}

Deno.test("Backtest: where volatility is known, the model is right within sampling error", () =>
  withSeed((random) => {
    const { boxes, buckets } = reportOn(simulated(random, { volatility: VOLATILITY }));
    assert.equal(boxes, 1_440 * plan.widths.length);
    assert.ok(buckets.length >= 5);
    for (const { from, predicted, observed, samplingError, boxes } of buckets) {
      // Boxes of several widths in one bucket share their prices: no more certain than one of them.
      const independent = samplingError * Math.sqrt(Math.max(1, boxes / 1_440));
      const off = Math.abs(observed - predicted);
      assert.ok(off <= 5 * independent, `${from}: ${observed} held of ${predicted} predicted`);
    }
  }));

Deno.test("Backtest: the estimated volatility costs next to nothing in Brier score", () =>
  withSeed((_random, seed) => {
    const known = simulated(seededRandom(seed), { volatility: VOLATILITY });
    const estimated = simulated(seededRandom(seed));
    const from = estimated[0]?.startMs ?? 0;
    const { brier } = reportOn(known.filter(({ startMs }) => startMs >= from));
    assert.ok(reportOn(estimated).brier <= brier + 0.005);
  }));

Deno.test("Backtest: against a user who knows the model the mock loses, barrier does not", () =>
  withSeed((random) => {
    const { worthIt, buckets } = reportOn(simulated(random));
    assert.ok(worthIt.mock.bets > 1_000);
    assert.ok(worthIt.mock.gain < 0, `${worthIt.mock.gain}`);
    assert.ok(worthIt.barrier.gain >= 0, `${worthIt.barrier.gain}`);
    const sure = buckets.at(-1);
    assert.equal(sure?.from, 0.9);
    assert.ok(sure.gain.mock < 0 && sure.gain.barrier >= 0, JSON.stringify(sure));
  }));

Deno.test("Backtest: barrier earns about its charges, whatever the user bets on", () =>
  withSeed((random) => {
    const { everyBox } = reportOn(simulated(random));
    const mean = everyBox.barrier.gain / everyBox.barrier.bets;
    assert.ok(mean > 0 && mean < 0.3, `${mean}`);
  }));

Deno.test("Backtest: a box begins at its moment and knows nothing of what comes", () => {
  const rows = simulatedTape(seededRandom(1), { volatility: VOLATILITY, durationMs: 900_000 });
  const boxes = slideBoxes(slotPricesOf(rows), plan, seededRandom(2));
  const crash = rows.map((row, index) => index < rows.length - 10 ? row : { ...row, price: 1n });
  const crashed = slideBoxes(slotPricesOf(crash), plan, seededRandom(2));
  const last = boxes.at(-1)?.startMs;
  assert.deepEqual(
    crashed.filter(({ startMs }) => startMs !== last),
    boxes.filter(({ startMs }) => startMs !== last),
  );
  const probabilities = (all: TriedBox[]) => all.map(({ probability }) => probability);
  assert.deepEqual(probabilities(crashed), probabilities(boxes));
  assert.ok(crashed.filter(({ startMs }) => startMs === last).every(({ held }) => !held));
});

Deno.test("Backtest: says so where no box fits, and where there are too many", () => {
  const rows = simulatedTape(seededRandom(1), { volatility: VOLATILITY, durationMs: 60_000 });
  const prices = slotPricesOf(rows);
  assert.throws(() => slideBoxes(prices, plan, seededRandom(1)), BacktestError);
  const long = { ...prices, toMs: prices.fromMs + 1e12 };
  assert.throws(() => slideBoxes(long, plan, seededRandom(1)), /at most 2000000; raise the step/);
});

Deno.test("Backtest: each slot has the last trade before it", () => {
  const rows = [[50, 1n], [120, 2n], [180, 3n], [200, 4n], [560, 5n]] as const;
  const { ring, fromMs, toMs } = slotPricesOf(
    rows.map(([timeMs, price]) => ({ timeMs, side: "buy", price, amount: "1" })),
  );
  assert.deepEqual([fromMs, toMs], [100, 700]);
  const found = [100, 200, 300, 400, 500, 600].map((time) => ring.at(time));
  assert.deepEqual(found, [1n, 4n, 4n, 4n, 4n, 5n]);
});
