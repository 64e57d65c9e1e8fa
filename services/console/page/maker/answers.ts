/** The solver's answers since its start. */
import type { Metrics } from "../data/metrics.ts";
import { counted, formatCount, formatShare, formatTime } from "../parts/format.ts";

/** The kinds of requests, each with the counter of its answers. Pages estimate by themselves. */
export const REQUESTS = [
  { name: "Bets", counter: "solver_execute_answers_total", labels: {} },
  { name: "Quotes", counter: "solver_quotes_total", labels: { kind: "quote" } },
] as const;

/** The answers to requests that were not refused. */
export const SUCCESSES: ReadonlySet<string> = new Set(["executed", "quoted"]);

/** How often each kind of request had one answer. */
export interface AnswerCount {
  /** Code of the refusal, or one of {@link SUCCESSES}. */
  outcome: string;
  /** In the order of {@link REQUESTS}. */
  counts: readonly number[];
}

/** Refusals that end when the maker deposits, or raises a limit. */
const AT_LIMITS: ReadonlySet<string> = new Set([
  "RISK_TOO_LARGE",
  "EXPOSURE_TOO_LARGE",
  "BALANCE_TOO_LOW",
]);

/**
 * All answers since the solver's start: successes, then refusals that the maker can end, then the
 * others by count; counts of bets decide before those of quotes.
 */
export function answersOf(metrics: Metrics): AnswerCount[] {
  const answers = new Map<string, number[]>();
  for (const [index, { counter, labels }] of REQUESTS.entries()) {
    for (const { labels: { outcome = "" }, value } of metrics.samplesOf(counter, labels)) {
      if (value === 0) continue;
      const counts = answers.get(outcome) ?? REQUESTS.map(() => 0);
      counts[index]! += value; // one count for each request
      answers.set(outcome, counts);
    }
  }
  const rankOf = ({ outcome }: AnswerCount) =>
    SUCCESSES.has(outcome) ? 0 : AT_LIMITS.has(outcome) ? 1 : 2;
  const differenceOf = (a: AnswerCount, b: AnswerCount) =>
    b.counts.map((count, index) => count - a.counts[index]!).find((difference) =>
      difference !== 0
    ) ?? 0;
  return [...answers].map(([outcome, counts]) => ({ outcome, counts }))
    .sort((a, b) => rankOf(a) - rankOf(b) || differenceOf(a, b));
}

/** Refusals of requests that say nothing about the offer: no percentage contains them. */
const NOT_COUNTED: Readonly<Record<string, string>> = {
  INVALID_REQUEST: "A field was wrong, or beyond one of your limits such as `--max-deadline-ms`.",
  BODY_TOO_LARGE: "The request was too long.",
  BODY_TOO_SLOW: "The request took too long to arrive.",
  UNSUPPORTED_MEDIA_TYPE: "The request was not JSON.",
  ORIGIN_NOT_ALLOWED: "A web page called whose origin is not in `--cors-origins`.",
  INVALID_SIGNATURE: "The user’s signature does not fit the quote.",
  RATE_LIMITED: "Too many requests from one address, or in all.",
};

const isCounted = ({ outcome }: AnswerCount) => !Object.hasOwn(NOT_COUNTED, outcome);

/** How many requests of a kind had one of some answers, without {@link NOT_COUNTED}. */
const totalOf = (answers: readonly AnswerCount[], request: number) =>
  answers.filter(isCounted).reduce((sum, { counts }) => sum + (counts[request] ?? 0), 0);

/** How many requests of a kind had an answer, with its share of all. */
export function countText(
  answer: AnswerCount,
  request: number,
  all: readonly AnswerCount[],
): string {
  const count = answer.counts[request] ?? 0;
  const text = formatCount(count);
  if (count === 0 || !isCounted(answer)) return text;
  return `${text}\u00a0(${formatShare(count / totalOf(all, request))})`;
}

/** The shares of signed bets and of quotes that were refused. */
export function refusedText(answers: readonly AnswerCount[]): string {
  const refusals = answers.filter(({ outcome }) => !SUCCESSES.has(outcome));
  const textOf = (request: number, name: string) => {
    const [refused, all] = [totalOf(refusals, request), totalOf(answers, request)];
    const share = all > 0 ? ` (${formatShare(refused / all)})` : "";
    return `${refused} of ${counted(all, name)}${share}`;
  };
  return `${textOf(0, "signed bet")} and ${textOf(1, "quote")} refused`;
}

/** The solver's start with its time, as far as it is known. */
export function startText({ startedAtMs }: Metrics): string {
  return `the solver’s start${startedAtMs ? ` at ${formatTime(startedAtMs)}` : ""}`;
}

/** The meaning of the solver's refusals for the maker. Texts for users are in data/explain.ts. */
export const REFUSAL_TEXTS: ReadonlyMap<string, string> = new Map(Object.entries({
  OUTSIDE_RANGE: "The price was outside the box when it was asked for, or when the bet was signed.",
  RANGE_BROKEN: "The price had left the box before the bet was placed.",
  RANGE_TOO_NARROW: "Its bounds are too close together for the model.",
  PAYOUT_TOO_LOW:
    "The box is so likely to hold that, after your margin, it pays no more than the stake.",
  PRICE_MOVED:
    "The price moved in the user’s favour after the quote: you would have earned less than half of " +
    "your margin. Normal in fast markets, and near the bounds of short boxes.",
  PRICE_IMPROVED:
    "The price moved against the user after the quote: a new quote pays more, and users may ask for " +
    "it. Normal in fast markets.",
  WINDOW_ENDED: "The window was over: when it was asked for, or after you held or hedged the bet.",
  DURATION_TOO_SHORT: "The window is shorter than you offer.",
  DURATION_TOO_LONG: "The window is longer than you offer.",
  INVALID_TIME_RANGE: "The window starts too early or too late.",
  BET_TOO_SMALL: "The stake is below your smallest.",
  BET_TOO_LARGE: "The stake is above your largest.",
  RISK_TOO_LARGE: "One bet would have risked more than `--max-risk`.",
  EXPOSURE_TOO_LARGE: "All open bets together would have risked more than `--max-exposure`.",
  EXPOSURE_UNKNOWN:
    "The solver did not know all its open bets: it had just started, or lost the node.",
  BALANCE_TOO_LOW: "Your balance did not cover the payout less the stake: deposit.",
  INSUFFICIENT_BALANCE: "The user’s balance did not cover the stake.",
  DEADLINE_PASSED: "The user signed too late.",
  PRICE_STALE: "The node had no fresh price.",
  ORACLE_STALE: "The node had no fresh price when the bet arrived.",
  PRICE_UNAVAILABLE: "The solver had no price.",
  VOLATILITY_UNAVAILABLE: "Too little price history to price with, as after a start.",
  HISTORY_UNAVAILABLE: "Too little price history to price with, as after a start.",
  OUTCOME_UNKNOWN: "The node’s answer was lost. The bet counts as at risk until it is known.",
  DRY_RUN: "The solver runs with `--dry-run` and takes no bets.",
  ...Object.fromEntries(
    Object.entries(NOT_COUNTED).map(([code, text]) => [
      code,
      `${text} Not counted in the percentages.`,
    ]),
  ),
}));

/** What an answer means; empty if it needs no text, or has none. */
export const meaningOf = ({ outcome }: AnswerCount) => REFUSAL_TEXTS.get(outcome) ?? "";
