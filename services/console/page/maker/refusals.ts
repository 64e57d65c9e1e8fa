/** The solver's answers in the last minutes and since its start, and its remaining exposure. */
import { formatUnits } from "@rangemaker/client";
import { PROBLEMS } from "../../../../lib/problems/mod.ts";
import type { MetricsHistory } from "../data/metrics.ts";
import { formatAmount, formatShare } from "../format.ts";
import { labelOf } from "../trade/chart_spans.ts";

/** The kinds of requests, each with the counter of its answers, and what a success means. */
export const REQUESTS = [
  {
    ...{ name: "Bets", counter: "solver_execute_answers_total", labels: {} },
    ...{ done: "accepted", meaning: "The bet was placed." },
  },
  {
    ...{ name: "Quotes", counter: "solver_quotes_total", labels: { kind: "quote" } },
    ...{ done: "priced", meaning: "A price was signed." },
  },
  {
    ...{ name: "Estimates", counter: "solver_quotes_total", labels: { kind: "estimate" } },
    ...{ done: "priced", meaning: "A price was shown for a box." },
  },
] as const;

export type RequestKind = (typeof REQUESTS)[number];

/** Counts of a shorter time say nothing. */
const SPAN_MIN_MS = 10_000;

/** The time that the samples cover, such as `last 5 min`; undefined if it is too short. */
export function spanOf({ spanMs }: Pick<MetricsHistory, "spanMs">): string | undefined {
  return spanMs < SPAN_MIN_MS ? undefined : `last ${labelOf(1_000 * Math.round(spanMs / 1_000))}`;
}

/** How long the page keeps its samples of the counters. */
export const RECENT_MS = 300_000;

/** How often a request had one answer. */
export interface AnswerCount {
  /** Code of the refusal, or `quoted` or `executed`. */
  outcome: string;
  recent: number;
  /** Since the solver's start. */
  total: number;
  /** When the page last saw one, within the kept samples. */
  lastMs: number | undefined;
}

/** The answers to one kind of request: the success first, then the most frequent since the start. */
export function answersTo(
  { counter, labels }: RequestKind,
  history: MetricsHistory,
): AnswerCount[] {
  // Answers from before a restart are no longer among the newest.
  const outcomes = history.valuesOf("outcome", counter, labels);
  return [...outcomes].map((outcome): AnswerCount => ({
    outcome,
    recent: history.increase(counter, { ...labels, outcome }),
    total: history.latest.sum(counter, { ...labels, outcome }) ?? 0,
    lastMs: history.lastGrowthMs(counter, { ...labels, outcome }),
  })).filter(({ recent, total }) => recent + total > 0).sort((a, b) =>
    Number(isSuccess(b)) - Number(isSuccess(a)) || b.total - a.total || b.recent - a.recent
  );
}

export const isSuccess = ({ outcome }: AnswerCount) =>
  outcome === "quoted" || outcome === "executed";

/** The shares of the limit at which the alerts for operators fire. */
const [NEARLY_FULL = 1, FULL = 1] = ["SolverExposureHigh", "SolverExposureFull"].flatMap((name) =>
  PROBLEMS.find((one) => one.name === name)?.bound.limit ?? []
);

/** The known facts about the limit, USDC with 6 decimals. */
interface Limit {
  maxExposure: bigint | null;
  info: { config: { minBetAmount: bigint } };
}

/** How much more may be risked, as text with a style, and the used share of the limit. */
export function headroomOf(
  atRisk: bigint,
  solver: Limit | undefined,
): { style: string; text: string; used?: number } {
  if (solver === undefined) {
    return { style: "note", text: "How much is free is known once solver and chain answer." };
  }
  const { maxExposure: max, info: { config } } = solver;
  if (max === null) return { style: "note", text: "No limit is set (`--max-exposure`)." };
  if (max < config.minBetAmount) {
    const text = `▲ The limit is ${formatUnits(max)} USDC: hardly a bet fits. ` +
      "`--max-exposure` counts 6 decimals: 5000000000 is 5,000 USDC.";
    return { style: "warning", text };
  }
  const free = formatAmount(atRisk < max ? max - atRisk : 0n);
  const used = Number(atRisk) / Number(max);
  const [style, state] = used > FULL
    ? ["lost", "✕ Full"]
    : used > NEARLY_FULL
    ? ["warning", "▲ Nearly full"]
    : ["won", "✓ Fine"];
  const what = style === "won"
    ? `${free} USDC is free`
    : `bets that may lose more than ${free} USDC are refused`;
  const share = `${formatShare(used)} of the limit of ${formatAmount(max)} is used`;
  return { style, used, text: `${state}: ${what}. ${share}.` };
}

/** The meaning of the solver's refusals for the maker. Texts for users are in data/explain.ts. */
export const REFUSAL_TEXTS: Readonly<Record<string, string>> = {
  OUTSIDE_RANGE: "The price was outside the box when it was asked for.",
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
