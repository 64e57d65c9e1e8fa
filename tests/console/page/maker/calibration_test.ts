/** Forecasts against outcomes, as the maker sees them. */
import assert from "node:assert/strict";
import { seededRandom } from "../../../../lib/random.ts";
import {
  forecastsOf,
  judge,
  RULE_TEXT,
  verdictOf,
} from "../../../../services/console/page/maker/calibration.ts";

const horizon = (horizonMs: number, windows: number, held = 0.6) => ({
  ...{ horizonMs, windows },
  boxes: [{ predicted: 0.5, held, error: 0.05 }],
});

Deno.test("forecastsOf: boxes of each market and horizon, wrong ones first, without those of few windows", () => {
  const markets = [
    { symbol: "A/B", horizons: [horizon(60_000, 20), horizon(240_000, 19), horizon(900_000, 20)] },
    { symbol: "C", horizons: [horizon(60_000, 20, 0.9)] },
  ];
  const found = forecastsOf(markets).map(({ label, predicted, held, count }) => [
    ...[label, predicted, held, count],
  ]);
  assert.deepEqual(found, [
    ["C, 1 min", 0.5, 0.9, 20],
    ["A/B, 1 min", 0.5, 0.6, 20],
    ["A/B, 15 min", 0.5, 0.6, 20],
  ]);
  assert.deepEqual(forecastsOf([]), []);
});

const boxes = { label: "A/B", predicted: 0.5, count: 20 };

/** One of thirty. */
const judged = (held: number, error = 0.05) => judge({ ...boxes, held, error }, 30);

Deno.test("judge: a forecast is off if Wilson's band misses it, in 1 % of cases over all forecasts", () => {
  assert.deepEqual([0.26, 0.31, 0.32, 0.68, 0.69, 0.74].map((held) => judged(held).isOff), [
    ...[true, true, false, false, true, true],
  ]);
  assert.match(RULE_TEXT, /all bars meet the dashed line in 99 % of cases/);
  const bandOf = (held: number, error: number, predicted = 0.5) => {
    const { low, high } = judge({ ...boxes, predicted, held, error }, 1);
    return [low, high].map((share) => Number(share.toFixed(3)));
  };
  const ofTwenty = Math.sqrt(0.25 / 20);
  assert.deepEqual(bandOf(0.5, ofTwenty), [0.232, 0.768]);
  assert.deepEqual(bandOf(0, ofTwenty), [0, 0.285]);
  assert.deepEqual(bandOf(1, Math.sqrt(0.09 / 20), 0.9), [0.715, 1]);
  assert.deepEqual(bandOf(1, 0, 1), [1, 1], "no chance at all");
});

for (const count of [20, 100]) {
  Deno.test(`judge: 30 correct forecasts of ${count} boxes together raise a false alarm in under 1 % of the rounds`, () => {
    const random = seededRandom(35);
    const [looks, rounds] = [30, 2_000];
    let alarms = 0;
    for (let round = 0; round < rounds; round++) {
      const isAlarm = Array.from({ length: looks }, (_, index) => {
        const predicted = [0.25, 0.5, 0.75][index % 3] ?? NaN;
        const error = Math.sqrt(predicted * (1 - predicted) / count);
        const held = Array.from({ length: count }, random).filter((at) => at < predicted).length;
        return judge({ ...boxes, predicted, held: held / count, error }, looks).isOff;
      }).includes(true);
      alarms += Number(isAlarm);
    }
    assert(alarms / rounds < 0.01, `${alarms} alarms`);
  });
}

Deno.test("verdictOf: reports how many forecasts differ by more than chance", () => {
  const textOf = (...held: number[]) => verdictOf(held.map((share) => judged(share)));
  assert.match(textOf(), /^Too early to tell/);
  assert.match(
    textOf(0.4, 0.9),
    /^▲ 1 of 2 bars misses the dashed line, which is more than chance:/,
  );
  assert.match(textOf(0.1, 0.9), /^▲ 2 of 2 bars miss the/);
  assert.equal(
    verdictOf([judged(0.4, 0.1), judged(0.6)]),
    "No bar misses the dashed line. Differences below 18 points do " +
      "not show yet.",
  );
});
