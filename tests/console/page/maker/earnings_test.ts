import assert from "node:assert/strict";
import { MARKETS, type Thesis } from "../../../../lib/client/mod.ts";
import { DAY_MS } from "../../../../lib/time.ts";
import {
  earnedText,
  earningsOf,
  profitHistory,
} from "../../../../services/console/page/maker/earnings.ts";
import { thesisOf } from "../../support.ts";

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

const [ALL] = earningsOf(THESES, [], 0);

Deno.test("earningsOf: the maker gains the stakes of lost bets, and pays the winnings of won bets", () => {
  const results = { stakes: 50n * USDC, profit: 40n * USDC - 15n * USDC };
  assert.deepEqual(ALL, { name: "All", settled: 2, held: 1, ...results });
});

const rowsOf = (...given: Parameters<typeof earningsOf>) =>
  earningsOf(...given).map(({ name, settled, held, profit }) => [
    ...[name, settled, held, Number(profit / USDC)],
  ]);

Deno.test("earningsOf: the results of all settled bets, of each market and of periods", () => {
  const theses = [
    betOf(1, "won"),
    betOf(2, "lost"),
    betOf(3, "lost", { base: SECOND.base, endTime: 400_000 }),
    betOf(4, "won"),
    betOf(5, "lost", { settledAt: 450_000, endTime: 900_000 }), // decided early
    betOf(6, "open", { endTime: 900_000 }),
    betOf(7, "lost", { settledAt: 100_000, endTime: 400_000 }), // before the period
  ];
  assert.deepEqual(rowsOf(theses, MARKETS, 500_000), [
    ["All", 6, 2, 20],
    [FIRST.symbol, 5, 2, 10],
    [SECOND.symbol, 1, 0, 10],
    [MARKETS[2]?.symbol, 0, 0, 0],
    ["Last 5 min", 2, 0, 20],
  ]);
});

Deno.test("earningsOf: periods that contain all bets are left out", () => {
  const nowMs = 40 * DAY_MS;
  const ended = [nowMs - 1, nowMs - 300_000, nowMs - DAY_MS + 1, nowMs - 7 * DAY_MS];
  const theses = ended.map((endTime, id) => betOf(id, "lost", { endTime }));
  const periodsOf = (theses: readonly Thesis[]) =>
    rowsOf(theses, [], nowMs).slice(1).map(([name, settled]) => [name, settled]);
  assert.deepEqual(periodsOf(theses), [
    ["Last 5 min", 1],
    ["Last 1 h", 2],
    ["Last 24 h", 3],
    ["Last 7 days", 3],
  ]);
  assert.deepEqual(periodsOf(theses.slice(0, 1)), []);
});

Deno.test("profitHistory: adds up profit in order of settlement, or of end without one, then of id", () => {
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

Deno.test("earnedText: what the settled bets brought, and its share of the stakes", () => {
  const textOf = (profit: bigint) => earnedText({ ...ALL, profit }).replaceAll("\u00a0", " ");
  assert.equal(
    textOf(25n * USDC),
    "You earned 25.00 USDC on 2 bets, 50 % of the 50.00 that was bet.",
  );
  assert.match(textOf(-20n * USDC), /^You lost 20\.00 USDC on 2 bets, 40 %/);
  assert.match(textOf(-118_811_000n), /^You lost 118\.82 USDC/, "as in the table");
});
