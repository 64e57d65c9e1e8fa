import assert from "node:assert/strict";
import { DAY_MS } from "../../../lib/time.ts";
import { BlockSeries } from "../../../services/solver/backtest/block_series.ts";

function seriesOf(days: readonly (readonly number[])[]): BlockSeries {
  const series = new BlockSeries(DAY_MS);
  days.forEach((values, day) => values.forEach((value) => series.add(day * DAY_MS + 5, value)));
  return series;
}

Deno.test("Block series: the mean weighs all values equally, its standard error comes from the sums of days", () => {
  // Residuals of the days against the mean of 2: -2, 0, 2.
  const { mean, error, count } = seriesOf([[1, 1], [2, 2], [3, 3]]).mean();
  assert.deepEqual([mean, count], [2, 6]);
  // (4 + 0 + 4) and a neighbour product of 0, times 3/2, over 6 values.
  assert.ok(Math.abs(error - Math.sqrt(12) / 6) < 1e-12);
});

Deno.test("Block series: days at most three days apart are treated as correlated", () => {
  // Residuals against the mean of 3: -2, 0, 0, 2, of days 0, 1, 2 and 3.
  const byLag = (third: number) => {
    const series = new BlockSeries(DAY_MS);
    for (const [day, value] of [[0, 1], [third, 5], [1, 3], [2, 3]] as const) {
      series.add(day * DAY_MS, value);
    }
    return series.mean().error ** 2 * 16 * 3 / 4;
  };
  // Four days have at most two lags.
  assert.ok(Math.abs(byLag(3) - 8) < 1e-9);
  const { error } = seriesOf([[1], [3], [3], [5], [3]]).mean();
  // Squares of 8, and a quarter of -4 in both directions, times 5/4.
  assert.ok(Math.abs(error - Math.sqrt((8 - 2) * 5 / 4) / 5) < 1e-12);
});

Deno.test("Block series: addAll keeps blocks apart, and meanLess compares the same blocks", () => {
  const [a, b] = [seriesOf([[1], [2], [4]]), seriesOf([[0], [0], [1]])];
  assert.equal(a.meanLess(b).mean, 2);
  const { error } = b.mean();
  b.addAll(seriesOf([[0], [0], [1]]));
  assert.deepEqual(b.mean(), { mean: 1 / 3, error, count: 6 });
  assert.ok(Number.isNaN(seriesOf([[1], [2]]).mean().error), "two blocks have no error");
});
