import type { PricePoint, PriceReader, TimeSpan } from "../../../lib/prices/price_slots.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";

/**
 * Spans that an attempt names as missing at most. Where there are more, the later ones are joined
 * into one, and the prices between them are looked up once more at the next attempt.
 */
export const MISSING_SPANS_MAX = 256;

/** What an attempt to settle a thesis gives; `won` is by the user. */
export type Outcome =
  | { status: "won" }
  | { status: "lost"; breach: PricePoint }
  | { status: "needs_backfill"; missing: TimeSpan[] };

/** The part of a thesis that decides it. */
export type Box = Pick<Thesis, "lowerPrice" | "upperPrice" | "startTime" | "endTime">;

/**
 * Settles a box thesis by the prices known: one recorded price outside the box decides for the
 * solver, however much is missing; the user wins only if every slot of the window is known.
 *
 * @param unknown The spans still to be judged: the whole window, or what an earlier attempt found
 * missing. What it found inside the box needs no second look, for recorded prices never change.
 */
export function settle(
  prices: PriceReader,
  box: Box,
  unknown: readonly TimeSpan[] = [{ from: box.startTime, to: box.endTime }],
): Outcome {
  const range = { lower: box.lowerPrice, upper: box.upperPrice };
  const missing: TimeSpan[] = [];
  for (const span of unknown) {
    const found = prices.extremes(span.from, span.to, range);
    if (found.outside !== undefined) return { status: "lost", breach: found.outside };
    missing.push(...found.missing);
  }
  if (missing.length === 0) return { status: "won" };
  return { status: "needs_backfill", missing: joinTail(missing) };
}

function joinTail(spans: TimeSpan[]): TimeSpan[] {
  if (spans.length <= MISSING_SPANS_MAX) return spans;
  const head = spans.slice(0, MISSING_SPANS_MAX - 1);
  const tail = spans.slice(MISSING_SPANS_MAX - 1);
  return [...head, { from: tail[0]!.from, to: tail.at(-1)!.to }]; // the tail has two or more
}
