/** How the solver answered, in the last minutes and since its start, and what it may still risk. */
import type { MetricsHistory } from "../data/metrics.ts";
import { formatRounded, formatShare } from "../format.ts";
import { labelOf } from "../trade/chart_spans.ts";

/** What users ask for, and the counter of its answers. */
export const REQUESTS = [
  { name: "Bets", counter: "solver_execute_answers_total", labels: {} },
  { name: "Quotes", counter: "solver_quotes_total", labels: { kind: "quote" } },
  { name: "Estimates", counter: "solver_quotes_total", labels: { kind: "estimate" } },
] as const;

export type RequestKind = (typeof REQUESTS)[number];

const [BETS] = REQUESTS;

/** The time of the samples in words, such as `last 5 min`. */
export const spanOf = ({ spanMs }: MetricsHistory) =>
  `last ${labelOf(1_000 * Math.round(spanMs / 1_000))}`;

/** How far back the page's own samples of the counters go. */
export const RECENT_MS = 300_000;

/** How often a request had one answer. */
export interface AnswerCount {
  /** Code of the refusal, or `quoted` or `executed`. */
  outcome: string;
  recent: number;
  /** Since the solver's start. */
  total: number;
}

/** The answers to one kind of request: the success first, then the most frequent. */
export function answersTo(
  { counter, labels }: RequestKind,
  history: MetricsHistory,
): AnswerCount[] {
  const outcomes = new Set(history.newest(counter, labels).map(({ labels }) => labels.outcome));
  return [...outcomes].map((outcome = ""): AnswerCount => ({
    outcome,
    recent: history.increase(counter, { ...labels, outcome }),
    total: history.latest.sum(counter, { ...labels, outcome }) ?? 0,
  })).filter(({ total }) => total > 0).sort((a, b) =>
    Number(isSuccess(b)) - Number(isSuccess(a)) || b.recent - a.recent || b.total - a.total
  );
}

export const isSuccess = ({ outcome }: AnswerCount) =>
  outcome === "quoted" || outcome === "executed";

/** With less of the limit of `--max-exposure` left, only small bets are accepted. */
export const FREE_MIN = 0.1;

/** How much more may be risked: in words, and with a style. */
export function roomOf(
  atRisk: bigint,
  solver: { maxExposure: bigint | null; answers: MetricsHistory } | undefined,
): { style: string; text: string } {
  if (solver === undefined) return { style: "note", text: "The limit is not known yet." };
  const { maxExposure: max, answers } = solver;
  if (max === null) return { style: "note", text: "No limit is set (--max-exposure)." };
  const free = atRisk < max ? max - atRisk : 0n;
  const isFull = Number(free) < FREE_MIN * Number(max);
  const more = `bets that may lose more than ${formatRounded(free)} USDC`;
  const refused = answers.increase(BETS.counter, { outcome: "EXPOSURE_TOO_LARGE" });
  if (refused > 0) {
    const share = formatShare(refused / answers.increase(BETS.counter));
    const why = `${share} of the bets of the ${spanOf(answers)} were refused for it`;
    const text = `${isFull ? "✕" : "▲"} Refusing ${more}: ${why}.`;
    return { style: isFull ? "lost" : "warning", text };
  }
  return isFull
    ? { style: "warning", text: `▲ Nearly full: ${more} will be refused.` }
    : { style: "won", text: `✓ Fine: ${formatRounded(free)} USDC is free.` };
}

/** What the solver's refusals mean to the maker; users read other words (data/explain.ts). */
export const REFUSAL_TEXTS: Readonly<Record<string, string>> = {
  OUTSIDE_RANGE: "The price was outside the box when it was asked for.",
  RANGE_BROKEN: "The price had left the box before the bet was placed.",
  RANGE_TOO_NARROW: "Its prices are too near each other for the model.",
  PAYOUT_TOO_LOW: "So likely to hold that, less your margin, it pays no more than the stake.",
  PRICE_MOVED: "The price moved after the quote, and the bet became worth more than it cost.",
  PRICE_IMPROVED: "The price moved after the quote, and a new one pays the user more.",
  WINDOW_ENDED: "The box was in the past.",
  DURATION_TOO_SHORT: "The window is shorter than you offer.",
  DURATION_TOO_LONG: "The window is longer than you offer.",
  INVALID_TIME_RANGE: "The window starts too early or too late.",
  BET_TOO_SMALL: "The stake is below your smallest.",
  BET_TOO_LARGE: "The stake is above your largest.",
  RISK_TOO_LARGE: "One bet would have risked more than --max-risk.",
  EXPOSURE_TOO_LARGE: "All bets would have risked more than --max-exposure.",
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
  DRY_RUN: "The solver runs with --dry-run and takes no bets.",
};
