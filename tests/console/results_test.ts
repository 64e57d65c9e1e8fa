import assert from "node:assert/strict";
import { MARKETS, type Thesis } from "../../lib/client/mod.ts";
import {
  gainOf,
  historyOf,
  labelIndices,
  resultsByMarket,
  resultsByPeriod,
  resultsOf,
} from "../../services/console/page/data/results.ts";
import { DAY_MS } from "../../lib/time.ts";

const USER = "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A";
const SOLVER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const HASH = `0x${"ab".repeat(32)}` as const;

const [FIRST = assert.fail(), SECOND = assert.fail()] = MARKETS;

const thesisOf = (id: number, status: Thesis["status"], more: Partial<Thesis> = {}): Thesis => ({
  id,
  status,
  user: USER,
  solver: SOLVER,
  thesisType: "box",
  base: FIRST.base,
  quote: FIRST.quote,
  lowerPrice: 1n,
  upperPrice: 2n,
  betAmount: 10n,
  payout: 25n,
  startTime: 0,
  endTime: 1_000,
  createdAt: 0,
  quoteHash: HASH,
  txHash: HASH,
  ...more,
});

const THESES = [
  thesisOf(1, "won", { settledAt: 3_000 }),
  thesisOf(2, "lost", { settledAt: 2_000, betAmount: 40n, payout: 50n }),
  thesisOf(3, "open"),
  thesisOf(4, "needs_backfill", { base: SECOND.base, payout: 30n }),
];

Deno.test("Results: the maker gains the stakes of lost bets, and pays the winnings of won bets", () => {
  assert.deepEqual(resultsOf(THESES), {
    open: 2,
    atRisk: 35n,
    settled: 2,
    held: 1,
    profit: 40n - 15n,
    turnover: 50n,
  });
  const [[, first], [, second]] = resultsByMarket(THESES, MARKETS) as [
    ReturnType<typeof resultsByMarket>[number],
    ReturnType<typeof resultsByMarket>[number],
  ];
  assert.deepEqual([first.atRisk, second.atRisk], [15n, 20n]);
});

Deno.test("Results: profit is added up in the order of settlement", () => {
  assert.deepEqual(historyOf(THESES), [
    { timeMs: 2_000, profit: 40n },
    { timeMs: 3_000, profit: 25n },
  ]);
});

Deno.test("Results: a period contains the bets decided in it, by a settlement or a breach", () => {
  const theses = [
    thesisOf(1, "won", { settledAt: 0 }),
    thesisOf(2, "lost", { settledAt: 40 * DAY_MS - 1 }),
    thesisOf(3, "open", { breach: { time: 40 * DAY_MS - 2, price: 3n } }),
    thesisOf(4, "open"),
    thesisOf(5, "lost", { settledAt: 39 * DAY_MS }),
  ];
  const rows = resultsByPeriod(theses, 40 * DAY_MS).map(([name, { settled }]) => [name, settled]);
  assert.deepEqual(rows, [
    ["Last 5 min", 2],
    ["Last hour", 2],
    ["Last 24 h", 2],
    ["Last 7 days", 3],
    ["Last 30 days", 3],
  ]);
  const young = resultsByPeriod(theses.slice(1, 3), 40 * DAY_MS);
  assert.deepEqual(young, [], "all were decided just now");
  const older = resultsByPeriod(theses.slice(1, 3), 40 * DAY_MS + 600_000);
  assert.deepEqual(older.map(([name]) => name), ["Last 5 min"]);
});

Deno.test("historyOf: bets settled at the same time are ordered by id; without a settlement time, by their end", () => {
  const theses = [thesisOf(3, "lost"), thesisOf(2, "won"), thesisOf(1, "needs_backfill")];
  const points = historyOf(theses.map((one) => ({ ...one, settledAt: undefined, endTime: 9 })));
  assert.deepEqual(points.map(({ timeMs, profit }) => [timeMs, profit]), [[9, -15n], [9, -5n]]);
  assert.equal(gainOf(thesisOf(1, "needs_backfill")), 0n);
});

Deno.test("labelIndices: the second label is far from the first, which begins at its point, and later ones less far", () => {
  for (let length = 1; length < 200; length++) {
    const [first, ...others] = labelIndices(length).map((index) => index / length);
    assert.equal(first, 0);
    const gaps = others.map((at, index) => at - (others[index - 1] ?? 0));
    assert.ok(gaps.every((gap, index) => gap >= (index === 0 ? 0.4 : 0.2)), `${length}: ${gaps}`);
  }
  assert.deepEqual(labelIndices(20), [0, 8, 14]);
});
