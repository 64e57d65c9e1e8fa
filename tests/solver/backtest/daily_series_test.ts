import assert from "node:assert/strict";
import { DailySeries } from "../../../services/solver/backtest/daily_series.ts";
import { DAY_MS } from "../../../lib/time.ts";

function seriesOf(days: readonly (readonly number[])[]): DailySeries {
  const series = new DailySeries();
  days.forEach((values, day) => values.forEach((value) => series.add(day * DAY_MS + 5, value)));
  return series;
}

Deno.test("Daily series: the mean is over values, its error over days", () => {
  // Residuals of the days against the mean of 2: -2, 0, 2.
  const { mean, error, count, days } = seriesOf([[1, 1], [2, 2], [3, 3]]).mean();
  assert.deepEqual([mean, count, days], [2, 6, 3]);
  // (4 + 0 + 4) and a neighbour product of 0, times 3/2, over 6 values.
  assert.ok(Math.abs(error - Math.sqrt(12) / 6) < 1e-12);
});

Deno.test("Daily series: days at most three days apart are treated as correlated", () => {
  // Residuals against the mean of 3: -2, 0, 0, 2, of days 0, 1, 2 and 3.
  const byLag = (third: number) => {
    const series = new DailySeries();
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

Deno.test("Daily series: repeated values within a day do not reduce the error", () => {
  const once = seriesOf([[1], [0], [3], [1]]).mean();
  const often = seriesOf([1, 0, 3, 1].map((value) => new Array(50).fill(value))).mean();
  assert.ok(Math.abs(once.error - often.error) < 1e-12);
});

Deno.test("Daily series: worst day, losing days and drawdown in the order of time", () => {
  const series = new DailySeries();
  for (const [day, value] of [[1, -3], [0, 5], [2, -4], [3, 6]] as const) {
    series.add(day * DAY_MS, value);
  }
  const { worstDay, losingDays, drawdown, deviation } = series.path();
  assert.deepEqual([worstDay, losingDays, drawdown], [-4, 0.5, 7]);
  assert.ok(Math.abs(deviation - Math.sqrt((9 + 25 + 16 + 36) / 4 - 1)) < 1e-12);
});

Deno.test("Daily series: merge keeps days apart, and meanLess compares the same days", () => {
  const [a, b] = [seriesOf([[1], [2], [4]]), seriesOf([[0], [0], [1]])];
  const both = DailySeries.merge([a, b]);
  assert.equal(both.mean().mean, 8 / 6);
  assert.equal(both.mean().days, 3);
  assert.equal(a.meanLess(b).mean, 2);
  assert.ok(Number.isNaN(seriesOf([[1], [2]]).mean().error), "two days have no error");
});
