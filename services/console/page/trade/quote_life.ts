/** How long a quote can still be signed. */
import type { Quote } from "@rangemaker/client";
import { durationText } from "../format.ts";

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
 * By when to sign a quote, and when its window runs. A window that starts before the quote expires
 * is the earlier deadline: once it has begun, makers refuse most quotes.
 */
export function windowText(
  quote: Pick<Quote, "deadline" | "startTime" | "endTime">,
  nowMs: number,
): string {
  const { startTime, endTime } = quote;
  const secondsText = (ms: number) => durationText(1_000 * Math.ceil(ms / 1_000));
  if (nowMs >= startTime) {
    // At most its length, which may be no whole number of seconds.
    const leftMs = Math.min(1_000 * Math.ceil((endTime - nowMs) / 1_000), endTime - startTime);
    return `The window has begun: ${durationText(leftMs)} left. ` +
      "The maker may refuse it now; then nothing is taken.";
  }
  const { remainingMs } = quoteLife(quote, nowMs);
  const starts = `starts in ${secondsText(startTime - nowMs)}`;
  const lasts = `lasts ${durationText(endTime - startTime)}`;
  return nowMs + remainingMs < startTime
    ? `Sign within ${secondsText(remainingMs)}. The window ${starts} and ${lasts}.`
    : `Sign before the window ${starts}. It ${lasts}.`;
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
export function outsideText({ startTime }: Pick<Quote, "startTime">, nowMs: number): string {
  return `The price is outside the box. It has to be inside in ${
    durationText(1_000 * Math.ceil((startTime - nowMs) / 1_000))
  }, when the window starts, or you lose.`;
}
