import assert from "node:assert/strict";
import { MetricsHistory, parseMetrics } from "../../services/console/page/data/metrics.ts";
import { type Trend, withNewest } from "../../services/console/page/data/trends.ts";

/** The trends after answers of one service, one each 10 s. */
function trendsOf(texts: readonly string[]): readonly Trend[] {
  let history = new MetricsHistory();
  let trends: readonly Trend[] = [];
  texts.forEach((text, index) => {
    history = history.with(index * 10_000, parseMetrics(text));
    trends = withNewest(trends, history);
  });
  return trends;
}

Deno.test("Trends: the worst value of each figure that has an alert, at each look", () => {
  const answer = (a: number, b: number) =>
    `oracle_price_age_seconds{pair="A"} ${a}\noracle_price_age_seconds{pair="B"} ${b}`;
  const [age, ...others] = trendsOf([answer(1, 2), answer(1, 4), answer(3, 4)]);
  assert.deepEqual(others, []);
  assert.equal(age?.problem.name, "OraclePriceOld");
  assert.deepEqual(age?.values, [2, 4, 4]);
});

Deno.test("Trends: where less is worse, the lowest value counts", () => {
  const sources = 'oracle_sources{pair="A"} 4\noracle_sources{pair="B"} 2\n' +
    'oracle_price_age_seconds{pair="A"} 1\noracle_price_age_seconds{pair="B"} 1';
  const trend = trendsOf([sources, sources]).find(({ problem }) =>
    problem.name === "OracleFewSources"
  );
  assert.deepEqual(trend?.values, [2, 2]);
});

Deno.test("Trends: the oldest values are dropped, and a figure that is gone has no trend", () => {
  const texts = Array.from({ length: 130 }, (_, index) => `node_storage_writable ${index % 2}`);
  assert.equal(trendsOf(texts)[0]?.values.length, 120);
  assert.deepEqual(trendsOf(["node_storage_writable 1", ""]), []);
});
