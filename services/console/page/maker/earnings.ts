/** What a maker's bets brought, by market and period. */
import type { Market, Thesis } from "@rangemaker/client";
import { DAY_MS, HOUR_MS } from "../../../../lib/time.ts";
import { betsOn, gainOf, isDecided } from "../data/outcome.ts";
import { counted, formatCents, formatProfit, formatShare } from "../parts/format.ts";

/** What settled bets brought the maker: all of them, or some. */
export interface Earnings {
  name: string;
  settled: number;
  /** Number of bets that users won, because the price stayed in the box. */
  held: number;
  stakes: bigint;
  /** Gains minus losses. */
  profit: bigint;
}

/** The maker's gain from a settled bet. */
export const makerGainOf = (thesis: Thesis) => -gainOf(thesis);

const rowOf = (name: string, bets: readonly Thesis[]): Earnings => ({
  name,
  settled: bets.length,
  held: bets.filter(({ status }) => status === "won").length,
  stakes: bets.reduce((sum, { betAmount }) => sum + betAmount, 0n),
  profit: bets.reduce((sum, thesis) => sum + makerGainOf(thesis), 0n),
});

/** Periods up to now, in which bets were decided. */
const PERIODS = [
  ["Last 5 min", 300_000],
  ["Last 1 h", HOUR_MS],
  ["Last 24 h", DAY_MS],
  ["Last 7 days", 7 * DAY_MS],
] as const;

/**
 * The results of all settled bets, then those of each market and of periods. Periods with all bets are
 * left out.
 */
export function earningsOf(
  theses: readonly Thesis[],
  markets: readonly Market[],
  nowMs: number,
): [all: Earnings, ...others: Earnings[]] {
  const settled = theses.filter(isDecided);
  const ofMarkets = markets.map((market) => rowOf(market.symbol, betsOn(settled, market)));
  const ofPeriods = PERIODS.map(([name, ms]) =>
    rowOf(name, settled.filter((bet) => timeOf(bet) > nowMs - ms))
  ).filter((row) => row.settled < settled.length);
  return [rowOf("All", settled), ...ofMarkets, ...ofPeriods];
}

/** What the settled bets brought. */
export function earnedText({ settled, profit, stakes }: Earnings): string {
  const amount = formatProfit(profit).replace(/^[+−]/, "");
  const share = formatShare(Math.abs(Number(profit) / Number(stakes)));
  return `You ${profit < 0n ? "lost" : "earned"} ${amount} USDC on ${
    counted(settled, "bet")
  }, ${share} of the ${formatCents(stakes)} that was bet.`;
}

/** The total profit after each bet, in the order in which they were decided. */
export function profitHistory(theses: readonly Thesis[]) {
  let profit = 0n;
  return theses.toSorted((a, b) => timeOf(a) - timeOf(b) || a.id - b.id).map((thesis) => {
    profit += makerGainOf(thesis);
    return { timeMs: timeOf(thesis), profit };
  });
}

const timeOf = ({ settledAt, breach, endTime }: Thesis) => settledAt ?? breach?.time ?? endTime;
