/** Results of a maker's bets, computed from the theses alone. */
import type { Market, Thesis } from "@rangemaker/client";
import { DAY_MS, HOUR_MS } from "../../../../lib/time.ts";
import { isDecided } from "./live_breaches.ts";

/** Results of a set of bets from the maker's side. */
export interface Results {
  open: number;
  /** The maker's loss if all open bets are won by their users. */
  atRisk: bigint;
  settled: number;
  /** Number of settled bets that users won, because the price stayed in the box. */
  held: number;
  /** Gains minus losses on settled bets. */
  profit: bigint;
  /** Stakes of settled bets. */
  turnover: bigint;
}

/** The maker's gain from a settled bet. */
export function gainOf(thesis: Thesis): bigint {
  const { status, betAmount, payout } = thesis;
  if (status === "won") return betAmount - payout;
  return isDecided(thesis) ? betAmount : 0n;
}

/** Sums up bets. */
export function resultsOf(theses: readonly Thesis[]): Results {
  const open = theses.filter((thesis) => !isDecided(thesis));
  const settled = theses.filter(isDecided);
  return {
    open: open.length,
    atRisk: sumOf(open, ({ betAmount, payout }) => payout - betAmount),
    settled: settled.length,
    held: settled.filter(({ status }) => status === "won").length,
    profit: sumOf(settled, gainOf),
    turnover: sumOf(settled, ({ betAmount }) => betAmount),
  };
}

/** The results of each market, by symbol. */
export function resultsByMarket(
  theses: readonly Thesis[],
  markets: readonly Market[],
): [symbol: string, results: Results][] {
  return markets.map(({ symbol, base, quote }) => [
    symbol,
    resultsOf(theses.filter((thesis) => thesis.base === base && thesis.quote === quote)),
  ]);
}

/** Periods up to now. */
const PERIODS = [
  ["Last 5 min", 300_000],
  ["Last hour", HOUR_MS],
  ["Last 24 h", DAY_MS],
  ["Last 7 days", 7 * DAY_MS],
  ["Last 30 days", 30 * DAY_MS],
] as const;

/** The results of bets decided in each period. Periods that contain all bets are left out. */
export function resultsByPeriod(
  theses: readonly Thesis[],
  nowMs: number,
): [period: string, results: Results][] {
  const decided = theses.filter(isDecided);
  return PERIODS.map(([name, ms]): [string, Results] => [
    name,
    resultsOf(decided.filter((thesis) => timeOf(thesis) > nowMs - ms)),
  ]).filter(([, { settled }]) => settled < decided.length);
}

/** The total profit after each settlement, in chronological order. */
export function historyOf(theses: readonly Thesis[]) {
  let profit = 0n;
  const settled = theses.filter(isDecided);
  return settled.sort((a, b) => timeOf(a) - timeOf(b) || a.id - b.id).map((thesis) => {
    profit += gainOf(thesis);
    return { timeMs: timeOf(thesis), profit };
  });
}

const timeOf = ({ settledAt, breach, endTime }: Thesis) => settledAt ?? breach?.time ?? endTime;

function sumOf(theses: readonly Thesis[], part: (thesis: Thesis) => bigint): bigint {
  return theses.reduce((sum, thesis) => sum + part(thesis), 0n);
}

/** Positions of labels as shares of the width, far enough apart for their texts on a phone. */
export const LABELS = { day: [0, 0.5], time: [0, 0.4, 0.7] };

/** The first point at or after each position. A short history has fewer labels. */
export function labelIndices(length: number, shares = LABELS.time): number[] {
  return shares.map((share) => Math.ceil(share * length)).filter((index) => index < length);
}
