import assert from "node:assert/strict";
import { exposureGrid, profitAfter } from "../../services/console/page/maker/exposure.ts";
import { thesisOf } from "./offers.ts";

const bet = (id: number, low: number, high: number, fromMs: number, toMs: number) =>
  thesisOf(id, {
    ...{ lowerPrice: BigInt(low) * 1_000_000n, upperPrice: BigInt(high) * 1_000_000n },
    ...{ startTime: fromMs, endTime: toMs, betAmount: 10_000_000n, payout: 25_000_000n },
  });

Deno.test("exposureGrid: each cell has the loss of the boxes that cover it", () => {
  const grid = exposureGrid([bet(1, 100, 112, 0, 24_000), bet(2, 106, 112, 12_000, 24_000)], 0);
  assert(grid);
  const { cells, low, high, fromMs, toMs } = grid;
  assert.deepEqual([low, high, fromMs, toMs], [100, 112, 0, 24_000]);
  assert.deepEqual([cells.length, cells[0]?.length], [12, 24]);
  assert.deepEqual([cells[0]?.[0], cells[0]?.[12], cells[11]?.[23]], [15, 30, 15]);
  assert.deepEqual([cells[5]?.[12], cells[6]?.[12]], [30, 15], "the side between two rows");
  assert.deepEqual([cells[0]?.[11], cells[0]?.[23]], [15, 30]);
});

Deno.test("exposureGrid: begins now, ends with the last box, and spans all prices", () => {
  const grid = exposureGrid([bet(1, 100, 104, 0, 36_000), bet(2, 108, 112, 0, 24_000)], 12_000);
  assert(grid);
  const { cells, low, high, fromMs, toMs } = grid;
  assert.deepEqual([low, high, fromMs, toMs], [100, 112, 12_000, 36_000]);
  const rows = [0, 3, 4, 7, 8, 11].map((row) => [cells[row]?.[11], cells[row]?.[12]]);
  assert.deepEqual(rows, [[15, 0], [15, 0], [0, 0], [0, 0], [15, 15], [15, 15]]);
});

Deno.test("exposureGrid: without open bets there is no grid", () => {
  const ended = bet(1, 1, 2, 0, 1_000);
  const lost = { ...bet(2, 1, 2, 0, 9_000), breach: { time: 1, price: 3n } };
  assert.equal(exposureGrid([ended, lost], 1_000), undefined);
  assert.notEqual(exposureGrid([ended], 999), undefined);
});

Deno.test("profitAfter: boxes around the moved price are won by their users, all others lost", () => {
  const theses = [bet(1, 99, 101, 0, 9), bet(2, 101, 103, 0, 9)];
  assert.equal(profitAfter(theses, 100, 0), -15 + 10);
  assert.equal(profitAfter(theses, 100, 0.01), -15 - 15, "both bounds are inside");
  assert.equal(profitAfter(theses, 100, 0.02), 10 - 15);
  assert.equal(profitAfter(theses, 100, -0.02), 20);
  assert.equal(profitAfter([{ ...theses[0]!, status: "won" }], 100, 0), 0);
});
