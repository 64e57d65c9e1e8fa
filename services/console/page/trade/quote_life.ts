/** How long a quote can still be signed. */
import type { Quote } from "@rangemaker/client";

/** A signature needs time to arrive: under this, nothing is signed. */
export const SIGN_MARGIN_MS = 5_000;

/** Whether a quote can be signed, and how long it lives. */
export interface QuoteLife {
  state: "valid" | "expired" | "window_over";
  /** Until it cannot be signed any more. */
  remainingMs: number;
}

/** Counts to an absolute time: the deadline, or the end of the window where that is sooner. */
export function quoteLife(
  { deadline, endTime }: Pick<Quote, "deadline" | "endTime">,
  nowMs: number,
): QuoteLife {
  const remainingMs = Math.max(0, Math.min(deadline - SIGN_MARGIN_MS, endTime) - nowMs);
  if (nowMs >= endTime) return { state: "window_over", remainingMs };
  return { state: remainingMs > 0 ? "valid" : "expired", remainingMs };
}
