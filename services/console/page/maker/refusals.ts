/** The solver's answers in the last minutes and since its start. */
import type { Metrics, MetricsHistory } from "../data/metrics.ts";
import { formatTime } from "../format.ts";

/** The kinds of requests, each with the counter of its answers. */
export const REQUESTS = [
  { name: "Bets", counter: "solver_execute_answers_total", labels: {} },
  { name: "Quotes", counter: "solver_quotes_total", labels: { kind: "quote" } },
  { name: "Estimates", counter: "solver_quotes_total", labels: { kind: "estimate" } },
] as const;

/** How long the page keeps its samples of the counters. */
export const RECENT_MS = 300_000;

/** The answer to requests that were not refused. */
export const ACCEPTED = "accepted";

const ACCEPTED_OUTCOMES = /quoted|executed/;

/** How often each kind of request had one answer. */
export interface AnswerCount {
  /** Code of the refusal, or {@link ACCEPTED}. */
  outcome: string;
  /** In the order of {@link REQUESTS}. */
  counts: readonly { recent: number; sinceStart: number }[];
}

/** All answers: the success first, then the most frequent since the start, to bets first. */
export function answersOf(history: MetricsHistory): AnswerCount[] {
  // Answers from before a restart are no longer among the newest.
  const outcomes = REQUESTS.flatMap(({ counter }) => [...history.valuesOf("outcome", counter)]);
  const refusals = new Set(outcomes.filter((outcome) => !ACCEPTED_OUTCOMES.test(outcome)));
  const answerOf = (outcome: string, wanted: string | RegExp = outcome): AnswerCount => ({
    outcome,
    counts: REQUESTS.map(({ counter, labels }) => ({
      recent: history.increase(counter, { ...labels, outcome: wanted }),
      sinceStart: history.latest.sum(counter, { ...labels, outcome: wanted }) ?? 0,
    })),
  });
  const differenceOf = (a: AnswerCount, b: AnswerCount) =>
    b.counts.map(({ sinceStart }, index) => sinceStart - (a.counts[index]?.sinceStart ?? 0))
      .find((difference) => difference !== 0) ?? 0;
  return [
    answerOf(ACCEPTED, ACCEPTED_OUTCOMES),
    ...[...refusals].map((outcome) => answerOf(outcome)).sort(differenceOf),
  ].filter(({ counts }) => counts.some(({ recent, sinceStart }) => recent + sinceStart > 0));
}

/** The solver's start with its time, as far as it is known. */
export function startText(metrics: Metrics): string {
  const startedAtS = metrics.sum("process_start_time_seconds");
  return `the solver’s start${startedAtS ? ` at ${formatTime(1_000 * startedAtS)}` : ""}`;
}

/** Whether the solver has priced nothing since its start, for lack of price history. */
export function lacksHistory(metrics: Metrics): boolean {
  const countOf = (outcome: string) => metrics.sum("solver_quotes_total", { outcome }) ?? 0;
  return countOf("VOLATILITY_UNAVAILABLE") > 0 && countOf("quoted") === 0;
}

/** The meaning of the solver's refusals for the maker. Texts for users are in data/explain.ts. */
export const REFUSAL_TEXTS: Readonly<Record<string, string>> = {
  OUTSIDE_RANGE: "The price was outside the box when it was asked for, or when the bet was signed.",
  RANGE_BROKEN: "The price had left the box before the bet was placed.",
  RANGE_TOO_NARROW: "Its prices are too near each other for the model.",
  PAYOUT_TOO_LOW: "So likely to hold that, less your margin, it pays no more than the stake.",
  PRICE_MOVED:
    "The price moved for the user after the quote: you would have earned less than half of your " +
    "margin. Normal in fast markets, and near the bounds of short boxes.",
  PRICE_IMPROVED:
    "The price moved against the user after the quote: a new quote pays more, and users may ask for " +
    "it. Normal in fast markets. If your prices are not behind, a lower `--user-lead-ms` refuses less.",
  WINDOW_ENDED: "The box was in the past.",
  DURATION_TOO_SHORT: "The window is shorter than you offer.",
  DURATION_TOO_LONG: "The window is longer than you offer.",
  INVALID_TIME_RANGE: "The window starts too early or too late.",
  BET_TOO_SMALL: "The stake is below your smallest.",
  BET_TOO_LARGE: "The stake is above your largest.",
  RISK_TOO_LARGE: "One bet would have risked more than `--max-risk`.",
  EXPOSURE_TOO_LARGE: "All open bets together would have risked more than `--max-exposure`.",
  EXPOSURE_UNKNOWN:
    "The solver did not know all its open bets: it had just started, or lost the node.",
  BALANCE_TOO_LOW: "Your balance did not cover the payout: deposit.",
  INSUFFICIENT_BALANCE: "The user’s balance did not cover the stake.",
  DEADLINE_PASSED: "The user signed too late.",
  PRICE_STALE: "The node had no fresh price.",
  ORACLE_STALE: "The node had no fresh price when the bet arrived.",
  PRICE_UNAVAILABLE: "The solver had no price.",
  VOLATILITY_UNAVAILABLE: "Too little price history to price with, as after a start.",
  HISTORY_UNAVAILABLE: "Too little price history to price with, as after a start.",
  RATE_LIMITED: "Too many requests from one address, or in all.",
  OUTCOME_UNKNOWN: "The node’s answer was lost. The bet counts as at risk until it is known.",
  DRY_RUN: "The solver runs with `--dry-run` and takes no bets.",
};
