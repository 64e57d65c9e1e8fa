/** Bets: which are open, and what came of them, for programs and in words. */
import { isUnsettled, type Market, type Thesis } from "@rangemaker/client";
import { explain } from "./explain.ts";
import {
  countdownText,
  decimalsOf,
  formatAmount,
  formatCents,
  formatDigits,
  formatTime,
  toNumber,
} from "../parts/format.ts";

/** Whether the outcome of a thesis is known: settled by the node, or the page saw the breach. */
export function isDecided({ status, breach }: Thesis): boolean {
  return !isUnsettled(status) || breach !== undefined;
}

/** Whether a bet is lost, as far as is known. */
export const isLost = (thesis: Thesis) => isDecided(thesis) && thesis.status !== "won";

/** The theses whose outcome is not known. */
export const openOf = (theses: readonly Thesis[]) => theses.filter((thesis) => !isDecided(thesis));

/** The bets of a market: others may have the same base token. */
export function betsOn(
  theses: readonly Thesis[],
  { base, quote }: Pick<Market, "base" | "quote">,
): readonly Thesis[] {
  return theses.filter((bet) => bet.base === base && bet.quote === quote);
}

/** What a decided bet gained; below 0 if it is lost. */
export function gainOf({ status, betAmount, payout }: Thesis): bigint {
  return status === "won" ? payout - betAmount : -betAmount;
}

/** What a won bet paid out, or where the price left the box of a lost one, if that is known. */
export function outcomeDetail(thesis: Thesis): string {
  const { status, payout, breach, lowerPrice } = thesis;
  if (status === "won") return `${formatAmount(payout)} paid out.`;
  if (breach === undefined) return "";
  const [price, side] = crossingText(thesis, breach.price);
  return breach.price < lowerPrice
    ? `The price fell to ${price}, below ${side}.`
    : `The price rose to ${price}, above ${side}.`;
}

/** The outcome of a decided bet in words. */
export function outcomeText(thesis: Thesis): string {
  const { id, status, betAmount } = thesis;
  const outcome = status === "won"
    ? `won ${formatAmount(gainOf(thesis))} USDC:`
    : `lost: ${formatAmount(betAmount)} USDC.`;
  return `Bet ${id} ${outcome} ${outcomeDetail(thesis)}`.trim();
}

/** Tells that a bet is placed: it may have ended before its page learned of it. */
export function placedText(
  id: number,
  { payout, startTime, endTime }: Pick<Thesis, "payout" | "startTime" | "endTime">,
  nowMs: number,
): string {
  if (endTime <= nowMs) return `Bet ${id} was placed, and its window is over.`;
  const begins = startTime > nowMs ? `starts in ${countdownText(startTime - nowMs)}` : "has begun";
  return `Bet ${id} is placed: it pays ${formatCents(payout)} USDC if the price stays in the ` +
    `box. The window ${begins}.`;
}

/**
 * Says that there is no quote, or that a signed bet was not placed, and why.
 *
 * @param startMs The start of a signed bet's window: the text may be shown beside other bets.
 */
export function notPlacedText(reason: unknown, startMs?: number): string {
  const nothing = startMs === undefined
    ? "No quote was made."
    : `No bet was placed on the box from ${formatTime(startMs)}; no money was taken.`;
  return `${nothing} ${explain(reason).text}`;
}

/** A price outside a box and the side that it crossed, with enough digits to tell them apart. */
export function crossingText(
  { lowerPrice, upperPrice }: Pick<Thesis, "lowerPrice" | "upperPrice">,
  price: bigint,
): [price: string, side: string] {
  const numbers = [price, price < lowerPrice ? lowerPrice : upperPrice].map(toNumber);
  for (let digits = decimalsOf(numbers[1]!);; digits++) {
    const [one = "", other = ""] = numbers.map((number) => formatDigits(number, digits));
    if (one !== other || digits >= 6) return [one, other];
  }
}
