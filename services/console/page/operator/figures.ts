/** The figures of each service that matter, as an operator reads them. */
import type { Problem } from "../../../../lib/problems/mod.ts";
import type { MetricsHistory } from "../data/metrics.ts";
import type { ServiceName } from "../data/service_watch.ts";
import type { Providers } from "../data/providers.ts";
import { formatDuration, formatShare } from "../format.ts";

/** A figure with its name. */
export type Figure = readonly [label: string, text: string];

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

/** An age such as `340 ms` or `2.1 s`. */
export function formatAge(ageMs: number): string {
  return ageMs < 1_000 ? `${Math.round(ageMs)} ms` : `${(ageMs / 1_000).toFixed(1)} s`;
}

/** Basis points with their sign, unless they are rounded to nothing. */
export function formatPoints(points: number): string {
  const text = `${Math.abs(points).toFixed(1)} bp`;
  return text === "0.0 bp" ? text : (points < 0 ? "−" : "+") + text;
}

/** A connected source without a trade for this long is silent, in whatever market. */
const SILENT_MS = 10_000;

/** What is wrong with a source of prices; undefined if it sends some. */
export function faultOf(
  { ready, streams }: Pick<Providers["providers"][number], "ready" | "streams">,
): string | undefined {
  if (!ready) return "not connected";
  const ages = Object.values(streams).flatMap(({ lastTradeAgeMs }) => lastTradeAgeMs ?? []);
  const age = Math.min(...ages);
  if (ages.length === 0) return "connected, but sends no prices";
  return age > SILENT_MS ? `silent for ${formatDuration(age)}` : undefined;
}

/** The last fault of a source in words; the oracle names its kind, and what happened. */
export function faultText(lastError: string): string {
  return lastError.replace(/^not_opened: /, "could not connect: ")
    .replace(
      /^silent: silent for (\d+) ms$/,
      (_, ms) => `sent nothing for ${formatDuration(Number(ms))}`,
    )
    .replace(/^\w+(?=: )/, (kind) => kind.replaceAll("_", " "));
}

/** The mean of a histogram in the last minute, in milliseconds; undefined if nothing happened. */
export function meanMs(history: MetricsHistory, histogram: string): number | undefined {
  const observed = history.increase(`${histogram}_count`);
  return observed === 0 ? undefined : 1_000 * history.increase(`${histogram}_sum`) / observed;
}

const mean = (history: MetricsHistory, histogram: string) => {
  const value = meanMs(history, histogram);
  return value === undefined ? "–" : value < 10 ? `${value.toFixed(1)} ms` : formatAge(value);
};

/** What counts cover: the last minute, or the time since the page began to look. */
function periodOf({ spanMs }: MetricsHistory): string {
  const seconds = Math.round(spanMs / 1_000);
  return seconds === 0 || seconds >= 55 ? "last minute" : `last ${seconds} s`;
}

/** The figures of a service; those that count events are of the last minute. */
export function figuresOf(name: ServiceName, history: MetricsHistory): Figure[] {
  const period = periodOf(history);
  const now = (metric: string, labels?: Record<string, string>) =>
    count(history.latest.sum(metric, labels));
  const recent = (metric: string, labels?: Record<string, string>) =>
    count(history.spanMs === 0 ? undefined : history.increase(metric, labels));
  switch (name) {
    case "exchanges":
      return [
        ["Connections", now("exchanges_connections")],
        [`Trades, ${period}`, recent("exchanges_trades_total")],
      ];
    case "oracle":
      return [
        [`Prices received, ${period}`, recent("oracle_prints_total")],
        [`Reconnects, ${period}`, recent("oracle_reconnects_total")],
        ["Mean time to aggregate", mean(history, "oracle_aggregation_seconds")],
      ];
    case "node":
      return [
        ["Block", now("node_block_number")],
        ["Checkpoints late by, mean", mean(history, "node_checkpoint_lateness_seconds")],
        ["Open theses", now("node_theses_unsettled")],
      ];
    case "proxy":
      return [
        ["Clients", now("proxy_ws_connections_active")],
        ["Subscriptions", now("proxy_broadcast_active_subscriptions")],
        ["Mean time of a request", mean(history, "proxy_http_request_duration_seconds")],
      ];
    case "bridge":
      return [
        ["Deposits pending", now("bridge_deposits_pending")],
        [`Committed, ${period}`, recent("bridge_deposits_total", { outcome: "committed" })],
        ["Mean time to commit", mean(history, "bridge_time_to_commit_seconds")],
      ];
    case "solver":
      return [
        [`Quotes, ${period}`, recent("solver_quotes_total", { kind: "quote" })],
        [`Estimates, ${period}`, recent("solver_quotes_total", { kind: "estimate" })],
        ["Mean time of a quote", mean(history, "solver_quote_seconds")],
        [`Bets placed, ${period}`, recent("solver_executions_total", { outcome: "committed" })],
      ];
  }
}
