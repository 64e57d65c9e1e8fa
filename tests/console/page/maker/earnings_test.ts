import assert from "node:assert/strict";
import { MARKETS, type Thesis } from "../../../../lib/client/mod.ts";
import { DAY_MS } from "../../../../lib/time.ts";
import {
  comparableBets,
  comparedText,
  earnedText,
  earningsOf,
  makerGainOf,
  profitHistory,
  resultsOf,
  resultsText,
} from "../../../../services/console/page/maker/earnings.ts";
import { toNumber } from "../../../../services/console/page/parts/format.ts";
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

Deno.test("resultsOf, makerGainOf: the maker gains the stakes of lost bets, and pays the winnings of won bets", () => {
  assert.deepEqual(resultsOf(THESES), {
    ...{ open: 2, atRisk: 35n * USDC, settled: 2, held: 1 },
    ...{ stakes: 50n * USDC, profit: 40n * USDC - 15n * USDC },
  });
  assert.equal(makerGainOf(betOf(1, "needs_backfill")), 0n);
});

/** Probabilities of bets by their ids. */
const known = (probabilities: Record<number, number>) =>
  new Map(
    Object.entries(probabilities).map(([id, value]) => [thesisOf(Number(id)).quoteHash, value]),
  );

Deno.test("earningsOf: the profit contains all settled bets, the comparison only those that can be compared", () => {
  const theses = [
    betOf(1, "won"),
    betOf(2, "lost"),
    betOf(3, "lost", { base: SECOND.base, endTime: 400_000 }),
    betOf(4, "won"), // its probability is unknown
    betOf(5, "lost", { endTime: 900_000 }), // decided early
    betOf(6, "open", { endTime: 900_000 }),
  ];
  const probabilities = known({ 1: 0.25, 2: 0.25, 3: 0.45, 5: 0.5 });
  const options = { markets: MARKETS, probabilities, nowMs: 500_000 };
  const shown = earningsOf(theses, options).map(({ name, settled, profit, compared }) => [
    ...[name, settled, Number(profit / USDC)],
    ...compared ? [compared.count, ...[compared.expected, compared.difference].map(toNumber)] : [],
  ]);
  assert.deepEqual(shown, [
    ["All", 5, 10, 3, 5 + 5 + 1, 10 - 11],
    [FIRST.symbol, 4, 0, 2, 5 + 5, 0 - 10],
    [SECOND.symbol, 1, 10, 1, 1, 10 - 1],
    [MARKETS[2]?.symbol, 0, 0],
    ["Last 5 min", 2, 20, 1, 1, 10 - 1],
  ]);
  const [all] = earningsOf(theses, { ...options, probabilities: new Map() });
  assert.deepEqual([all?.profit, all?.compared], [10n * USDC, undefined], "like mock pricing");
});

Deno.test("earningsOf: a period has the bets decided in it, and compares those whose windows ended in it", () => {
  const nowMs = DAY_MS;
  const theses = [
    betOf(1, "lost", { settledAt: nowMs - 400_000, endTime: nowMs + 400_000 }),
    betOf(2, "lost", { settledAt: nowMs - 400_000, endTime: nowMs - 100_000 }),
    betOf(3, "won", { settledAt: nowMs - 100_000, endTime: nowMs - 100_000 }),
    betOf(4, "lost", { settledAt: nowMs - 100_000, endTime: nowMs + 100_000 }),
  ];
  const probabilities = known({ 1: 0.5, 2: 0.5, 3: 0.5, 4: 0.5 });
  const rows = earningsOf(theses, { markets: [], probabilities, nowMs });
  const last = rows.find(({ name }) => name === "Last 5 min") ?? assert.fail();
  assert.deepEqual([last.settled, last.profit, last.compared?.count], [2, 0n, 2]);
});

Deno.test("earningsOf: periods that contain all bets are left out", () => {
  const nowMs = 40 * DAY_MS;
  const ended = [nowMs - 1, nowMs - 300_000, nowMs - DAY_MS + 1, nowMs - 7 * DAY_MS];
  const theses = ended.map((endTime, id) => betOf(id, "lost", { endTime }));
  const periodsOf = (theses: readonly Thesis[]) =>
    earningsOf(theses, { markets: [], probabilities: new Map(), nowMs }).slice(1)
      .map(({ name, settled }) => [name, settled]);
  assert.deepEqual(periodsOf(theses), [
    ["Last 5 min", 1],
    ["Last 1 h", 2],
    ["Last 24 h", 3],
    ["Last 7 days", 3],
  ]);
  assert.deepEqual(periodsOf(theses.slice(0, 1)), []);
});

Deno.test("earningsOf: a row for the bets placed since the solver's start", () => {
  const theses = [10, 20, 20].map((createdAt, id) =>
    betOf(id, id === 2 ? "lost" : "won", { createdAt, payout: 40n * USDC })
  );
  const options = { markets: [], probabilities: new Map(), startedAtMs: 20, nowMs: 2_000 };
  const rows = earningsOf(theses, options).map(({ name, profit }) => [name, Number(profit / USDC)]);
  assert.deepEqual(rows, [["All", -50], ["Placed since start", -20]]);
});

Deno.test("comparableBets: decided bets whose window is over and whose probability is known", () => {
  const early = betOf(1, "lost", { endTime: 1_001 });
  const over = betOf(2, "won", { endTime: 1_000 });
  const unknown = betOf(3, "lost", { endTime: 1_000 });
  const open = betOf(4, "open", { endTime: 1_000 });
  const idsAt = (timeMs: number) =>
    comparableBets([early, over, unknown, open], known({ 1: 0.5, 2: 0.5, 4: 0.5 }), timeMs)
      .map(({ thesis }) => thesis.id);
  assert.deepEqual([1_000, 1_001].map(idsAt), [[2], [1, 2]]);
});

Deno.test("profitHistory: adds up profit in order of settlement time, or of end without one; ties in order of id", () => {
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

/** Bets at other times, so that each is a case of its own, of which the first are won. */
const comparedBets = (
  won: number,
  count = 40,
  moreOf: (id: number) => Partial<Thesis> = () => ({}),
) => {
  const theses = Array.from({ length: count }, (_, id) => {
    const startTime = 2_000 * id;
    const status = id < won ? "won" : "lost";
    return betOf(id, status, { startTime, endTime: startTime + 1_000, ...moreOf(id) });
  });
  const probabilities = known(Object.fromEntries(theses.map(({ id }) => [id, 0.5])));
  return earningsOf(theses, { markets: [], probabilities, nowMs: 100_000 })[0] ?? assert.fail();
};

Deno.test("comparedText: has the profit, the expected one, their difference in standard errors, and the verdict", () => {
  // Each bet deviates by 10 USDC, so one standard error is 10 √40 = 63.2 USDC.
  assert.equal(
    comparedText(comparedBets(18)),
    "40 bets whose window is over brought +40.00 USDC, where 0.00 was expected. That is 0.6 standard errors above " +
      "expected. That may be chance.",
  );
  const texts: [bets: Parameters<typeof comparedBets>, text: RegExp][] = [
    [[28], / is 2\.5 standard errors below .* Chance alone rarely does that\.$/],
    [[35], / 4\.7 .* ▲ More than chance: users win more than they pay for\.$/],
    [[5], / 4\.7 .* ▲ More than chance: users are paid too little\.$/],
    [[1, 19], /^19 bets whose .* A verdict needs 20 bets\.$/],
    [[1, 40, () => ({ endTime: 100_001 })], /^None can be compared:/],
  ];
  for (const [bets, text] of texts) assert.match(comparedText(comparedBets(...bets)), text);
});

Deno.test("earnedText: what the settled bets brought, and how much of it on windows that run", () => {
  const early = comparedBets(1, 4, (id) => ({ endTime: 100_000 + id }));
  const texts = [
    [comparedBets(18), /^You earned 40\.00 USDC on 40 bets, 10\s% of the 400\.00 that was bet\.$/],
    [comparedBets(28), /^You lost 160\.00 USDC on 40 bets, 40/],
    [{ ...comparedBets(28), profit: -118_811_000n }, /^You lost 118\.82 USDC/], // as in the table
    [early, /^You earned 20\.00 .* That includes \+30\.00 on bets whose window is still running/],
  ] as const;
  for (const [earnings, text] of texts) assert.match(earnedText(earnings), text);
});

Deno.test("resultsText: what can be compared is first while other windows run; rows that are off are named", () => {
  const parts = [betOf(1, "lost", { endTime: 9_000 }), betOf(2, "lost", { endTime: 500_000 })];
  const options = { markets: [], probabilities: known({ 1: 0.5 }), nowMs: 10_000 };
  const [partly = assert.fail()] = earningsOf(parts, options);
  assert.match(resultsText([partly]), /^1 bet whose .* brought \+10\.00 .* You earned 20\.00 /);
  const [fits, off] = [comparedBets(18), { ...comparedBets(35), name: "Last 1 h" }];
  assert.match(resultsText([fits]), /^You earned 40\.00 .* 40 bets whose window is over /);
  assert.match(resultsText([fits, fits, off]), / chance\. ▲ More than chance in: Last 1 h\.$/);
});

Deno.test("comparedText: gives no verdict if five bets decide the result", () => {
  const textAt = (payout: bigint) =>
    comparedText(comparedBets(0, 40, (id) => id < 5 ? { payout: payout * USDC } : {}));
  assert.match(textAt(52n), /▲ More than chance/); // 5 × 26² < 35 × 10²
  assert.match(textAt(54n), / No verdict: the 5 largest bets decide more than half of it\.$/);
});

Deno.test("earningsOf: the shown expected profit and difference add up to the shown profit", () => {
  const { compared, profit } = comparedBets(1, 3, (id) => ({ payout: 20_003_333n + BigInt(id) }));
  const { expected, difference } = compared ?? assert.fail();
  assert.equal(expected % 10_000n, 0n);
  assert.equal(expected + difference, profit);
});

Deno.test("comparedText: gives no verdict while bets wait for missing prices", () => {
  const settled = Array.from({ length: 20 }, (_, id) => betOf(id, "lost", { startTime: id }));
  const waiting = [30, 31].map((id) => betOf(id, "needs_backfill"));
  const probabilities = known(Object.fromEntries(settled.map(({ id }) => [id, 0.1])));
  const rowOf = (theses: readonly Thesis[]) =>
    earningsOf(theses, { markets: [], probabilities, nowMs: 9_000 })[0] ?? assert.fail();
  assert.equal(rowOf(settled).compared?.verdict, "fits");
  const row = rowOf([...settled, ...waiting]);
  assert.equal(row.compared?.verdict, "waits");
  assert.match(comparedText(row), /No verdict while bets wait for prices\.$/);
});
