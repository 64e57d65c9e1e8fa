/** From when on, and until when, a quote can be signed. */
import { type Signal, signal } from "@preact/signals";
import type { CancelTimer, Clock, Quote } from "@rangemaker/client";
import { DEADLINE_MARGIN_MS } from "../data/bet_keeper.ts";
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
  const isBegun = startTime <= deadline - SIGN_MARGIN_MS;
  const why = isBegun ? "Too late: the window has begun." : "The quote has expired.";
  return `${why} Nothing was placed or taken.`;
}

/** The same, and what to do now, to be spoken. */
export function endedText(quote: QuoteTimes): string {
  return `${overText(quote)} Enter asks for a new quote.`;
}

/** Until when the outcome of a signed bet may be unknown. */
export function checkingText({ deadline }: Pick<Quote, "deadline">): string {
  return "No answer yet. Your bet was placed once or not at all; we will know by " +
    `${formatTime(deadline + DEADLINE_MARGIN_MS)}. Nothing to do.`;
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

/** A quote is locked for this long after it appears: nobody has read it. */
const UNREAD_MS = 400;

/** After each press that it refuses, it is locked for this long: until the finger rests. */
const REST_MS = 1_000;

/**
 * Keeps presses for something else from signing a quote: a second click on the button for the quote,
 * which was at the same place, or a finger that hammers.
 */
export class PressLock {
  readonly isLocked: Signal<boolean> = signal(false);
  readonly #clock: Clock;
  #cancel: CancelTimer = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(durationMs = UNREAD_MS): void {
    this.#cancel();
    this.isLocked.value = true;
    this.#cancel = this.#clock.after(durationMs, () => this.isLocked.value = false);
  }

  /** Whether a press may sign. If not, the lock begins anew. */
  allows(): boolean {
    if (!this.isLocked.value) return true;
    this.begin(REST_MS);
    return false;
  }
}
