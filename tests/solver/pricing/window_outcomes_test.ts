import assert from "node:assert/strict";
import { gaussian, seededRandom } from "../../../lib/random.ts";
import { MINUTE_MS, YEAR_MS } from "../../../lib/time.ts";
import { noTouchAtChecks } from "../../../services/solver/pricing/box_probability.ts";
import type { LogDeviation } from "../../../services/solver/pricing/largest_move.ts";
import { forecastOf } from "../../../services/solver/pricing/volatility_forecast.ts";
import { WindowOutcomes } from "../../../services/solver/pricing/window_outcomes.ts";

const PRIOR: LogDeviation = { median: -0.43, lowerVariance: 0.1, upperVariance: 0.1 };
const CHECKS = 600;

function outcomesOf(minutes: number): WindowOutcomes {
  return new WindowOutcomes({ horizonMs: minutes * MINUTE_MS, prior: { deviation: PRIOR } });
}

interface Path {
  minutes: number;
  /** Deviation of a minute, drawn again at each window of `windowMinutes`. */
  deviation: () => number;
  windowMinutes: number;
  /** Mean moves of a minute: each check is one with the same chance. */
  steps?: number;
  /** How far highs and lows are beyond the path. */
  bounce?: number;
}

/** Feeds minutes of a path to windows whose base says that a minute moves by 1e-3. */
function feed(outcomes: WindowOutcomes, random: () => number, path: Path): void {
  const { steps = 200 } = path;
  const base = Math.log(1e-3 * Math.sqrt(outcomes.horizonMs / MINUTE_MS));
  let log = Math.log(100);
  let deviation = 0;
  for (let minute = 0; minute < path.minutes; minute++) {
    if (minute % path.windowMinutes === 0) deviation = path.deviation();
    if (minute % (outcomes.stepMs / MINUTE_MS) === 0) {
      const moves = steps * outcomes.horizonMs / MINUTE_MS;
      outcomes.begin({ nowMs: minute * MINUTE_MS, price: Math.exp(log), base, moves });
    }
    let [high, low] = [log, log];
    for (let check = 1; check < CHECKS; check++) {
      if (random() >= steps / CHECKS) continue;
      log += deviation * gaussian(random) / Math.sqrt(steps);
      high = Math.max(high, log);
      low = Math.min(low, log);
    }
    const { bounce = 0 } = path;
    const [top, bottom, close] = [high + bounce, low - bounce, log].map(Math.exp);
    outcomes.observe({
      endMs: (minute + 1) * MINUTE_MS,
      high: top!, // three values
      low: bottom!,
      close: close!,
    });
  }
}

Deno.test("WindowOutcomes: the deviation of the windows is learned, whatever the base forecast, and again after it changes", () => {
  const random = seededRandom(1);
  const outcomes = outcomesOf(4);
  for (const factor of [0.6, 1, 1.7]) {
    const deviation = () => 1e-3 * factor;
    outcomes.discardOpen(); // each path begins at minute 0
    feed(outcomes, random, { minutes: 12_000, deviation, windowMinutes: 1 });
    const learned = outcomes.deviation;
    const off = Math.abs(learned.median - Math.log(factor));
    assert.ok(off < 0.12, `${factor}: ${Math.exp(learned.median)}`);
    assert.ok(
      learned.lowerVariance < 0.06 && learned.upperVariance < 0.06,
      JSON.stringify(learned),
    );
  }
});

Deno.test("WindowOutcomes: boxes of few moves are won as often as priced", () => {
  const minute = { waitMs: 0, steps: CHECKS - 1 };
  for (const steps of [6, 30, 400]) {
    const outcomes = outcomesOf(1);
    const path = { minutes: 6_000, deviation: () => 1e-3, windowMinutes: 1, steps };
    feed(outcomes, seededRandom(1), path);
    const { median, lowerVariance, upperVariance } = outcomes.deviation;
    const unit = Math.sqrt(YEAR_MS / MINUTE_MS) * 1e-3;
    const { nodes } = forecastOf(
      Math.exp(median) * unit,
      Math.sqrt(lowerVariance),
      Math.sqrt(upperVariance),
    );
    for (const distance of [5e-4, 8e-4, 1.2e-3, 2e-3]) {
      const priceAt = (volatility: number) =>
        noTouchAtChecks({ ...minute, toLower: distance, toUpper: distance }, {
          volatility,
          stillShare: 1 - steps / CHECKS,
        });
      const price = nodes.reduce((sum, node) => sum + node.weight * priceAt(node.volatility), 0);
      const off = Math.abs(price - priceAt(unit));
      assert.ok(off < 0.015, `${steps} moves, ${distance}: ${price}, not ${priceAt(unit)}`);
    }
  }
});

Deno.test("WindowOutcomes: unseen changes of volatility make the deviation less certain", () => {
  const random = seededRandom(1);
  const outcomes = outcomesOf(4);
  const deviation = () => 1e-3 * Math.exp(0.6 * gaussian(random));
  feed(outcomes, random, { minutes: 16_000, deviation, windowMinutes: 4 });
  const learned = outcomes.deviation;
  for (const variance of [learned.lowerVariance, learned.upperVariance]) {
    assert.ok(variance > 0.15 && variance < 0.6, JSON.stringify(learned));
  }
});

Deno.test("WindowOutcomes: boxes forecast at 50 % are won half of the time", () => {
  const random = seededRandom(1);
  const outcomes = outcomesOf(4);
  feed(outcomes, random, { minutes: 16_000, deviation: () => 1.3e-3, windowMinutes: 1 });
  const { boxes, windows } = outcomes.calibration;
  assert.ok(windows > 900, `${windows}`);
  assert.deepEqual(boxes.map(({ predicted }) => predicted), [0.25, 0.5, 0.75]);
  for (const { predicted, held, error } of boxes) {
    // Each bound is a quantile of the windows before it, with their sampling error: on average over
    // all bounds its variance is twice that of the share itself.
    const chance = Math.sqrt(3 * predicted * (1 - predicted) / windows);
    assert.ok(Math.abs(held - predicted) < 3 * chance, `${held} held of ${predicted}`);
    assert.ok(error > 0.005 && error < 0.02, `${error}`);
  }
});

Deno.test("WindowOutcomes: bid-ask bounce lowers the learned ratio of window ends to window ranges", () => {
  const factorOf = (bounce: number) => {
    const outcomes = outcomesOf(4);
    feed(outcomes, seededRandom(1), {
      minutes: 16_000,
      deviation: () => 1e-3,
      windowMinutes: 1,
      bounce,
    });
    return outcomes.endToRangeRatio;
  };
  assert.equal(outcomesOf(1).endToRangeRatio, 1);
  const [plain, bouncing] = [factorOf(0), factorOf(3e-4)];
  assert.ok(Math.abs(plain - 1) < 0.03, `${plain}`);
  assert.ok(bouncing < plain - 0.05, `${bouncing}`);
});

Deno.test("WindowOutcomes: without windows the prior is used; a gap drops open windows", () => {
  const outcomes = outcomesOf(1);
  const { median, lowerVariance, upperVariance } = outcomes.deviation;
  assert.ok(Math.abs(median - PRIOR.median) < 0.05 && lowerVariance > 0 && upperVariance > 0);
  outcomes.begin({ nowMs: 0, price: 100, base: -7, moves: 600 });
  outcomes.discardOpen();
  outcomes.observe({ endMs: MINUTE_MS, high: 101, low: 99, close: 100 });
  assert.deepEqual(outcomes.calibration, { horizonMs: MINUTE_MS, windows: 0, boxes: [] });
});

Deno.test("WindowOutcomes: a still price and a jump stay within the histogram", () => {
  const outcomes = outcomesOf(1);
  for (const [minute, high] of [[0, 100], [1, 1e9]] as const) {
    outcomes.begin({ nowMs: minute * MINUTE_MS, price: 100, base: -7, moves: 600 });
    outcomes.observe({ endMs: (minute + 1) * MINUTE_MS, high, low: 100, close: 100 });
  }
  const { counts } = outcomes.toJSON();
  assert.ok(counts[0]! > 0.9 && counts.at(-1) === 1, JSON.stringify(counts));
});
