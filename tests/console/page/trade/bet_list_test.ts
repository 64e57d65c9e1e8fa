import assert from "node:assert/strict";
import { FILTERS, PAGE_ROWS, pageOf } from "../../../../services/console/page/trade/bet_list.ts";
import { betsOfEveryOutcome } from "../../support.ts";

Deno.test("FILTERS: open, won and lost bets; a bet with a breach is lost", () => {
  const idsOf = (filter: keyof typeof FILTERS) =>
    betsOfEveryOutcome.filter(FILTERS[filter]).map(({ id }) => id);
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
