/** How long a quote can still be signed. */
import type { Quote } from "@rangemaker/client";
import { durationText, formatTime } from "../format.ts";

/** Nothing is signed later than this before the end, because a signature takes time to arrive. */
const SIGN_MARGIN_MS = 5_000;

/** Whether a quote can be signed, and for how long. */
export interface QuoteLife {
  state: "valid" | "expired" | "window_over";
  /** Time until it can no longer be signed. */
  remainingMs: number;
}

/** Computes the remaining time to the deadline, or to the end of the window if that is sooner. */
export function quoteLife(
  { deadline, endTime }: Pick<Quote, "deadline" | "endTime">,
  nowMs: number,
): QuoteLife {
  const remainingMs = Math.max(0, Math.min(deadline - SIGN_MARGIN_MS, endTime) - nowMs);
  if (nowMs >= endTime) return { state: "window_over", remainingMs };
  return { state: remainingMs > 0 ? "valid" : "expired", remainingMs };
}

/**
 * Time until a quote should be signed: until its window starts or, if that is earlier or over, until
 * it can no longer be signed. Once the window has begun, makers refuse most quotes.
 */
export function signWithinMs(quote: QuoteTimes, nowMs: number): number {
  const { remainingMs } = quoteLife(quote, nowMs);
  const aheadMs = quote.startTime - nowMs;
  return aheadMs > 0 ? Math.min(remainingMs, aheadMs) : remainingMs;
}

/** The one deadline that users see and hear. */
export function signWithinText(ms: number): string {
  return `Sign within ${durationText(1_000 * Math.ceil(ms / 1_000))}`;
}

type QuoteTimes = Pick<Quote, "deadline" | "startTime" | "endTime">;

/** By when to sign a quote, and when its window runs. Only the deadline counts down. */
export function windowText(quote: QuoteTimes, nowMs: number): string {
  const { startTime, endTime } = quote;
  const withinMs = signWithinMs(quote, nowMs);
  const sign = signWithinText(withinMs);
  const lasts = durationText(endTime - startTime);
  if (nowMs >= startTime) {
    return `The window has begun. ${sign}: the maker may refuse it now; then nothing is taken.`;
  }
  return nowMs + withinMs < startTime
    ? `${sign}. The window starts at ${formatTime(startTime)} and lasts ${lasts}.`
    : `${sign}, before the window starts. It lasts ${lasts}.`;
}

/** Why a quote can no longer be signed. */
export function overText({ endTime }: Pick<Quote, "endTime">, nowMs: number): string {
  return nowMs >= endTime ? "Too late: the window has ended." : "The quote has expired.";
}

/** Whether a price is outside the box of a quote. */
export function isOutside(
  { lowerPrice, upperPrice }: Pick<Quote, "lowerPrice" | "upperPrice">,
  price: bigint,
): boolean {
  return price < lowerPrice || price > upperPrice;
}

/** The effect of a price outside a quote's box before the window begins. */
export function outsideText(quote: QuoteTimes, nowMs: number): string {
  return "The price is outside the box. It has to be inside when the window starts, or you lose. " +
    `${signWithinText(signWithinMs(quote, nowMs))}.`;
}
