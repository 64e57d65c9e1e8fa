/**
 * The table of all problems that services can have. The rules of Prometheus, the problems and
 * figures of the operator's page and the headings of the runbook are made from it.
 */
import { BRIDGE, SOLVER, STORES } from "./money.ts";
import { NODE, ORACLE, PROXY, SERVICE_PROBLEMS } from "./services.ts";
import type { Problem } from "./problem.ts";

export { CALIBRATION, EXPOSURE_LIMITS } from "./money.ts";
export { type Figures, growthOf, type LabelFilter, type Sample } from "./measure.ts";
export { SERVICE_DOWN } from "./services.ts";
export { beyondBound, fillPlaceholders, isBeyond, type Problem } from "./problem.ts";

/** All problems, in the groups of the rules of Prometheus. */
export const PROBLEM_GROUPS = {
  services: SERVICE_PROBLEMS,
  proxy: PROXY,
  oracle: ORACLE,
  node: NODE,
  stores: STORES,
  bridge: BRIDGE,
  solver: SOLVER,
} satisfies Record<string, readonly Problem[]>;

export const PROBLEMS: readonly Problem[] = Object.values(PROBLEM_GROUPS).flat();

/** The counters that are read over a window, and the longest one. */
const COUNTERS = PROBLEMS.flatMap(({ measure, breakdown }) => [measure.counter, breakdown?.counter])
  .flatMap((counter) => counter ?? []);
export const COUNTER_METRICS: readonly string[] = COUNTERS.map(({ metric }) => metric);
export const COUNTER_WINDOW_MS = Math.max(...COUNTERS.map(({ windowMs }) => windowMs));
