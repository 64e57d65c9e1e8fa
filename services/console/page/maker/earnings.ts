/** What a maker's bets brought, and whether those that can be compared brought what was expected. */
import type { Market, Thesis } from "@rangemaker/client";
import { DAY_MS, HOUR_MS } from "../../../../lib/time.ts";
import { isDecided } from "../data/live_breaches.ts";
import { gainOf, type Results, resultsOf } from "../data/results.ts";
import {
  counted,
  formatAmount,
  formatGain,
  fromNumber,
  shortAddress,
  toNumber,
} from "../format.ts";
import {
  COUNT_MIN,
  type Forecast,
  hiddenText,
  judgeBets,
  payoutOf,
  type PredictedBet,
} from "./calibration.ts";
import { lateBets, worstLossOf } from "./exposure.ts";

/** Quoted probabilities by quote hash, as far as the solver keeps them. */
type Probabilities = ReadonlyMap<string, number>;

/** The bets with a known probability. */
function predictedBets(
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
    (sum, { thesis, probability }) =>
      sum + toNumber(thesis.betAmount) - probability * payoutOf(thesis),
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
 * The decided bets that show whether the forecasts are right: their probability is known, and their
 * window is over, because of those of the same time only lost ones are decided earlier.
 */
export function comparableBets(
  theses: readonly Thesis[],
  probabilities: Probabilities,
  nowMs: number,
): PredictedBet[] {
  const over = theses.filter((thesis) => isDecided(thesis) && thesis.endTime <= nowMs);
  return predictedBets(over, probabilities);
}

/** The realised results of all bets, or of some. */
export interface Earnings extends Results {
  name: string;
  /** Its comparable bets; undefined without any. */
  compared: Compared | undefined;
}

/** The comparable bets of a row, beside what they should have brought. */
interface Compared {
  count: number;
  profit: bigint;
  expected: bigint;
  /** A difference up to this does not show. */
  hidden: bigint;
  forecast: Forecast;
  /** `waits`: others, whose windows are over, wait for prices, as only bets that users may win do. */
  verdict: Forecast["verdict"] | "waits";
}

/** Periods up to now, in which the windows of bets ended. */
const PERIODS = [
  ["Ended in 5 min", 300_000],
  ["Ended in 1 h", HOUR_MS],
  ["Ended in 24 h", DAY_MS],
  ["Ended in 7 days", 7 * DAY_MS],
] as const;

/** Users with a row of their own. */
const USERS = 3;

interface EarningsOptions {
  markets: readonly Market[];
  probabilities: Probabilities;
  /** The solver's start, if it is known. */
  startedAtMs?: number | undefined;
  nowMs: number;
}

/**
 * The results of all settled bets, then those of each market, of periods, of the bets placed since the
 * solver's start, and of the users who won most. Periods and users with all bets are left out. A
 * bet belongs to the period in which its window ends, whenever it was lost before.
 */
export function earningsOf(theses: readonly Thesis[], options: EarningsOptions): Earnings[] {
  const { markets, probabilities, startedAtMs = 0, nowMs } = options;
  const settled = theses.filter(isDecided);
  const comparable = comparableBets(theses, probabilities, nowMs);
  const late = lateBets(theses, nowMs);
  const winners = [...Map.groupBy(settled, ({ user }) => user)]
    .map(([user, own]) => ({ user, profit: resultsOf(own).profit }))
    .filter(({ profit }) => profit < 0n)
    .sort((a, b) => Number(a.profit - b.profit)).slice(0, USERS);
  type Group = readonly [name: string, has: (bet: Thesis, timeMs: number) => boolean];
  const rowOf = ([name, has]: Group): Earnings => ({
    name,
    ...resultsOf(settled.filter((bet) => has(bet, bet.endTime))),
    compared: compare(
      name,
      comparable.filter(({ thesis }) => has(thesis, thesis.endTime)),
      late.some((bet) => has(bet, bet.endTime)),
    ),
  });
  const all = rowOf(["All", () => true]);
  const ofMarkets = markets.map(({ symbol, base, quote }): Group => [
    symbol,
    (bet) => bet.base === base && bet.quote === quote,
  ]);
  const others: Group[] = [
    ...PERIODS.map(([name, ms]): Group => [name, (_, timeMs) => timeMs > nowMs - ms]),
    ["Placed since start", ({ createdAt }) => createdAt >= startedAtMs],
    ...winners.map((
      { user },
    ): Group => [`Won most: ${shortAddress(user)}`, (bet) => bet.user === user]),
  ];
  const isPart = ({ settled, compared }: Earnings) =>
    settled < all.settled || compared?.count !== all.compared?.count;
  return [all, ...ofMarkets.map(rowOf), ...others.map(rowOf).filter(isPart)];
}

/** Judges by the payouts: a mispricing of one point costs one percent of them. */
function compare(
  name: string,
  bets: readonly PredictedBet[],
  waits: boolean,
): Compared | undefined {
  if (bets.length === 0) return undefined;
  const forecast = judgeBets(name, bets, payoutOf);
  const payouts = bets.reduce((sum, { thesis }) => sum + payoutOf(thesis), 0);
  return {
    count: bets.length,
    profit: resultsOf(bets.map(({ thesis }) => thesis)).profit,
    expected: fromNumber(expectedOf(bets)),
    hidden: fromNumber(forecast.hidden * payouts),
    forecast,
    verdict: waits ? "waits" : forecast.verdict,
  };
}

/** Of the settled bets, how many can be compared with their forecasts, and the verdict. */
export function comparedText({ compared }: Earnings): string {
  if (compared === undefined) {
    return "None can be compared with a forecast: that needs a known probability, and a window " +
      "that is over.";
  }
  const { count, profit, expected, forecast, verdict } = compared;
  const difference = profit < expected
    ? "users win more than they pay for"
    : "users are paid too little";
  const verdicts = {
    waits: "no verdict while bets wait for prices",
    few: `a verdict needs ${COUNT_MIN} bets`,
    off: `▲ more than chance: ${difference}`,
    fits: hiddenText(forecast.hidden),
  };
  return `Of these, ${
    counted(count, "bet")
  } can be compared with the forecast (its probability is ` +
    `known, its window over): ${formatGain(profit)} USDC, ${formatGain(expected)} expected; ` +
    `${verdicts[verdict]}.`;
}

/** How many bets have a window that is over and wait for prices, and what they may cost; empty if none. */
export function lateText(late: readonly Thesis[]): string {
  if (late.length === 0) return "";
  return `▲ ${counted(late.length, "bet")} whose window is over ${
    late.length === 1 ? "waits" : "wait"
  } for prices: up to ${formatAmount(-worstLossOf(late))} USDC is still to come.`;
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
