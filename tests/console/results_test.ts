import assert from "node:assert/strict";
import { type Address, MARKETS, type Thesis } from "../../lib/client/mod.ts";
import { DAY_MS } from "../../lib/time.ts";
import { gainOf, resultsOf } from "../../services/console/page/data/results.ts";
import {
  chanceOf,
  chanceText,
  comparableBets,
  earnedText,
  type Earnings,
  earningsOf,
  expectedOfOpen,
  leftOutText,
  type PredictedBet,
  profitHistory,
} from "../../services/console/page/maker/earnings.ts";
import { OTHER, thesisOf, USER } from "./offers.ts";

const [FIRST = assert.fail(), SECOND = assert.fail()] = MARKETS;

const USDC = 1_000_000n;

/** A bet of 10 USDC that pays 20. */
const betOf = (id: number, status: Thesis["status"], more: Partial<Thesis> = {}): Thesis =>
  thesisOf(id, {
    ...{ status, base: FIRST.base, quote: FIRST.quote },
    ...{ betAmount: 10n * USDC, payout: 20n * USDC },
    ...more,
  });

const THESES = [
  betOf(1, "won", { settledAt: 3_000, payout: 25n * USDC }),
  betOf(2, "lost", { settledAt: 2_000, betAmount: 40n * USDC, payout: 50n * USDC }),
  betOf(3, "open", { payout: 25n * USDC }),
  betOf(4, "needs_backfill", { base: SECOND.base, payout: 30n * USDC }),
];

Deno.test("Results: the maker gains the stakes of lost bets, and pays the winnings of won bets", () => {
  assert.deepEqual(resultsOf(THESES), {
    ...{ open: 2, atRisk: 35n * USDC, settled: 2, held: 1 },
    ...{ profit: 40n * USDC - 15n * USDC, turnover: 50n * USDC },
  });
  assert.equal(gainOf(betOf(1, "needs_backfill")), 0n);
});

/** Probabilities of bets by their ids. */
const known = (probabilities: Record<number, number>) =>
  new Map(
    Object.entries(probabilities).map(([id, value]) => [thesisOf(Number(id)).quoteHash, value]),
  );

Deno.test("earningsOf: each row has what its bets brought and, of the same bets, what they should have", () => {
  const theses = [
    betOf(1, "won"),
    betOf(2, "lost"),
    betOf(3, "lost", { base: SECOND.base, endTime: 400_000 }),
  ];
  const rows = earningsOf(theses, MARKETS, known({ 1: 0.25, 2: 0.25, 3: 0.45 }), 500_000);
  const shown = rows.map(({ name, settled, profit, expected }) =>
    [name, settled, Number(profit / USDC), expected] as const
  );
  assert.deepEqual(shown, [
    ["All", 3, 10, 5 + 5 + 1],
    [FIRST.symbol, 2, 0, 5 + 5],
    [SECOND.symbol, 1, 10, 1],
    [MARKETS[2]?.symbol, 0, 0, undefined],
    ["Last 5 min", 1, 10, 1],
  ]);
  const [all] = earningsOf(theses, MARKETS, new Map(), 500_000);
  assert.deepEqual([all?.profit, all?.expected], [10n * USDC, undefined], "like mock pricing");
  const [one] = earningsOf(theses.slice(0, 1), [], known({ 1: 0.25 }), 500_000);
  assert.deepEqual(one?.byChance, [-10, 10], "no more than the bet can lose or bring");
});

Deno.test("earningsOf: a period has the bets whose window ended in it; periods that contain all are left out", () => {
  const nowMs = 40 * DAY_MS;
  const ended = [nowMs - 1, nowMs - 300_000, nowMs - DAY_MS + 1, nowMs - 7 * DAY_MS];
  const theses = ended.map((endTime, id) => betOf(id, "lost", { endTime }));
  const periodsOf = (theses: readonly Thesis[]) =>
    earningsOf(theses, [], new Map(), nowMs).slice(1).map(({ name, settled }) => [name, settled]);
  assert.deepEqual(periodsOf(theses), [
    ["Last 5 min", 1],
    ["Last hour", 2],
    ["Last 24 h", 3],
    ["Last 7 days", 3],
  ]);
  assert.deepEqual(periodsOf(theses.slice(0, 1)), []);
});

Deno.test("comparableBets: decided bets whose window is over and whose probability is known, unless that of none is", () => {
  const early = betOf(1, "lost", { endTime: 1_001 });
  const over = betOf(2, "won", { endTime: 1_000 });
  const unknown = betOf(3, "lost", { endTime: 1_000 });
  const open = betOf(4, "open", { endTime: 1_000 });
  const idsAt = (timeMs: number, probabilities = known({ 1: 0.5, 2: 0.5, 4: 0.5 })) =>
    comparableBets([early, over, unknown, open], probabilities, timeMs).map(({ id }) => id);
  assert.deepEqual([1_000, 1_001].map((timeMs) => idsAt(timeMs)), [[2], [1, 2]]);
  assert.deepEqual(idsAt(1_000, known({})), [2, 3]);
});

Deno.test("profitHistory: profit is added up in the order of decisions, at the same time by id; without a settlement time, by the end", () => {
  const points = profitHistory([
    betOf(4, "lost", { settledAt: 8 }),
    ...[3, 2].map((id) => betOf(id, id === 3 ? "lost" : "won", { endTime: 9 })),
  ]);
  assert.deepEqual(points, [
    { timeMs: 8, profit: 10n * USDC },
    { timeMs: 9, profit: 0n },
    { timeMs: 9, profit: 10n * USDC },
  ]);
});

Deno.test("expectedOfOpen: sums stakes less expected payouts of open bets, if all probabilities are known", () => {
  const [open, other, lost] = [betOf(1, "open"), betOf(2, "open"), betOf(3, "lost")];
  assert.equal(expectedOfOpen([open, lost], known({ 1: 0.25 })), 5);
  assert.equal(expectedOfOpen([open, other], known({ 1: 0.25 })), undefined);
  assert.equal(expectedOfOpen([], known({ 1: 0.25 })), undefined);
});

Deno.test("chanceOf: adds up variances, and deviations of windows of one market as far as they overlap", () => {
  const at = (id: number, startTime: number, endTime: number, base: Address = OTHER) => ({
    thesis: betOf(id, "lost", { startTime, endTime, base }),
    probability: 0.5,
  });
  const [one, later] = [at(1, 50, 150), at(2, 200, 300)];
  const chance = (...bets: PredictedBet[]) => Math.round(chanceOf(bets));
  const two = Math.round(20 * Math.SQRT2);
  assert.equal(chance(), 0);
  assert.equal(chance(one), 20);
  assert.equal(chance(later, one), two);
  assert.equal(chance(one, at(3, 50, 150)), 40, "the same window");
  const half = Math.round(20 * Math.sqrt(3));
  assert.equal(chance(one, at(3, 100, 200)), half);
  assert.equal(chance(one, at(3, 100, 150)), half, "half of the longer one");
  assert.equal(chance(one, at(3, 50, 150, USER)), two, "another market");
});

Deno.test("chanceText: the range around the expected profit, marked if the profit is outside; none below 20 bets or without probabilities", () => {
  const row = { settled: 20, byChance: [-7, 13] as const };
  const textOf = (profitUsdc: number, more: Partial<Earnings> = {}) =>
    chanceText({ ...row, profit: BigInt(Math.round(100 * profitUsdc)) * USDC / 100n, ...more });
  const range = "−7.00 to +13.00";
  assert.deepEqual([-7.01, -7, 13, 13.01].map((profit) => textOf(profit)), [
    ...[`▲ ${range}`, range, range, `▲ ${range}`],
  ]);
  assert.equal(textOf(99, { settled: 19 }), undefined);
  assert.equal(textOf(99, { byChance: undefined }), undefined);
});

Deno.test("earnedText: profit and expectation, and whether chance explains the difference", () => {
  const row = { name: "All", open: 0, atRisk: 0n, settled: 20, held: 9, turnover: 200n * USDC };
  const textOf = (profitUsdc: bigint, more: Partial<Earnings> = {}) =>
    earnedText({ ...row, profit: profitUsdc * USDC, expected: 3, byChance: [-7, 13], ...more });
  assert.equal(
    textOf(-5n),
    "−5.00 USDC on 20 bets, +3.00 expected: chance explains the difference.",
  );
  assert.match(textOf(-9n), /expected: ▲ a difference that chance does not explain\.$/);
  assert.match(textOf(5n, { settled: 19 }), /expected: chance is compared from 20 bets on\.$/);
  assert.equal(textOf(5n, { settled: 1, expected: undefined }), "+5.00 USDC on 1 bet.");
});

Deno.test("leftOutText: counts the decided bets that are not compared, by reason", () => {
  const early = [1, 2].map((id) => betOf(id, "lost", { endTime: 1_001 }));
  const [unknown, known, open] = [betOf(3, "won"), betOf(4, "won"), betOf(5, "open")];
  const textOf = (...theses: Thesis[]) => leftOutText(theses, [known], 1_000);
  assert.equal(
    textOf(...early, { ...unknown, endTime: 1_000 }, known, open),
    "Not counted: +10.00 USDC on decided bets, 2 whose window is not over and 1 whose probability " +
      "is unknown.",
  );
  assert.match(textOf(...early) ?? "", /decided bets, 2 whose window is not over\.$/);
  assert.equal(textOf(known, open), undefined);
});
