/** The figures of each service that are shown to operators. */
import { type Problem, PROBLEM_GROUPS } from "../../../../lib/problems/mod.ts";
import { type MetricsHistory, RECENT_MS } from "../data/metrics.ts";
import type { Providers, ServiceName } from "../data/service_watch.ts";
import { counted, durationText, formatCount, formatShare, formatTime } from "../parts/format.ts";

/** Whether a problem belongs to a process, so that only its first service reports it. */
export const isProcessProblem = (problem: Problem) => PROBLEM_GROUPS.services.includes(problem);

const count = (value: number | undefined) =>
  value === undefined ? "–" : formatCount(Math.round(value));

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
  return warmUpS !== undefined && latestMs < (latest.startedAtMs ?? -Infinity) + 1_000 * warmUpS;
}

/** How many figures a service has, how many are beyond their bounds, and the start of the watch. */
export function figuresText(all: number, bad: number, isHealthy: boolean, sinceMs: number): string {
  const bounds = bad === 1 ? "its bound" : "their bounds";
  const good = isHealthy ? `, all within ${bounds}` : ""; // else something else is wrong
  const verdict = bad > 0 ? `, ${bad} beyond ${bounds}` : good;
  return `${counted(all, "figure")}${verdict}, watched since ${formatTime(sinceMs)}`;
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

type Source = Pick<Providers["providers"][number], "ready" | "streams">;

/** The state of a source of prices: a class, and a sign with a word. */
export function sourceVerdictOf(source: Source): [style: string, text: string] {
  const fault = faultOf(source);
  return fault === undefined ? ["won", "✓"] : ["lost", `✕ ${fault}`];
}

/** The fault of a source of prices; undefined if it sends prices. */
function faultOf({ ready, streams }: Source): string | undefined {
  if (!ready) return "not connected";
  const ages = Object.values(streams).flatMap(({ lastTradeAgeMs }) => lastTradeAgeMs ?? []);
  const age = Math.min(...ages);
  if (ages.length === 0) return "connected, but sends no prices";
  return age > SILENT_MS ? `silent for ${durationText(age)}` : undefined;
}

/** A fault of a source, without its kind where the text says it again, as in `silent: silent for`. */
export const faultText = (fault: string) =>
  fault.replaceAll("_", " ").replace(/^(.+?)(ed)?: (?=\1)/, "");

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
export function usageOf(name: ServiceName, history: MetricsHistory): [string, string][] {
  return Object.entries(USAGE_FIGURES[name]).map(([label, read]) => [label, count(read(history))]);
}
