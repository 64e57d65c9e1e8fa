/** How long a quote can still be signed. */
import type { Quote } from "@rangemaker/client";
import { durationText, formatTime } from "../format.ts";
import { QUOTE_LIFE_MS } from "./draft.ts";

/** Nothing is signed later than this before the end, because a signature takes time to arrive. */
const SIGN_MARGIN_MS = 5_000;

/** Time from a quote to the start of its window. */
export function leadMs({ startTime, deadline }: Pick<Quote, "startTime" | "deadline">): number {
  return startTime - (deadline - QUOTE_LIFE_MS);
}

/**
 * For how long a quote can still be signed: until its deadline, or the start of the window if that
 * is sooner: once it has begun, makers refuse nearly all quotes.
 *
 * @returns 0 if it is too late.
 */
export function signableMs({ deadline, startTime }: QuoteTimes, nowMs: number): number {
  return Math.max(0, Math.min(deadline - SIGN_MARGIN_MS, startTime) - nowMs);
}

/** The one deadline that users see and hear. */
export function signWithinText(ms: number): string {
  return `Sign within ${durationText(1_000 * Math.ceil(ms / 1_000))}`;
}

type QuoteTimes = Pick<Quote, "deadline" | "startTime" | "endTime">;

/** By when to sign a quote, and when its window runs. Only the deadline counts down. */
export function windowText(quote: QuoteTimes, nowMs: number): string {
  const { startTime, endTime } = quote;
  const withinMs = signableMs(quote, nowMs);
  const sign = signWithinText(withinMs);
  const lasts = durationText(endTime - startTime);
  return nowMs + withinMs < startTime
    ? `${sign}. The window starts at ${formatTime(startTime)} and lasts ${lasts}.`
    : `${sign}, before the window starts. It lasts ${lasts}.`;
}

/** Why a quote can no longer be signed. */
export function overText({ deadline, startTime }: QuoteTimes): string {
  return startTime <= deadline - SIGN_MARGIN_MS
    ? "Too late: the window has begun."
    : "The quote has expired.";
}

/** The same, and what to do now, to be spoken. */
export function endedText(quote: QuoteTimes): string {
  return `${overText(quote)} Enter asks for a new quote.`;
}

/** Until when the outcome of a signed bet may be unknown. */
export function checkingText({ deadline }: Pick<Quote, "deadline">): string {
  return "The answer is missing: your signed bet is placed once, or not. New quotes wait until that " +
    `is known, shortly after ${formatTime(deadline)} at the latest.`;
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
    `${signWithinText(signableMs(quote, nowMs))}.`;
}
