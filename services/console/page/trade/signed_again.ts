/** Decides whether a bet whose price moved during signing is signed again, and for which quote. */
import type { Bet, Quote } from "@rangemaker/client";
import { betOf, SUGGESTED_START_MS } from "./draft.ts";
import { leastPayout } from "./odds.ts";

/** How often a bet is signed again if its payout keeps moving: fewer times if it now pays less. */
const SIGNED_AGAIN_MAX = { less: 3, more: 10 };

/** Quotes of one bet, in their order. */
export interface QuoteRow {
  /** The quote that the user agreed to. */
  first: Quote;
  refused: Quote;
  next: Quote;
}

/**
 * Whether the next quote is signed without asking.
 *
 * @param times How often it was signed again already.
 */
export function isSignedAgain(
  { first, refused, next }: QuoteRow,
  tolerancePercent: number,
  times: number,
): boolean {
  return next.startTime === first.startTime &&
    next.payout >= leastPayout(first, tolerancePercent) &&
    times < SIGNED_AGAIN_MAX[next.payout > refused.payout ? "more" : "less"];
}

/** The bet of a refused quote. If its window has begun, it starts as the fields say. */
export function betToSignAgain(
  symbol: string,
  quote: Quote,
  startsInMs: number | undefined,
  nowMs: number,
): Bet {
  const { lowerPrice, upperPrice, startTime, endTime, betAmount } = quote;
  const aheadMs = startTime - nowMs;
  const times = {
    startsInMs: aheadMs > 0 ? aheadMs : startsInMs ?? SUGGESTED_START_MS,
    durationMs: endTime - startTime,
  };
  return betOf(symbol, { lowerPrice, upperPrice, ...times }, betAmount, nowMs);
}
