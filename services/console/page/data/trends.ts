import { type Problem, PROBLEMS } from "../../../../lib/problems/mod.ts";
import type { MetricsHistory } from "./metrics.ts";

/** The series of a figure that has an alert. */
export interface Trend {
  problem: Problem;
  /** Its worst value at each look, oldest first. */
  values: readonly number[];
}

/** Looks that are kept: some minutes. */
const VALUES_MAX = 120;

/** The trends of a service after one more look. */
export function withNewest(
  trends: readonly Trend[],
  history: MetricsHistory,
): readonly Trend[] {
  return PROBLEMS.flatMap((problem) => {
    const found = problem.measure.read(history).map(({ value }) => value);
    if (found.length === 0) return [];
    const worst = problem.bound.op === ">" ? Math.max(...found) : Math.min(...found);
    const before = trends.find((trend) => trend.problem === problem);
    return [{ problem, values: [...before?.values ?? [], worst].slice(-VALUES_MAX) }];
  });
}
