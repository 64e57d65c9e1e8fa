/** How much time the chart shows, past and future together. */
import { formatDuration } from "../format.ts";

/** Spans behind a button. */
export const SPANS = [
  { label: "1 min", ms: 60_000 },
  { label: "5 min", ms: 300_000 },
  { label: "1 h", ms: 3_600_000 },
] as const;

/** Shortest span: the shortest box fills a tenth of it. */
export const SPAN_MIN_MS = 10_000;

/** Longest span: the longest box and the latest start fit into it. */
export const SPAN_MAX_MS = 5 * 86_400_000;

/** Factor of a press on + or -. */
export const ZOOM_STEP = 2;

/** A span times a factor, within the bounds. */
export function zoomed(spanMs: number, factor: number): number {
  return Math.min(SPAN_MAX_MS, Math.max(SPAN_MIN_MS, spanMs * factor));
}

/** Spans that are made to fit end on half a minute. */
const FIT_STEP_MS = 30_000;

/** A span that shows `futureMs` ahead of now and a little more; the future has `share` of the chart. */
export function spanFor(futureMs: number, share: number): number {
  return zoomed(Math.ceil(futureMs * 1.1 / share / FIT_STEP_MS) * FIT_STEP_MS, 1);
}

export function labelOf(spanMs: number): string {
  return SPANS.find(({ ms }) => ms === spanMs)?.label ?? formatDuration(spanMs);
}

/** A turn of a wheel, as the browser reports it. */
export interface WheelTurn {
  deltaY: number;
  /** 0 for pixels, 1 for lines, 2 for pages. */
  deltaMode: number;
  /** Set by the browser for two fingers that pinch on a trackpad, whose steps are small. */
  ctrlKey: boolean;
}

const UNITS = [0.002, 0.05, 1];
const PINCH_TIMES = 10;

/** By how much a turn of the wheel changes the span: up shows less time, down more. */
export function wheelFactor({ deltaY, deltaMode, ctrlKey }: WheelTurn): number {
  return 2 ** (deltaY * (UNITS[deltaMode] ?? 1) * (ctrlKey ? PINCH_TIMES : 1));
}
