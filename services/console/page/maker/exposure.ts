/** Possible losses on open bets: by price, and within the limit. */
import type { Thesis } from "@rangemaker/client";
import { worstCaseLoss } from "../../../../lib/prices/worst_case_loss.ts";
import { EXPOSURE_LIMITS } from "../../../../lib/problems/mod.ts";
import { openOf } from "../data/outcome.ts";
import {
  formatCents,
  formatLoss,
  formatShare,
  formatTime,
  spanText,
  toNumber,
} from "../parts/format.ts";

/** Profit on one market's open bets if its price moves to a given price now and stays there. */
export interface Payoff {
  /** At prices outside all boxes. */
  outside: bigint;
  /** Prices in ascending order, each with the profit from there on. */
  steps: readonly { price: number; profit: bigint }[];
  /** The least profit, and the lowest prices that bring it. */
  worst: { profit: bigint; low: number; high: number };
}

/**
 * The profit on the open bets of one market at each price; undefined without bets that a price
 * decides.
 */
export function payoffOf(theses: readonly Thesis[], nowMs: number): Payoff | undefined {
  const open = openOf(theses);
  const edges = open.filter(({ endTime }) => endTime > nowMs)
    .flatMap(({ lowerPrice, upperPrice, payout }) => [
      { price: toNumber(lowerPrice), change: -payout },
      { price: toNumber(upperPrice), change: payout },
    ])
    // Both bounds belong to a box.
    .sort((a, b) => a.price - b.price || Number(a.change - b.change));
  if (edges.length === 0) return undefined;
  const outside = open.reduce(
    (sum, { betAmount, payout, endTime }) => sum + betAmount - (endTime > nowMs ? 0n : payout),
    0n,
  );
  let profit = outside;
  const steps = edges.map(({ price, change }) => ({ price, profit: profit += change }));
  const worst = steps.reduce((least, step) => step.profit < least.profit ? step : least);
  const end = steps[steps.indexOf(worst) + 1] ?? worst;
  return {
    outside,
    steps,
    worst: { profit: worst.profit, low: worst.price, high: end.price },
  };
}

/** How long a bet lasts, with a detail; of a bet that has not begun, both times. */
export function timeTexts(
  { status, startTime, endTime }: Thesis,
  nowMs: number,
): [text: string, detail: string] {
  const [start, end] = [startTime, endTime].map(formatTime);
  const detail = `${nowMs < endTime ? "ends" : "ended"} ${end}`;
  if (status === "needs_backfill") return ["waits for missing prices", detail];
  const [from, to] = [spanText(startTime - nowMs), spanText(endTime - nowMs)];
  const [number, unit = ""] = from.split(" ");
  if (nowMs < startTime) {
    return [`in ${to.endsWith(unit) ? number : from}–${to}`, `${start} – ${end}`];
  }
  return [nowMs < endTime ? to : "being settled", detail];
}

/** The price that may decide a bet now: none once its window is over. */
export const decidingPrice = ({ endTime }: Thesis, price: number | undefined, nowMs: number) =>
  nowMs < endTime ? price : undefined;

/** The most that the open bets can lose, over all price paths. */
export const worstLossOf = (theses: readonly Thesis[]) => worstCaseLoss(openOf(theses));

/** What bounds new bets, USDC with 6 decimals. */
interface Bounds {
  atRisk: bigint;
  /** `--max-exposure`; null without one. */
  maxExposure: bigint | null;
  /** The money of the solver's account, for new bets and in open ones. */
  account: { balance: bigint; locked: bigint };
}

/** How much more may be risked, as text with a style, and the used share of what bounds it. */
export function headroomOf(
  { atRisk, maxExposure: max, account }: Bounds,
): { style: string; text: string; used?: number } {
  const { balance, locked } = account;
  if (balance + locked === 0n) {
    return { style: "lost", text: "✕ No money: every bet is refused until you deposit some." };
  }
  const isMoneyLeast = max === null || balance < max - atRisk;
  const { left, taken, all } = isMoneyLeast
    ? { left: balance, taken: locked, all: balance + locked }
    : { left: max - atRisk, taken: atRisk, all: max };
  const used = Number(taken) / Math.max(1, Number(all));
  const [style, state] = stateOf(used, left);
  // 99.6 % is not all.
  const share = formatShare(used < 1 ? Math.min(used, 0.99) : used);
  const of = isMoneyLeast
    ? "your money is in open bets"
    : `the limit of ${formatCents(all)} is used`;
  const noLimit = max === null ? " No `--max-exposure` is set." : "";
  return { style, used, text: `${state}. ${share} of ${of}.${noLimit}` };
}

function stateOf(used: number, left: bigint): [style: string, text: string] {
  const free = formatCents(left);
  const refused = `bets that would risk more than ${free} USDC are refused`;
  if (used > 1) {
    const over = formatLoss(-left);
    return ["lost", `✕ Over the limit by ${over} USDC: every bet that adds to it is refused`];
  }
  if (used > EXPOSURE_LIMITS.full) return ["lost", `✕ Full: ${refused}`];
  if (used > EXPOSURE_LIMITS.high) return ["warning", `▲ Nearly full: ${refused}`];
  return ["won", `✓ Fine: ${free} USDC is free`];
}
