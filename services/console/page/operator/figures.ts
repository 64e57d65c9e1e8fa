/** The figures of each service that are shown to operators. */
import {
  COUNTER_WINDOW_MS,
  type Problem,
  PROBLEM_GROUPS,
  PROBLEMS,
  type Sample,
} from "../../../../lib/problems/mod.ts";
import { type MetricsHistory, RECENT_MS } from "../data/metrics.ts";
import type { ServiceName } from "../data/service_watch.ts";
import type { Providers } from "../data/providers.ts";
import { durationText, formatDuration, formatShare } from "../format.ts";

/** Whether a problem belongs to a process, so that only its first service reports it. */
export const isProcessProblem = (problem: Problem) => PROBLEM_GROUPS.services.includes(problem);

/**
 * The problems whose figures a service's card shows, one per figure, even if it has two bounds.
 * Figures that have a value only during a problem are left out.
 */
export const FIGURES = PROBLEMS.filter((problem) =>
  !isProcessProblem(problem) && problem.bound.limit >= 0 &&
  PROBLEMS.find(({ measure }) => measure === problem.measure) === problem
);

const count = (value: number | undefined) =>
  value === undefined ? "–" : Math.round(value).toLocaleString("en-US");

/** A value of a problem, in its unit. */
export function formatValue(
  value: number,
  { unit, isFlag }: Pick<Problem, "unit" | "isFlag">,
): string {
  if (isFlag) return value === 1 ? "yes" : "no";
  switch (unit) {
    case "share":
      return formatShare(value);
    case "seconds":
      return formatAge(1_000 * value);
    case "bytes":
      return `${count(value / 1e6)} MB`;
    default:
      return value.toLocaleString("en-US", { maximumFractionDigits: 2 }).replace("-", "−");
  }
}

/** The worst value of a figure; undefined if it has none. */
export function worstOf({ op }: Problem["bound"], samples: readonly Sample[]): number | undefined {
  const values = samples.map(({ value }) => value);
  if (values.length === 0) return undefined;
  return op === ">" ? Math.max(...values) : Math.min(...values);
}

/** How long the events of a problem have been counted, if that is shorter than its alert counts. */
export function countedFor(
  { measure: { counter } }: Problem,
  history: MetricsHistory,
): number | undefined {
  if (counter === undefined) return undefined;
  const { spanMs } = history.over(counter.windowMs);
  return spanMs < counter.windowMs - READ_APART_MS ? spanMs : undefined;
}

/** Two readings of a service that answers are nearer to each other. */
const READ_APART_MS = 15_000;

/** Whether its process has just started, so that a value beyond the bound is normal. */
export function isWarmingUp({ warmUpS }: Problem, { latest, latestMs }: MetricsHistory): boolean {
  const startedAtS = latest.sum("process_start_time_seconds");
  return warmUpS !== undefined && startedAtS !== undefined &&
    latestMs < 1_000 * (startedAtS + warmUpS);
}

/** How many figures a service has, and how many are beyond their bounds. */
export function figuresText(all: number, bad: number, isHealthy: boolean): string {
  const text = `${all} ${all === 1 ? "figure" : "figures"}`;
  if (bad > 0) return `${text}, ${bad} beyond ${bad === 1 ? "its bound" : "their bounds"}`;
  return isHealthy ? `${text}, all within their bounds` : text; // something else is wrong
}

/** A restarted node goes on at least this far from its last block, unless the chain is very young. */
const JUMP_MIN = 1_000;

/** The jump of the block number when the node was started again; undefined if there was none. */
export function blockJumpOf(history: MetricsHistory): { from: number; to: number } | undefined {
  const known = history.over(COUNTER_WINDOW_MS);
  const blocks = known.series("node_block_number");
  const starts = known.series("process_start_time_seconds");
  const jumps = blocks.flatMap((to = 0, index) => {
    const from = blocks[index - 1];
    const isNew = starts[index] !== starts[index - 1];
    return from !== undefined && isNew && to - from >= JUMP_MIN ? [{ from, to }] : [];
  });
  return jumps.at(-1);
}

/** The text of an alert's bound. */
export function alertText({ bound: { op, limit }, isFlag, unit, measure }: Problem): string {
  const { counter } = measure;
  const sign = { ">": "above ", "<": "below ", "==": isFlag ? "if " : "at " }[op];
  const window = counter === undefined ? "" : ` in ${durationText(counter.windowMs)}`;
  return `alert ${sign}${formatValue(limit, { isFlag, unit }) + window}`.replaceAll(" ", "\u00a0")
    .replace("\u00a0", " ");
}

/** An age such as `340 ms` or `2.1 s`. */
export function formatAge(ageMs: number): string {
  return ageMs < 1_000 ? `${Math.round(ageMs)} ms` : `${(ageMs / 1_000).toFixed(1)} s`;
}

/** Basis points with their sign, unless they are rounded to 0. */
export function formatPoints(points: number): string {
  const text = `${Math.abs(points).toFixed(1)} bp`;
  return text === "0.0 bp" ? text : (points < 0 ? "−" : "+") + text;
}

/** A connected source without a trade in any market for this long is silent. */
const SILENT_MS = 10_000;

/** The fault of a source of prices; undefined if it sends prices. */
export function faultOf(
  { ready, streams }: Pick<Providers["providers"][number], "ready" | "streams">,
): string | undefined {
  if (!ready) return "not connected";
  const ages = Object.values(streams).flatMap(({ lastTradeAgeMs }) => lastTradeAgeMs ?? []);
  const age = Math.min(...ages);
  if (ages.length === 0) return "connected, but sends no prices";
  return age > SILENT_MS ? `silent for ${formatDuration(age)}` : undefined;
}

/** The text of a source's last fault, from the kind and detail that the oracle reports. */
export function faultText(lastError: string): string {
  return lastError.replace(/^not_opened: /, "could not connect: ")
    .replace(
      /^silent: silent for (\d+) ms$/,
      (_, ms) => `sent nothing for ${formatDuration(Number(ms))}`,
    )
    .replace(/^\w+(?=: )/, (kind) => kind.replaceAll("_", " "));
}

type Reader = (history: MetricsHistory) => number | undefined;

const now = (metric: string): Reader => ({ latest }) => latest.sum(metric);

/** Reads the rate of events per minute over the watched time, once that is long enough. */
const perMinute = (metric: string, labels?: Record<string, string>): Reader => (history) =>
  history.spanMs < RECENT_MS
    ? undefined
    : 60_000 * history.increase(metric, labels) / history.spanMs;

/** Figures that show how much a service is used. All other figures have an alert. */
const USAGE_FIGURES: Readonly<Record<ServiceName, Readonly<Record<string, Reader>>>> = {
  exchanges: { "Trades a minute": perMinute("exchanges_trades_total") },
  oracle: { "Prices a minute": perMinute("oracle_trades_total") },
  node: { "Block": now("node_block_number"), "Open bets": now("node_theses_unsettled") },
  proxy: { "Clients": now("proxy_ws_connections_active") },
  bridge: { "Deposits a minute": perMinute("bridge_deposits_total", { outcome: "committed" }) },
  solver: {
    "Quotes a minute": perMinute("solver_quotes_total", { kind: "quote" }),
    "Bets a minute": perMinute("solver_executions_total", { outcome: "committed" }),
    "Loss limit, USDC": now("solver_exposure_limit_usdc"),
  },
};

/** The figures of a service's use, with their names. */
export function useOf(name: ServiceName, history: MetricsHistory): [string, string][] {
  return Object.entries(USAGE_FIGURES[name]).map(([label, read]) => [label, count(read(history))]);
}
