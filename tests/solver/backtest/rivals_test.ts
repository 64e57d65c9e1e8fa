import assert from "node:assert/strict";
import { gaussian, seededRandom } from "../../../lib/random.ts";
import { candleVariance } from "../../../services/solver/backtest/rivals/har.ts";
import { LogitCalibration } from "../../../services/solver/backtest/rivals/logit_calibration.ts";
import { BaseRate, TerminalOnly } from "../../../services/solver/backtest/rivals/simple.ts";
import { SimplexRegression } from "../../../services/solver/backtest/rivals/simplex_regression.ts";
import type { Candle } from "../../../services/solver/pricing/candle.ts";

Deno.test("Simplex regression: finds weights of at least 0 that add up to 1", () => {
  const random = seededRandom(1);
  const regression = new SimplexRegression(3);
  for (let row = 0; row < 2_000; row++) {
    const features = [0, 1, 2].map(() => -20 + gaussian(random));
    const target = 0.7 * features[0]! + 0.3 * features[2]! + 0.05 * gaussian(random);
    regression.add(features, target);
  }
  const weights = regression.solve() ?? [];
  [0.7, 0, 0.3].forEach((expected, index) =>
    assert.ok(Math.abs(weights[index]! - expected) < 0.02, `${weights}`)
  );
});

Deno.test("Simplex regression: features that hardly differ leave finite weights that add up to 1", () => {
  const regression = new SimplexRegression(3);
  regression.add([1, 1 + 1e-9, 1 - 1e-9], 9);
  const weights = regression.solve() ?? [];
  const sum = weights.reduce((total, weight) => total + weight, 0);
  assert.ok(Math.abs(sum - 1) < 1e-12, `${weights}`);
});

Deno.test("Logit calibration: corrects probabilities that are too extreme", () => {
  const random = seededRandom(1);
  const calibration = new LogitCalibration();
  for (let box = 0; box < 20_000; box++) {
    const logit = 4 * (random() - 0.5);
    calibration.add(1 / (1 + Math.exp(-2 * logit)), random() < 1 / (1 + Math.exp(-logit)));
  }
  const right = 1 / (1 + Math.exp(-1));
  const said = 1 / (1 + Math.exp(-2));
  assert.ok(Math.abs(calibration.apply(said) - right) < 0.03);
  assert.equal(new LogitCalibration().apply(0.3).toFixed(9), "0.300000000");
});

/** A candle by the logarithms of its prices. */
function candleOf(open: number, high: number, low: number, close: number): Candle {
  const [o, h, l, c] = [open, high, low, close].map(Math.exp) as [number, number, number, number];
  return { timeMs: 0, durationMs: 60_000, open: o, high: h, low: l, close: c };
}

const cases: readonly [name: string, candle: Candle, closeBefore: number | undefined, n: number][] =
  [
    ["a still price", candleOf(1, 1, 1, 1), undefined, 0],
    ["a range that comes back", candleOf(1, 1.03, 1, 1), undefined, 0.5 * 0.03 ** 2],
    [
      "a range and a body",
      candleOf(1, 1.03, 0.99, 1.02),
      undefined,
      0.5 * 0.04 ** 2 - (2 * Math.LN2 - 1) * 0.02 ** 2,
    ],
    ["a gap up", candleOf(1, 1, 1, 1), Math.exp(0.98), 0.02 ** 2],
    ["a range after a gap down", candleOf(1, 1.03, 1, 1), Math.exp(1.01), 0.5 * 9e-4 + 1e-4],
  ];

for (const [name, candle, closeBefore, variance] of cases) {
  Deno.test(`HAR: the variance of a candle with ${name}`, () => {
    const found = candleVariance(candle, closeBefore);
    assert.ok(Math.abs(found - variance) < 1e-12, `${found} is not ${variance}`);
  });
}

Deno.test("Base rate: the share of boxes of the same kind that were won so far", () => {
  const rate = new BaseRate(0.03);
  const kind = { durationMs: 5_000, width: 1 };
  const box = { lower: 1, upper: 2, startMs: 0, endMs: 5_000 };
  assert.equal(rate.offer(box, kind, 0)?.probability, 0.5);
  for (const held of [true, true, false]) rate.settle(kind, undefined, held);
  assert.equal(rate.probability(box, kind), 3 / 5);
  assert.equal(rate.probability(box, { ...kind, width: 2 }), 0.5);
});

Deno.test("Terminal only: the price ends inside a box of one deviation with over 50 %", () => {
  const model = new TerminalOnly(0.03);
  for (let slot = 0; slot < 1_000; slot++) {
    model.observe({ timeMs: slot * 100, price: 1_000_000_000 + (slot % 7) * 1_000 });
  }
  const box = { lower: 999_000_000, upper: 1_001_000_000, startMs: 100_000, endMs: 160_000 };
  const probability = model.probability(box, { durationMs: 60_000, width: 1 }, 100_000);
  assert.ok(probability !== undefined && probability > 0.5 && probability <= 1);
});
