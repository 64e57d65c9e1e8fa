/** Forecasts against outcomes, as the maker sees them. */
import assert from "node:assert/strict";
import { seededRandom } from "../../lib/random.ts";
import {
  deviationOf,
  forecastsOf,
  judge,
  judgeBets,
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

const BETS = [
  ...[0.61, 0.65, 0.69].map((probability, id) => betOf(id, probability, "won")),
  betOf(3, 0.65, "lost"),
  ...[0.04, 0.06].map((probability, id) => betOf(4 + id, probability, "lost")),
];

const horizon = (horizonMs: number, windows: number, held = 0.6) => ({
  ...{ horizonMs, windows },
  boxes: [{ predicted: 0.5, held, error: 0.05 }],
});

Deno.test("forecastsOf: the bets by quoted probability, lowest first, then each horizon of each market; but first those that are off, and last those with few bets", () => {
  const markets = [
    { symbol: "A/B", horizons: [horizon(60_000, 20), horizon(240_000, 19), horizon(900_000, 20)] },
    { symbol: "C", horizons: [horizon(60_000, 20, 0.9)] },
  ];
  const rounded = forecastsOf(BETS, markets).map((
    { of, predicted, held, count },
  ) => [of, ...[predicted, held, count].map((value) => Number(value.toFixed(3)))]);
  assert.deepEqual(rounded, [
    ["C, 1 min", 0.5, 0.9, 20],
    ["A/B, 1 min", 0.5, 0.6, 20],
    ["A/B, 15 min", 0.5, 0.6, 20],
    ["Your bets", 0.05, 0, 2],
    ["Your bets", 0.65, 0.75, 4],
  ]);
  assert.deepEqual(forecastsOf([], []), []);
  const sure = forecastsOf([betOf(1, 1, "won"), betOf(2, 0.9, "won")], []);
  assert.equal(sure.length, 1, "1 belongs to the highest range");
});

const verdictAt = (held: number, { count = 20, error = 0.05 } = {}) =>
  judge({ of: "A/B", predicted: 0.5, held, error, count });

Deno.test("judge: a forecast is off if it differs by more than four errors plus 3 %", () => {
  assert.deepEqual([0.26, 0.28, 0.72, 0.74].map((held) => verdictAt(held).verdict), [
    ...["off", "fits", "fits", "off"],
  ]);
  assert.equal(verdictAt(0.6).hidden.toFixed(2), "0.23");
  assert.match(RULE, /more than 4 standard errors and 3 points/);
});

Deno.test("judge: fewer than 20 bets give no verdict, whatever the difference", () => {
  const verdicts = [2, 19, 20].map((count) => verdictAt(0, { count, error: 0.01 }).verdict);
  assert.deepEqual(verdicts, ["few", "few", "off"]);
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
      return judge({ of: "A/B", predicted: 0.5, held, error, count }).verdict === "off";
    }).includes(true);
    alarms += Number(isAlarm);
  }
  assert(alarms / rounds < 0.01);
});

Deno.test("verdictOf: reports how many forecasts differ by more than chance", () => {
  const textOf = (count: number, ...held: number[]) =>
    verdictOf(held.map((share) => verdictAt(share, { count })));
  assert.match(textOf(20), /^Too early to tell/);
  const none = "No difference shows; a mispricing under 23 points would not show yet.";
  assert.equal(textOf(20, 0.4, 0.6), none);
  assert.match(textOf(20, 0.4, 0.9), /^▲ 1 of 2 differs by more than chance:/);
  assert.match(textOf(20, 0.1, 0.9), /^▲ 2 of 2 differ by/);
  assert.match(textOf(19, 0, 1), /^Too early to tell/);
  const mixed = [verdictAt(0.4), verdictAt(1, { count: 19 })];
  assert.equal(verdictOf(mixed), none);
});

Deno.test("judgeBets: judges shares of the bets, or of their payouts, by the same rule as forecasts", () => {
  const bets = Array.from({ length: 20 }, (_, id) => {
    const { thesis, probability } = betOf(id, 0.5, id < 10 ? "won" : "lost");
    const [startTime, payout] = [2_000 * id, (id < 10 ? 30n : 10n) * USDC];
    return { thesis: { ...thesis, startTime, endTime: startTime + 1_000, payout }, probability };
  });
  const [counted, paid] = [judgeBets("", bets), judgeBets("", bets, payoutOf)];
  assert.deepEqual([counted.held, paid.held, paid.predicted], [0.5, 0.75, 0.5]);
  assert.equal(counted.hidden.toFixed(3), (4 * 0.5 / Math.sqrt(20) + 0.03).toFixed(3));
  assert.equal(
    paid.hidden.toFixed(3),
    (4 * 0.5 * Math.sqrt(10 * 900 + 10 * 100) / 400 + 0.03).toFixed(3),
  );
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
