/** What a maker's bets brought, and whether those that can be compared brought what was expected. */
import type { Market, Thesis } from "@rangemaker/client";
import { CALIBRATION } from "../../../../lib/problems/mod.ts";
import { riskOf } from "../../../../lib/protocol/bet.ts";
import { DAY_MS, HOUR_MS } from "../../../../lib/time.ts";
import { gainOf, isDecided } from "../data/live_breaches.ts";
import {
  counted,
  formatCents,
  formatProfit,
  formatShare,
  fromNumber,
  toNumber,
} from "../parts/format.ts";
import {
  COUNT_MIN,
  deviationOf,
  OVERLAP_TEXT,
  payoutOf,
  type PredictedBet,
} from "./calibration.ts";
import { lateBets } from "./exposure.ts";

/** Results of a set of bets from the maker's side. */
interface Results {
  open: number;
  /** The maker's loss if all open bets are won by their users. */
  atRisk: bigint;
  settled: number;
  /** Number of settled bets that users won, because the price stayed in the box. */
  held: number;
  /** Of settled bets. */
  stakes: bigint;
  /** Gains minus losses on settled bets. */
  profit: bigint;
}

/** The maker's gain from a settled bet. */
export const makerGainOf = (thesis: Thesis) => isDecided(thesis) ? -gainOf(thesis) : 0n;

/** Sums up bets. */
export function resultsOf(theses: readonly Thesis[]): Results {
  const open = theses.filter((thesis) => !isDecided(thesis));
  const settled = theses.filter(isDecided);
  return {
    open: open.length,
    atRisk: sumOf(open, riskOf),
    settled: settled.length,
    held: settled.filter(({ status }) => status === "won").length,
    stakes: sumOf(settled, ({ betAmount }) => betAmount),
    profit: sumOf(settled, makerGainOf),
  };
}

function sumOf(theses: readonly Thesis[], part: (thesis: Thesis) => bigint): bigint {
  return theses.reduce((sum, thesis) => sum + part(thesis), 0n);
}

/** Quoted probabilities by quote hash, as far as the solver keeps them. */
type Probabilities = ReadonlyMap<string, number>;

/** What bets should bring, USDC. */
const expectedOf = (bets: readonly PredictedBet[]) =>
  bets.reduce(
    (sum, { thesis, probability }) =>
      sum + toNumber(thesis.betAmount) - probability * payoutOf(thesis),
    0,
  );

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
  return over.flatMap((thesis) => {
    const probability = probabilities.get(thesis.quoteHash);
    return probability === undefined ? [] : [{ thesis, probability }];
  });
}

/** The realised results of all bets, or of some. */
export interface Earnings extends Results {
  name: string;
  /** Its comparable bets; undefined without any. */
  compared: Compared | undefined;
  /** The part of the profit on bets whose window still runs: of those, only lost ones are decided. */
  early: bigint;
}

/** The comparable bets of a row, beside what they should have brought. */
interface Compared {
  count: number;
  /** In whole cents, so that it and the difference add up as shown. */
  expected: bigint;
  /** The profit less `expected`. */
  difference: bigint;
  /** The difference in standard errors. */
  errors: number;
  /** Whether chance explains the difference, or why that cannot be said. */
  verdict: "fits" | "off" | "few" | "dominated" | "waits";
}

/** Periods up to now, in which the windows of bets ended. */
const PERIODS = [
  ["Last 5 min", 300_000],
  ["Last 1 h", HOUR_MS],
  ["Last 24 h", DAY_MS],
  ["Last 7 days", 7 * DAY_MS],
] as const;

interface EarningsOptions {
  markets: readonly Market[];
  probabilities: Probabilities;
  /** The solver's start, if it is known. */
  startedAtMs?: number | undefined;
  nowMs: number;
}

/**
 * The results of all settled bets, then those of each market, of periods, and of the bets placed since
 * the solver's start. Periods with all bets are left out. A period has the profit on bets that were
 * decided in it, and compares those whose window ended in it.
 */
export function earningsOf(theses: readonly Thesis[], options: EarningsOptions): Earnings[] {
  const { markets, probabilities, startedAtMs = 0, nowMs } = options;
  const settled = theses.filter(isDecided);
  const comparable = comparableBets(theses, probabilities, nowMs);
  const late = lateBets(theses, nowMs);
  const rowOf = (name: string, has: (bet: Thesis) => boolean, hasOver = has): Earnings => ({
    name,
    ...resultsOf(settled.filter(has)),
    compared: compare(comparable.filter(({ thesis }) => hasOver(thesis)), late.some(hasOver)),
    early: resultsOf(settled.filter((bet) => bet.endTime > nowMs && has(bet))).profit,
  });
  const all = rowOf("All", () => true);
  const ofMarkets = markets.map(({ symbol, base, quote }) =>
    rowOf(symbol, (bet) => bet.base === base && bet.quote === quote)
  );
  const ofTimes = [
    ...PERIODS.map(([name, ms]) =>
      rowOf(name, (bet) => timeOf(bet) > nowMs - ms, ({ endTime }) => endTime > nowMs - ms)
    ),
    rowOf("Placed since start", ({ createdAt }) => createdAt >= startedAtMs),
  ];
  const isPart = ({ settled, compared }: Earnings) =>
    settled < all.settled || compared?.count !== all.compared?.count;
  return [all, ...ofMarkets, ...ofTimes.filter(isPart)];
}

/** More standard errors than this are not chance. */
const ERRORS_MAX = CALIBRATION.errors;

/** If so few bets decide more than half of a result, its standard error says little. */
const DOMINANT = 5;

function compare(bets: readonly PredictedBet[], waits: boolean): Compared | undefined {
  if (bets.length === 0) return undefined;
  const { profit } = resultsOf(bets.map(({ thesis }) => thesis));
  const expected = fromNumber(Math.floor(100 * expectedOf(bets)) / 100);
  const difference = profit - expected;
  const error = deviationOf(bets, payoutOf);
  const errors = error === 0 ? 0 : toNumber(difference) / error;
  const variances = bets.map((bet) => deviationOf([bet], payoutOf) ** 2).sort((a, b) => b - a);
  const sumOf = (parts: readonly number[]) => parts.reduce((sum, part) => sum + part, 0);
  const isDominated = 2 * sumOf(variances.slice(0, DOMINANT)) > sumOf(variances);
  const verdict = waits
    ? "waits"
    : bets.length < COUNT_MIN
    ? "few"
    : isDominated
    ? "dominated"
    : Math.abs(errors) > ERRORS_MAX
    ? "off"
    : "fits";
  return { count: bets.length, expected, difference, errors, verdict };
}

/** What the columns of the comparison mean. */
export const COMPARED_NOTE =
  "Window over: the profit on bets with a quoted probability whose window is over. Expected: what they " +
  "should have brought. A period has the bets decided in it, and compares those whose window ended in " +
  "it. s.e.: standard errors. Chance alone " +
  `stays within 2 in 95 % of cases, and almost always within ${ERRORS_MAX} (▲ marks more). ${OVERLAP_TEXT}`;

/** What the settled bets brought. */
export function earnedText({ settled, profit, stakes, early }: Earnings): string {
  const amount = formatProfit(profit).replace(/^[+−]/, "");
  const share = formatShare(Math.abs(Number(profit) / Number(stakes)));
  return `You ${profit < 0n ? "lost" : "earned"} ${amount} USDC on ${
    counted(settled, "bet")
  }, ${share} of the ${formatCents(stakes)} that was bet.` +
    (early === 0n ? "" : ` That includes ${formatProfit(early)} on bets ` +
      "whose window is still running; bets that users win are settled later.");
}

/** The settled bets that can be compared with their forecasts, and the verdict. */
export function comparedText({ compared }: Earnings): string {
  if (compared === undefined) {
    return "None can be compared: that needs a quoted probability, and a window that is over.";
  }
  const { count, expected, difference, errors, verdict } = compared;
  const verdicts = {
    waits: "No verdict while bets wait for prices.",
    few: `A verdict needs ${COUNT_MIN} bets.`,
    dominated: `No verdict: the ${DOMINANT} largest bets decide more than half of it.`,
    off: `▲ More than chance: users ${
      errors < 0 ? "win more than they pay for" : "are paid too little"
    }.`,
    fits: Math.abs(errors) > 2 ? "Chance alone rarely does that." : "That may be chance.",
  };
  const [brought, due] = [expected + difference, expected].map(formatProfit);
  const distance = Math.abs(errors).toFixed(1);
  const side = errors < 0 ? "below" : "above";
  return `${
    counted(count, "bet")
  } whose window is over brought ${brought} USDC, where ${due} was ` +
    `expected. That is ${distance} standard errors ${side} expected. ${verdicts[verdict]}`;
}

/**
 * What the settled bets brought, and what was expected; and which of the other rows differ by more than
 * chance. While some have a window that runs, the comparison is first: of those, only lost ones are
 * settled.
 */
export function resultsText([all, ...others]: readonly [Earnings, ...Earnings[]]): string {
  const texts = [earnedText(all), comparedText(all)];
  if (all.early !== 0n) texts.reverse();
  const off = others.filter(({ compared }) => compared?.verdict === "off").map(({ name }) => name);
  if (off.length > 0) texts.push(`▲ More than chance in: ${off.join(", ")}.`);
  return texts.join(" ");
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
