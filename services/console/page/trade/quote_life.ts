/** From when on, and until when, a quote can be signed. */
import { type Signal, signal } from "@preact/signals";
import type { CancelTimer, Clock, Quote } from "@rangemaker/client";
import { DEADLINE_MARGIN_MS } from "../data/bet_keeper.ts";
import { countdownText, exactDurationText, formatTime } from "../parts/format.ts";

/** Nothing is signed later than this before the end, because a signature takes time to arrive. */
const SIGN_MARGIN_MS = 5_000;

/**
 * For how long a quote can still be signed: until its deadline, or the start of the window if that
 * is sooner: once it has begun, makers refuse nearly all quotes.
 *
 * @returns 0 if it is too late.
 */
export function signableMs({ deadline, startTime }: QuoteTimes, nowMs: number): number {
  return Math.max(0, Math.min(deadline - SIGN_MARGIN_MS, startTime) - nowMs);
}

type QuoteTimes = Pick<Quote, "deadline" | "startTime">;

/** The one deadline that users see and hear; then, why the quote can no longer be signed. */
export function signWithinText(quote: QuoteTimes, nowMs: number): string {
  const ms = signableMs(quote, nowMs);
  if (ms === 0) return overText(quote);
  return `Sign within ${countdownText(ms)}.`;
}

/** Why a quote can no longer be signed. */
export function overText({ deadline, startTime }: QuoteTimes): string {
  const isBegun = startTime <= deadline - SIGN_MARGIN_MS;
  const why = isBegun ? "Too late: the window has begun." : "The quote has expired.";
  return `${why} Nothing was placed or taken.`;
}

/** When a quoted window is, exactly: this is signed. Such as `17:20:33 for 1 h 10 min 30 s`. */
export const windowText = ({ startTime, endTime }: Pick<Quote, "startTime" | "endTime">) =>
  `${formatTime(startTime)} for ${exactDurationText(endTime - startTime)}`;

/** Until when the outcome of a signed bet may be unknown. */
export function checkingText({ deadline }: Pick<Quote, "deadline">): string {
  return "No answer yet. Your bet was placed once or not at all; we will know by " +
    `${formatTime(deadline + DEADLINE_MARGIN_MS)} if the chain answers. You need not do anything.`;
}

/** Whether a price is outside the box of a quote. */
export function isOutside(
  { lowerPrice, upperPrice }: Pick<Quote, "lowerPrice" | "upperPrice">,
  price: bigint,
): boolean {
  return price < lowerPrice || price > upperPrice;
}

/** A button is locked for this long after it has changed: nobody has read it. */
const UNREAD_MS = 400;

/** After each press that it refuses, it is locked for this long: until the finger rests. */
const REST_MS = 1_000;

/**
 * Ignores presses that were not meant for the button as it is now: the second click of a double click
 * on the button before it, or a finger that hammers.
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
    this.#cancel = this.#clock.after(durationMs, () => this.end());
  }

  /** The user has gone on, and knows the button. */
  end(): void {
    this.isLocked.value = false;
  }

  /** Whether a press counts. If not, the lock begins anew. */
  tryPress(): boolean {
    if (!this.isLocked.value) return true;
    this.begin(REST_MS);
    return false;
  }
}
