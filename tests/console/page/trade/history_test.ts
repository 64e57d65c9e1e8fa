/** The list of bets, drafts and odds. */
import assert from "node:assert/strict";
import { Markets } from "../../../../lib/client/mod.ts";
import { DraftStore } from "../../../../services/console/page/trade/draft_store.ts";
import {
  FILTERS,
  makerCsv,
  PAGE_ROWS,
  pageOf,
  userCsv,
} from "../../../../services/console/page/trade/history.ts";
import {
  breakEvenOf,
  chanceText,
  isNear,
  multiplierOf,
  warningOf,
} from "../../../../services/console/page/trade/odds.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { memoryStore } from "../../memory_store.ts";
import { hashOf, OTHER, thesisOf, USER } from "../../offers.ts";

const breach = { time: 500, price: 3_000_000n };
const theses = [
  thesisOf(4, { breach }),
  thesisOf(3, { status: "lost", breach }),
  thesisOf(2, { status: "won" }),
  thesisOf(1),
];

Deno.test("FILTERS: open, won and lost bets; a bet with a breach is lost", () => {
  const idsOf = (filter: keyof typeof FILTERS) =>
    theses.filter(FILTERS[filter]).map(({ id }) => id);
  assert.deepEqual(idsOf("All"), [4, 3, 2, 1]);
  assert.deepEqual(idsOf("Open"), [1]);
  assert.deepEqual(idsOf("Won"), [2]);
  assert.deepEqual(idsOf("Lost"), [4, 3]);
});

Deno.test("pageOf: every row is on one page, and a page number out of range is corrected", () => {
  const rows = Array.from({ length: 2 * PAGE_ROWS + 1 }, (_, index) => index);
  assert.deepEqual([0, 1, 2].flatMap((page) => pageOf(rows, page).rows), rows);
  assert.deepEqual(pageOf(rows, 9), { page: 2, pages: 3, rows: rows.slice(-1) });
  assert.equal(pageOf(rows, -1).page, 0);
  assert.deepEqual(pageOf([], 0), { page: 0, pages: 1, rows: [] });
  assert.equal(pageOf(rows.slice(0, PAGE_ROWS), 0).pages, 1);
});

const markets = new Markets([{ symbol: "A/B", base: OTHER, quote: OTHER }]);

Deno.test("userCsv: lists all bets, oldest first, with what each pays, paid and brought", () => {
  const markets = new Markets([{ symbol: "A/B", base: OTHER, quote: OTHER }]);
  const [head, ...rows] = userCsv(theses, markets).trimEnd().split("\r\n");
  assert.match(head ?? "", /,stake,payout_if_won,paid,profit,left_at,left_price,user$/);
  const zero = "1970-01-01T00:00:00.000Z";
  const terms = `${zero},${zero},1970-01-01T00:00:01.000Z,0.000001,0.000002,0.00001,0.000025`;
  const left = "0,-0.00001,1970-01-01T00:00:00.500Z,3";
  const zeros = (text: string) =>
    text.replace(/(\.\d*?)0+(?=,|$)/g, "$1").replace(/\.(?=,|$)/g, "");
  assert.deepEqual(
    rows.map(zeros),
    [
      `1,A/B,open,${terms},,,,,${USER}`,
      `2,A/B,won,${terms},0.000025,0.000015,,,${USER}`,
      `3,A/B,lost,${terms},${left},${USER}`,
      `4,A/B,open,${terms},${left},${USER}`,
    ].map(zeros),
  );
  for (const row of rows) assert.equal(row.split(",").length, head?.split(",").length);
});

Deno.test("makerCsv: has the maker's profit, and the probability of each bet whose quote the solver keeps", () => {
  const [head, open, won] = makerCsv(theses, markets, new Map([[hashOf(2), 0.625]])).split("\r\n");
  assert.match(head ?? "", /,user,probability$/);
  assert.match(open ?? "", new RegExp(`,${USER},$`));
  assert.match(won ?? "", new RegExp(`,-0\\.000015,,,${USER},0\\.625$`));
});

Deno.test("Odds: multiplier, chance and break-even chance", () => {
  const estimate = { betAmount: 100n, payout: 250n };
  assert.deepEqual([multiplierOf(estimate), breakEvenOf(estimate)], ["× 2.50", "40.0 %"]);
  assert.deepEqual([0.0004, 0.3333, 0.9995].map(chanceText), [
    "under 0.1 %",
    "33.3 %",
    "over 99.9 %",
  ]);
  // Shown beside "100.00" of "10.00", and "57.31" of "29.00".
  for (
    const [betAmount, payout, multiplier] of [
      [10_000_000n, 99_995_000n, "× 10.00"],
      [29_000_000n, 57_310_000n, "× 1.98"],
      [25_000_000n, 25_025_611n, "× 1.001"],
    ] as const
  ) {
    assert.equal(multiplierOf({ betAmount, payout }), multiplier);
  }
});

Deno.test("warningOf: warns if the payout is capped, or says nothing about the chance", () => {
  const warning = (payout: bigint, probability?: number) =>
    warningOf({ betAmount: 100n, payout, probability }, 10);
  assert.equal(warning(250n, 0.3333), undefined);
  assert.match(warning(999n, 0.09) ?? "", /capped at × 10/, "the maker rounds down");
  assert.equal(warning(980n, 0.09), undefined);
  assert.match(warning(250n) ?? "", /prices at random/);
});

Deno.test("warningOf: warns if the chance is far below break-even, with the average return", () => {
  const terms = { betAmount: 10_000_000n, payout: 100_000_000n };
  const warning = (probability: number) => warningOf({ ...terms, probability }, 10) ?? "";
  assert.match(warning(0.012), /far below break-even: .* pays back 1\.20 of 10\.00 USDC\.$/);
  assert.match(warning(0.075), /capped/);
});

Deno.test("warningOf: warns with stake and gain if the payout is less than a tenth above the stake", () => {
  const warning = (payout: bigint) =>
    warningOf({ betAmount: 10_000_000n, payout, probability: 0.99 }, 10);
  assert.match(warning(10_060_000n) ?? "", /you risk 10\.00 USDC to win 0\.06\.$/);
  assert.match(warning(10_999_999n) ?? "", /^It barely pays more than you bet/);
  assert.equal(warning(11_000_000n), undefined);
});

Deno.test("isNear: limits a change of the payout in both directions, and never pays less than the stake", () => {
  const accepted = (first: bigint, percent: number, payouts: bigint[]) =>
    payouts.map((payout) => isNear({ betAmount: 100n, payout }, { payout: first }, percent));
  assert.deepEqual(accepted(200n, 5, [189n, 190n, 210n, 211n]), [false, true, true, false]);
  assert.deepEqual(accepted(200n, 0, [199n, 200n, 201n]), [false, true, false]);
  assert.deepEqual(accepted(110n, 50, [99n, 100n]), [false, true]);
});

Deno.test("DraftStore: a draft is kept for an hour; stored text of another form is ignored", () => {
  const clock = new FakeClock(0);
  const store = memoryStore();
  const drafts = new DraftStore(store, clock);
  assert.deepEqual([drafts.symbol, drafts.of("A/B")], ["", undefined]);
  const fields = { lower: "1", upper: "2", startsIn: "3 s", lasts: "15 s", amount: "10" };
  drafts.keep("A/B", fields);
  drafts.keep("C/D", { ...fields, lower: "0.5" });
  assert.deepEqual([drafts.symbol, drafts.of("A/B")], ["C/D", fields]);
  clock.advance(3_599_999);
  assert.deepEqual(drafts.of("A/B"), fields);
  clock.advance(1);
  assert.equal(drafts.of("A/B"), undefined);
  for (const text of ["no JSON", "{}", '{"symbol":"A/B","drafts":{"A/B":{"atMs":0}}}']) {
    store.setItem("rangemaker.drafts", text);
    assert.deepEqual([drafts.symbol, drafts.of("A/B")], ["", undefined], text);
  }
});
