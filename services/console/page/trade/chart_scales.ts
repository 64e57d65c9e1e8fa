/** Positions of times and prices on the chart. */
import { type ScaleLinear, scaleLinear } from "d3-scale";
import { HOUR_MS } from "../../../../lib/time.ts";
import type { PriceSeries } from "../data/price_series.ts";
import { type ChartBox, endOf, isLong } from "./chart_boxes.ts";

/** A part of the chart, in CSS pixels. */
export interface Area {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** A position on the chart, in CSS pixels. */
export interface Position {
  x: number;
  y: number;
}

export interface Scales {
  /** Where prices are drawn. */
  plot: Area;
  /** Unix milliseconds to pixels. */
  x: ScaleLinear<number, number>;
  /** Prices to pixels. */
  y: ScaleLinear<number, number>;
  nowMs: number;
}

/** Margins for the labels of prices at the right, and of times at the bottom. */
const MARGINS = { right: 68, bottom: 24, top: 8, left: 0 };

/** Position of the present: the larger part of the chart shows the past, the rest is for boxes. */
const NOW_AT = 0.58;

/** On a narrow chart, for example on a phone, the future is wider, for fingers. */
const NARROW = { widthMax: 480, nowAt: 0.42 };

/** The share of the time shown that is in the past. */
export function pastShare(width: number): number {
  return width <= NARROW.widthMax ? NARROW.nowAt : NOW_AT;
}

export function scalesOf(
  size: { width: number; height: number },
  view: { nowMs: number; spanMs: number; low: number; high: number },
): Scales {
  const plot = {
    left: MARGINS.left,
    right: Math.max(MARGINS.left + 1, size.width - MARGINS.right),
    top: MARGINS.top,
    bottom: Math.max(MARGINS.top + 1, size.height - MARGINS.bottom),
  };
  const fromMs = view.nowMs - view.spanMs * pastShare(size.width);
  return {
    plot,
    x: scaleLinear([fromMs, fromMs + view.spanMs], [plot.left, plot.right]),
    y: scaleLinear([view.low, view.high], [plot.bottom, plot.top]),
    nowMs: view.nowMs,
  };
}

/** Whether a position is in an area. */
export function isInside({ left, right, top, bottom }: Area, { x, y }: Position): boolean {
  return x >= left && x <= right && y >= top && y <= bottom;
}

/** Distances between labels of time, in milliseconds. */
const TIME_STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * 1_000),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60_000),
  ...[1, 2, 3, 6, 12, 24, 48].map((hours) => hours * HOUR_MS),
];

/** Full seconds, minutes or hours for labels, no closer than `minPixels`. */
export function timeTicks({ x, plot }: Scales, minPixels: number): number[] {
  const [fromMs = 0, toMs = 0] = x.domain();
  const most = Math.max(1, (plot.right - plot.left) / minPixels);
  const step = TIME_STEPS.find((step) => (toMs - fromMs) / step <= most) ?? TIME_STEPS.at(-1)!;
  const ticks: number[] = [];
  for (let time = Math.ceil(fromMs / step) * step; time <= toMs; time += step) ticks.push(time);
  return ticks;
}

/** The lowest and the highest price that should be visible. */
export interface ChartRange {
  low: number;
  high: number;
}

/** Space above and below the content, as a share of its height. */
const PADDING = 0.35;

/** The least height of the chart, as a share of the price: a flat line stays flat. */
const HEIGHT_MIN_SHARE = 0.0006;

/** Bets may stretch the chart to this many times the height of its prices. */
const STRETCH_MAX = 4;

/**
 * The range of the shown prices, extended by the box that the user makes, and by bets on the chart.
 * A bet that ends beyond the chart, or is longer, does not: its bounds may be far away.
 *
 * @param fromMs Start of the chart.
 */
export function shownRange(
  { series, boxes, spanMs }: {
    series: PriceSeries;
    boxes: readonly ChartBox[];
    spanMs: number;
  },
  fromMs: number,
): ChartRange | undefined {
  const { prices } = series;
  let low = Infinity;
  let high = -Infinity;
  for (let index = series.indexAt(fromMs); index < prices.length; index++) {
    const price = prices[index]!; // the index is below the length
    if (price < low) low = price;
    if (price > high) high = price;
  }
  if (low > high) {
    const newest = prices.at(-1);
    if (newest === undefined) return undefined;
    low = high = newest;
  }
  const reach = Math.max(high - low, high * HEIGHT_MIN_SHARE) * STRETCH_MAX;
  const [lowest, highest] = [low - reach, high + reach];
  for (const box of boxes) {
    const endMs = endOf(box);
    if (box.kind === "draft" || box.kind === "quoted") {
      low = Math.min(low, box.low);
      high = Math.max(high, box.high);
    } else if (endMs >= fromMs && endMs <= fromMs + spanMs && !isLong(box, spanMs)) {
      low = Math.min(low, Math.max(lowest, box.low));
      high = Math.max(high, Math.min(highest, box.high));
    }
  }
  return { low, high };
}

/** How fast the range follows, in milliseconds: smoothly, so that users can follow a box. */
const GLIDE_MS = 180;

/** Before the first price. */
export const NO_RANGE: ChartRange = { low: 0, high: 1 };

/** The range of the next frame, which follows its content smoothly. @param shown What to see. */
export function nextRange(
  range: ChartRange,
  shown: ChartRange | undefined,
  elapsedMs: number,
): ChartRange {
  if (shown === undefined) return range;
  const target = padded(shown);
  const isFar = range === NO_RANGE || target.low > range.high || target.high < range.low;
  if (isFar) return target;
  const share = 1 - Math.exp(-elapsedMs / GLIDE_MS);
  return {
    low: range.low + (target.low - range.low) * share,
    high: range.high + (target.high - range.high) * share,
  };
}

/**
 * Whether the chart keeps the range of a drag: until the drag ends, and for a while after it. It
 * ends earlier if the newest price, or a box that was suggested or typed since, leaves the range.
 *
 * @param leftMs Time for which the range is still kept; Infinity during the drag.
 */
export function isKept(
  { low, high }: ChartRange,
  leftMs: number,
  prices: readonly number[],
): boolean {
  if (leftMs === Infinity) return true;
  return leftMs > 0 && prices.every((price) => price >= low && price <= high);
}

function padded({ low, high }: ChartRange): ChartRange {
  const middle = (low + high) / 2;
  const half = Math.max(high - low, middle * HEIGHT_MIN_SHARE) * (0.5 + PADDING);
  return { low: Math.max(0, middle - half), high: middle + half };
}

/** A page without input for this long moves in steps of two prices each. */
const IDLE = { afterMs: 10_000, stepMs: 200 };

/**
 * Steps for users who prefer reduced motion. Their own actions show at once; after them, a chart that
 * rests shows at each pause what is new beside the time, such as a payout.
 */
const CALM = { stepMs: 500, restAfterMs: 250, pauseMs: 100 };

/**
 * The steps of time in which the chart moves, and the pause before the next frame is looked at; 0 for
 * each frame of the screen.
 *
 * @param restedMs Time since the user's last input.
 */
export function paceOf(restedMs: number, isCalm: boolean): { stepMs: number; pauseMs: number } {
  const idleMs = restedMs > IDLE.afterMs ? IDLE.stepMs : 0;
  if (!isCalm) return { stepMs: idleMs, pauseMs: idleMs };
  const pauseMs = restedMs > CALM.restAfterMs ? CALM.pauseMs : 0;
  return { stepMs: CALM.stepMs, pauseMs: Math.max(pauseMs, idleMs) };
}
