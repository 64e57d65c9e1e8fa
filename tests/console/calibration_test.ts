/** Forecasts against outcomes, as the maker sees them. */
import assert from "node:assert/strict";
import { seededRandom } from "../../lib/random.ts";
import {
  judge,
  notableOf,
  picturesOf,
  verdictOf,
} from "../../services/console/page/maker/calibration.ts";
import { thesisOf } from "./offers.ts";

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

Deno.test("picturesOf: the bets by quoted probability, lowest first, then each horizon of each market", () => {
  const markets = [{
    symbol: "A/B",
    horizons: [horizon(60_000, 20), horizon(240_000, 19), { ...horizon(9, 99), boxes: [] }],
  }];
  const [bets, ...others] = picturesOf(BETS, markets);
  assert.deepEqual([bets?.of, bets?.count], ["Your bets", 6]);
  const rounded = bets?.forecasts.map(({ predicted, held, error }) =>
    [predicted, held, error].map((value) => Number(value.toFixed(3)))
  );
  assert.deepEqual(rounded, [[0.05, 0, 0.154], [0.65, 0.75, 0.238]]);
  assert.deepEqual(bets?.forecasts.map(({ count }) => count), [2, 4]);
  assert.equal(others[0]?.forecasts[0]?.count, 20);
  assert.deepEqual(others.map(({ of, horizonMs, count }) => [of, horizonMs, count]), [
    ["A/B", 60_000, 20],
  ]);
  assert.deepEqual(picturesOf([], []), []);
  const [sure] = picturesOf([betOf(1, 1, "won"), betOf(2, 0.9, "won")], []);
  assert.equal(sure?.forecasts.length, 1, "1 belongs to the highest range");
});

Deno.test("notableOf: the bets, the longest windows of each market, and any that are off", () => {
  const pictures = picturesOf(BETS, [
    { symbol: "A", horizons: [horizon(1, 20), horizon(4, 20, 0.9), horizon(15, 20)] },
    { symbol: "B", horizons: [horizon(1, 20), horizon(4, 20)] },
  ]);
  assert.deepEqual(notableOf(pictures).map(({ of, horizonMs }) => [of, horizonMs]), [
    ["Your bets", undefined],
    ["A", 4],
    ["A", 15],
    ["B", 4],
  ]);
});

const verdictAt = (held: number, { count = 20, error = 0.05 } = {}) =>
  judge({ predicted: 0.5, held, error, count });

Deno.test("judge: a forecast is off if it differs by more than four errors plus 3 %", () => {
  assert.deepEqual([0.26, 0.28, 0.72, 0.74].map((held) => verdictAt(held).verdict), [
    ...["off", "fits", "fits", "off"],
  ]);
  const ends = ({ low, high }: { low: number; high: number }) =>
    [low, high].map((share) => Number(share.toFixed(2)));
  assert.deepEqual(ends(verdictAt(0.6)), [0.37, 0.83]);
  assert.deepEqual(ends(verdictAt(1, { error: 1 })), [0, 1]);
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
      return judge({ predicted: 0.5, held, error, count }).verdict === "off";
    }).includes(true);
    alarms += Number(isAlarm);
  }
  assert(alarms / rounds < 0.01);
});

Deno.test("verdictOf: reports how many forecasts differ by more than chance", () => {
  const picture = (count: number, ...held: number[]) => ({
    ...{ of: "A/B", count },
    forecasts: held.map((held) => verdictAt(held, { count })),
  });
  assert.match(verdictOf([]), /^Too early to tell/);
  assert.equal(verdictOf([picture(20, 0.4), picture(20, 0.6)]), "Chance explains all differences.");
  assert.match(verdictOf([picture(20, 0.4, 0.9)]), /^1 of 2 differs by more than chance\./);
  assert.match(verdictOf([picture(20, 0.1, 0.9)]), /^2 of 2 differ by/);
  assert.match(verdictOf([picture(19, 0, 1)]), /^Too early to tell/);
  assert.equal(verdictOf([picture(20, 0.4), picture(19, 1)]), "Chance explains all differences.");
  const windows = [60_000, 240_000].map((horizonMs, index) => ({
    ...picture(20 - index, 0.5),
    horizonMs,
  }));
  assert.match(verdictOf(windows), /\. Windows of up to 1 min were compared\.$/);
});
