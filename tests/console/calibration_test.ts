/** Forecasts against outcomes, as the maker sees them. */
import assert from "node:assert/strict";
import { seededRandom } from "../../lib/random.ts";
import {
  deviationOf,
  forecastsOf,
  judge,
  payoutOf,
  type PredictedBet,
  RULE,
  verdictOf,
} from "../../services/console/page/maker/calibration.ts";
import { OTHER, thesisOf, USER } from "./offers.ts";

const USDC = 1_000_000n;

/** A decided bet of 10 USDC that pays 20, and its quoted probability. */
const betOf = (id: number, probability: number, status: "won" | "lost") => ({
  thesis: thesisOf(id, { status, betAmount: 10n * USDC, payout: 20n * USDC, startTime: id }),
  probability,
});

const horizon = (horizonMs: number, windows: number, held = 0.6) => ({
  ...{ horizonMs, windows },
  boxes: [{ predicted: 0.5, held, error: 0.05 }],
});

Deno.test("forecastsOf: the bets by quarters of probability, then each horizon of each market; first those that are off, and none of few", () => {
  const bets = [
    ...Array.from({ length: 20 }, (_, id) => betOf(id, 0.5 + id / 80, id < 15 ? "won" : "lost")),
    ...Array.from({ length: 20 }, (_, id) => betOf(id, id === 0 ? 1 : 0.75, "won")),
    ...Array.from({ length: 19 }, (_, id) => betOf(id, 0.1, "lost")),
  ];
  const markets = [
    { symbol: "A/B", horizons: [horizon(60_000, 20), horizon(240_000, 19), horizon(900_000, 20)] },
    { symbol: "C", horizons: [horizon(60_000, 20, 0.9)] },
  ];
  const rounded = forecastsOf(bets, markets).map((
    { of, predicted, held, count },
  ) => [of, ...[predicted, held, count].map((value) => Number(value.toFixed(3)))]);
  assert.deepEqual(rounded, [
    ["C, 1 min", 0.5, 0.9, 20],
    ["Your bets, 50–75 %", 0.619, 0.75, 20],
    ["Your bets, 75–100 %", 0.762, 1, 20],
    ["A/B, 1 min", 0.5, 0.6, 20],
    ["A/B, 15 min", 0.5, 0.6, 20],
  ]);
  assert.deepEqual(forecastsOf([], []), []);
});

const judged = (held: number, error = 0.05) =>
  judge({ of: "A/B", predicted: 0.5, held, error, count: 20 });

Deno.test("judge: a forecast is off if it differs by more than four errors plus 3 %", () => {
  assert.deepEqual([0.26, 0.28, 0.72, 0.74].map((held) => judged(held).isOff), [
    ...[true, false, false, true],
  ]);
  assert.equal(judged(0.6).hidden.toFixed(2), "0.23");
  assert.match(RULE, /more than 4 standard errors plus 3 points/);
});

Deno.test("judge: 30 correct forecasts together raise a false alarm in under 1 % of the rounds", () => {
  const random = seededRandom(35);
  const [looks, rounds, count] = [30, 2_000, 400];
  let alarms = 0;
  for (let round = 0; round < rounds; round++) {
    const isAlarm = Array.from({ length: looks }, () => {
      // A sum of twelve is normal enough, and has a variance of one.
      const error = 0.5 / Math.sqrt(count);
      const sum = Array.from({ length: 12 }, random).reduce((a, b) => a + b) - 6;
      // The added 3 % would hide the measured difference.
      const held = 0.5 + sum * error + Math.sign(sum) * 0.03;
      return judge({ of: "A/B", predicted: 0.5, held, error, count }).isOff;
    }).includes(true);
    alarms += Number(isAlarm);
  }
  assert(alarms / rounds < 0.01);
});

Deno.test("verdictOf: reports how many forecasts differ by more than chance", () => {
  const textOf = (...held: number[]) => verdictOf(held.map((share) => judged(share)));
  assert.match(textOf(), /^Too early to tell/);
  assert.match(textOf(0.4, 0.9), /^▲ 1 of 2 differs by more than chance:/);
  assert.match(textOf(0.1, 0.9), /^▲ 2 of 2 differ by/);
  assert.equal(
    verdictOf([judged(0.4, 0.1), judged(0.6)]),
    "No difference is beyond chance; below 23 points, none can be.",
  );
  const [more, less] = [0.6, 0.4].map((held) => verdictOf(Array(4).fill(judged(held, 0.1))));
  assert.match(`${more}`, / chance, but all rows held more often than predicted; /);
  assert.match(`${less}`, / chance, but all rows held less often than predicted; /);
});

Deno.test("deviationOf: adds up variances, and deviations of windows of one market as far as they overlap", () => {
  const at = (id: number, startTime: number, endTime: number, base: `0x${string}` = OTHER) => ({
    thesis: thesisOf(id, { startTime, endTime, base, payout: 20n * USDC }),
    probability: 0.5,
  });
  const [one, later] = [at(1, 50, 150), at(2, 200, 300)];
  const chance = (...bets: PredictedBet[]) => Math.round(deviationOf(bets, payoutOf));
  const two = Math.round(10 * Math.SQRT2);
  assert.equal(chance(), 0);
  assert.equal(chance(one), 10);
  assert.equal(chance(later, one), two);
  assert.equal(chance(one, at(3, 50, 150)), 20, "the same window");
  const half = Math.round(10 * Math.sqrt(3));
  assert.equal(chance(one, at(3, 100, 200)), half);
  assert.equal(chance(one, at(3, 100, 150)), half, "half of the longer one");
  assert.equal(chance(one, at(3, 50, 150, USER)), two, "another market");
});
