/** Forecasts against outcomes, and expected against actual earnings, as the maker sees them. */
import assert from "node:assert/strict";
import { seededRandom } from "../../lib/random.ts";
import { parseMetrics } from "../../services/console/page/data/metrics.ts";
import {
  bandOf,
  earningsOf,
  isOff,
  picturesOf,
  verdictOf,
} from "../../services/console/page/maker/calibration.ts";

const BETS = parseMetrics(`
solver_predicted_bets_total{predicted="0.6-0.7",outcome="held"} 3
solver_predicted_bets_total{predicted="0.6-0.7",outcome="left"} 1
solver_predicted_bets_total{predicted="0-0.1",outcome="left"} 2
solver_predicted_bets_total{predicted="0.9-1",outcome="left"} 0
solver_predicted_probability_sum{predicted="0.6-0.7"} 2.6
solver_predicted_probability_sum{predicted="0-0.1"} 0.1
solver_settled_usdc_total{part="stakes"} 60
solver_settled_usdc_total{part="expected"} 57
solver_settled_usdc_total{part="paid"} 80
`);

Deno.test("picturesOf: bets by the probability that was quoted, unlikely ones first, then markets", () => {
  const horizon = (windows: number) => ({
    horizonMs: 60_000,
    windows,
    boxes: [{ predicted: 0.5, held: 0.6, error: 0.1 }],
  });
  const markets = [
    { symbol: "A/B", horizons: [horizon(20), horizon(19), { ...horizon(99), boxes: [] }] },
  ];
  const [bets, ...others] = picturesOf(BETS, markets);
  assert.equal(bets?.size, "6 settled");
  const rounded = bets?.forecasts.map(({ predicted, held, error }) =>
    [predicted, held, error].map((value) => Number(value.toFixed(3)))
  );
  assert.deepEqual(rounded, [[0.05, 0, 0.154], [0.65, 0.75, 0.238]]);
  assert.deepEqual(bets?.forecasts.map(({ count }) => count), [2, 4]);
  assert.equal(others[0]?.forecasts[0]?.count, 20);
  assert.deepEqual(others.map(({ name, size }) => [name, size]), [
    ["A/B, 1 min", "20 windows"],
  ]);
  assert.deepEqual(picturesOf(parseMetrics(""), []), []);
});

Deno.test("isOff: beyond three errors and 3 %, where the bar misses the line", () => {
  const at = (held: number) => ({ predicted: 0.5, held, error: 0.05, count: 20 });
  assert.deepEqual([0.31, 0.33, 0.67, 0.69].map((held) => isOff(at(held), 1)), [
    true,
    false,
    false,
    true,
  ]);
  assert.deepEqual(bandOf(at(0.6), 1).map((share) => Number(share.toFixed(2))), [0.42, 0.78]);
  assert.deepEqual(bandOf({ ...at(1), error: 1 }, 1), [0, 1]);
});

Deno.test("isOff: fewer than 20 bets give no verdict, however far they are", () => {
  const far = (count: number) => ({ predicted: 0.84, held: 0, error: 0.01, count });
  assert.deepEqual([2, 19, 20].map((count) => isOff(far(count), 1)), [false, false, true]);
});

Deno.test("isOff: many forecasts without a fault raise an alarm about as seldom as one does", () => {
  const random = seededRandom(35);
  const [looks, rounds, count] = [30, 2_000, 400];
  const alarms = (bandFor: number) => {
    let alarms = 0;
    for (let round = 0; round < rounds; round++) {
      const isAlarm = Array.from({ length: looks }, () => {
        // A sum of twelve is normal enough, and has a variance of one.
        const error = 0.5 / Math.sqrt(count);
        const sum = Array.from({ length: 12 }, random).reduce((a, b) => a + b) - 6;
        // The 3 % on top would hide what is measured.
        const held = 0.5 + sum * error + Math.sign(sum) * 0.03;
        return isOff({ predicted: 0.5, held, error, count }, bandFor);
      }).includes(true);
      alarms += Number(isAlarm);
    }
    return alarms / rounds;
  };
  assert(alarms(1) > 0.03, "one in twenty rounds, if each is looked at alone");
  assert(alarms(looks) < 0.01);
});

Deno.test("verdictOf: names how many forecasts are off by more than chance, if any are", () => {
  const picture = (count: number, ...held: number[]) => ({
    name: "A/B",
    size: "",
    forecasts: held.map((held) => ({ predicted: 0.5, held, error: 0.05, count })),
  });
  assert.match(verdictOf([]), /^Too early to tell/);
  assert.equal(verdictOf([picture(20, 0.4), picture(20, 0.6)]), "Chance explains all differences.");
  assert.match(
    verdictOf([picture(20, 0.4, 0.9)]),
    /^1 of 2 differs by more than chance \(filled\)/,
  );
  assert.match(verdictOf([picture(20, 0.1, 0.9)]), /^2 of 2 differ by/);
  assert.match(verdictOf([picture(19, 0, 1)]), /^Too early to tell/);
  assert.equal(verdictOf([picture(20, 0.4), picture(19, 1)]), "Chance explains all differences.");
});

Deno.test("earningsOf: stakes less the expected payouts, and less those that were paid", () => {
  assert.deepEqual(earningsOf(BETS), { bets: 6, expected: 3, actual: -20, stakes: 60 });
  assert.equal(earningsOf(parseMetrics("")), undefined);
});
