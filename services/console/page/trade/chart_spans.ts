/** How much time the chart shows, past and future together. */

import { DAY_MS } from "../../../../lib/time.ts";
import { clamp } from "../parts/format.ts";
import type { Draft } from "./draft.ts";

/** Shortest span: the shortest box fills a tenth of it. */
const SPAN_MIN_MS = 10_000;

/** Longest span: the longest box and the latest start fit into it. */
export const SPAN_MAX_MS = 5 * DAY_MS;

/**
 * The span at first. A box that is drawn into it starts and lasts so long that its payout changes
 * little until the user has signed: into one of a minute, half of the boxes were refused.
 */
export const FIRST_SPAN_MS = 180_000;

/** Factor of a press on + or -. */
export const ZOOM_STEP = 2;

/** The nearest span within the bounds. */
export function boundedSpan(spanMs: number): number {
  return clamp(spanMs, SPAN_MIN_MS, SPAN_MAX_MS);
}

/** Spans that fit a box are rounded up to half a minute. */
const FIT_STEP_MS = 30_000;

/** A span that shows `futureMs` ahead of now and a little more; the future has `share` of the chart. */
export function spanFor(futureMs: number, share: number): number {
  return boundedSpan(Math.ceil(futureMs * 1.1 / share / FIT_STEP_MS) * FIT_STEP_MS);
}

/** A box that is narrower than this, in pixels, can hardly be seen. */
const VISIBLE_WIDTH = 24;

/** How the future is shown: its share of the chart, and the width of the chart in pixels. */
interface Future {
  share: number;
  width: number;
}

/** The span that shows a box: longer if it ends beyond the chart, shorter if it is hardly seen. */
export function spanToSee(
  { startsInMs, durationMs }: Pick<Draft, "startsInMs" | "durationMs">,
  spanMs: number,
  { share, width }: Future,
): number {
  const endsInMs = startsInMs + durationMs;
  const fitting = spanFor(endsInMs, share);
  if (endsInMs > spanMs * share) return fitting;
  return durationMs / spanMs * width < VISIBLE_WIDTH ? Math.min(spanMs, fitting) : spanMs;
}

interface WheelTurn {
  deltaY: number;
  /** 0 for pixels, 1 for lines, 2 for pages. */
  deltaMode: number;
  /** Set by the browser for a pinch on a trackpad, whose steps are small. */
  ctrlKey: boolean;
}

/** Doublings of the span per pixel, line and page. */
const DOUBLINGS = [0.002, 0.05, 1];
const PINCH_TIMES = 10;

/** By how much a turn of the wheel changes the span: up shows less time, down more. */
export function wheelFactor({ deltaY, deltaMode, ctrlKey }: WheelTurn): number {
  return 2 ** (deltaY * (DOUBLINGS[deltaMode] ?? 1) * (ctrlKey ? PINCH_TIMES : 1));
}
