/** What a maker's bets brought, beside what their quoted probabilities made it expect. */
import type { Market, Thesis } from "@rangemaker/client";
import { CALIBRATION } from "../../../../lib/problems/mod.ts";
import { DAY_MS, HOUR_MS } from "../../../../lib/time.ts";
import { isDecided } from "../data/live_breaches.ts";
import { gainOf, type Results, resultsOf } from "../data/results.ts";
import { formatGain, fromNumber, toNumber } from "../format.ts";

/** A bet with the probability that was quoted for it. */
export interface PredictedBet {
  thesis: Thesis;
  probability: number;
}

/** Quoted probabilities by quote hash, as far as the solver keeps them. */
type Probabilities = ReadonlyMap<string, number>;

/** The bets with a known probability. */
export function predictedBets(
  theses: readonly Thesis[],
  probabilities: Probabilities,
): PredictedBet[] {
  return theses.flatMap((thesis) => {
    const probability = probabilities.get(thesis.quoteHash);
    return probability === undefined ? [] : [{ thesis, probability }];
  });
}

/** What bets should bring, USDC. */
const expectedOf = (bets: readonly PredictedBet[]) =>
  bets.reduce(
    (sum, { thesis: { betAmount, payout }, probability }) =>
      sum + toNumber(betAmount) - probability * toNumber(payout),
    0,
  );

/** What the open bets should bring, USDC; undefined unless all probabilities are known. */
export function expectedOfOpen(
  theses: readonly Thesis[],
  probabilities: Probabilities,
): number | undefined {
  const open = theses.filter((thesis) => !isDecided(thesis));
  const predicted = predictedBets(open, probabilities);
  return open.length > 0 && predicted.length === open.length ? expectedOf(predicted) : undefined;
}

/**
 * The decided bets whose results show whether the maker earns what it expects: their window is over,
 * because of those of the same time only lost ones are decided earlier, and their probability is
 * known, unless none is.
 */
export function comparableBets(
  theses: readonly Thesis[],
  probabilities: Probabilities,
  nowMs: number,
): Thesis[] {
  const over = theses.filter((thesis) => isDecided(thesis) && thesis.endTime <= nowMs);
  const known = over.filter(({ quoteHash }) => probabilities.has(quoteHash));
  return known.length > 0 ? known : over;
}

/** The results of a market, of a period or of all bets. */
export interface Earnings extends Results {
  name: string;
  /** What these bets should have brought, USDC; undefined if their probabilities are unknown. */
  expected: number | undefined;
  /** Between what chance alone puts the profit in 19 of 20 cases, USDC; unknown like `expected`. */
  byChance: readonly [low: number, high: number] | undefined;
}

/** Periods up to now. */
const PERIODS = [
  ["Last 5 min", 300_000],
  ["Last hour", HOUR_MS],
  ["Last 24 h", DAY_MS],
  ["Last 7 days", 7 * DAY_MS],
] as const;

/**
 * The earnings from all comparable bets, from those of each market, and from those whose window ended
 * in each period that does not contain all.
 */
export function earningsOf(
  theses: readonly Thesis[],
  markets: readonly Market[],
  probabilities: Probabilities,
  nowMs: number,
): Earnings[] {
  const groups: (readonly [string, readonly Thesis[]])[] = [
    ["All", theses],
    ...markets.map(({ symbol, base, quote }) =>
      [symbol, theses.filter((bet) => bet.base === base && bet.quote === quote)] as const
    ),
    ...PERIODS.map(([name, ms]) =>
      [name, theses.filter(({ endTime }) => endTime > nowMs - ms)] as const
    ).filter(([, bets]) => bets.length < theses.length),
  ];
  return groups.map(([name, bets]) => {
    const predicted = predictedBets(bets, probabilities);
    if (predicted.length === 0) {
      return { name, ...resultsOf(bets), expected: undefined, byChance: undefined };
    }
    const expected = expectedOf(predicted);
    const chance = chanceOf(predicted);
    const sumOf = (amountOf: (bet: Thesis) => bigint) =>
      predicted.reduce((sum, { thesis }) => sum + toNumber(amountOf(thesis)), 0);
    const least = -sumOf(({ payout, betAmount }) => payout - betAmount);
    const most = sumOf(({ betAmount }) => betAmount);
    const byChance = [
      Math.max(least, expected - chance),
      Math.min(most, expected + chance),
    ] as const;
    return { name, ...resultsOf(bets), expected, byChance };
  });
}

/** Where chance alone puts the profit, marked if it is elsewhere; undefined for too few bets. */
export function chanceText(
  { settled, profit, byChance }: Pick<Earnings, "settled" | "profit" | "byChance">,
): string | undefined {
  if (byChance === undefined || settled < CALIBRATION.countMin) return undefined;
  const [low = 0n, high = 0n] = byChance.map(fromNumber);
  const isExplained = low <= profit && profit <= high;
  return `${isExplained ? "" : "▲ "}${formatGain(low)} to ${formatGain(high)}`;
}

/** A number of bets. */
export const betsText = (count: number) => `${count} ${count === 1 ? "bet" : "bets"}`;

/** What bets brought and what was expected, in a sentence. */
export function earnedText(row: Earnings): string {
  const { settled, profit, expected } = row;
  const earned = `${formatGain(profit)} USDC on ${betsText(settled)}`;
  if (expected === undefined) return `${earned}.`;
  const range = chanceText(row);
  const verdict = range === undefined
    ? `chance is compared from ${CALIBRATION.countMin} bets on`
    : range.startsWith("▲")
    ? "▲ a difference that chance does not explain"
    : "chance explains the difference";
  return `${earned}, ${formatGain(fromNumber(expected))} expected: ${verdict}.`;
}

/** The decided bets that are not compared, and why; undefined if there are none. */
export function leftOutText(
  theses: readonly Thesis[],
  compared: readonly Thesis[],
  nowMs: number,
): string | undefined {
  const known = new Set(compared);
  const left = theses.filter((thesis) => isDecided(thesis) && !known.has(thesis));
  const early = left.filter(({ endTime }) => endTime > nowMs).length;
  const counts = [[early, "window is not over"], [left.length - early, "probability is unknown"]];
  const reasons = counts.filter(([count]) => count !== 0).map(([count, why]) =>
    `${count} whose ${why}`
  );
  if (reasons.length === 0) return undefined;
  const { profit } = resultsOf(left);
  return `Not counted: ${formatGain(profit)} USDC on decided bets, ${reasons.join(" and ")}.`;
}

/**
 * Two standard deviations of the profit from bets, USDC. Bets of one market are correlated by the
 * share of time that their windows have in common.
 */
export function chanceOf(predicted: readonly PredictedBet[]): number {
  const bets = predicted.map(({ thesis, probability }) => ({
    ...thesis,
    deviation: toNumber(thesis.payout) * Math.sqrt(probability * (1 - probability)),
  })).sort((a, b) => a.startTime - b.startTime);
  let variance = 0;
  for (const [index, bet] of bets.entries()) {
    variance += bet.deviation ** 2;
    for (let next = index + 1; next < bets.length; next++) {
      const other = bets[next]!; // below the length
      if (other.startTime >= bet.endTime) break;
      if (other.base !== bet.base || other.quote !== bet.quote) continue;
      const sharedMs = Math.min(bet.endTime, other.endTime) - other.startTime;
      const longerMs = Math.max(bet.endTime - bet.startTime, other.endTime - other.startTime);
      variance += 2 * bet.deviation * other.deviation * sharedMs / longerMs;
    }
  }
  return 2 * Math.sqrt(variance);
}

/** The total profit after each bet, in the order in which they were decided. */
export function profitHistory(theses: readonly Thesis[]) {
  let profit = 0n;
  return theses.toSorted((a, b) => timeOf(a) - timeOf(b) || a.id - b.id).map((thesis) => {
    profit += gainOf(thesis);
    return { timeMs: timeOf(thesis), profit };
  });
}

const timeOf = ({ settledAt, breach, endTime }: Thesis) => settledAt ?? breach?.time ?? endTime;
