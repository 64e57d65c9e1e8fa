/** Draws one frame of the chart. */
import { DAY_MS } from "../../../../lib/time.ts";
import { clamp, formatDay, formatQuotePrice, formatTime } from "../parts/format.ts";
import {
  colorOf,
  labelArea,
  paintBoxes,
  paintBoxLabels,
  paintBreach,
  paintHandles,
  paintLabel,
  widthOf,
  write,
} from "./chart_box_painter.ts";
import type { ChartBox } from "./chart_boxes.ts";
import type { Frame } from "./chart_frame.ts";
import { timeTicks } from "./chart_scales.ts";

/** The line has a gap between points that are this far apart, because prices were missing. */
const GAP_MS = 1_000;

/** Pixels between the hint and the edges of the chart: "now" is at the bottom. */
const HINT_INSET = { top: 6, bottom: 22 };

/** Least distance of a time label from the edge of the chart, in pixels, so that it is not cut. */
const TIME_INSET = 28;

export function paint(frame: Frame, width: number, height: number): void {
  const { context, palette, scales } = frame;
  const { plot } = scales;
  context.fillStyle = palette.surface;
  context.fillRect(0, 0, width, height);
  const tags = tagsOf(frame);
  paintFuture(frame);
  paintGrid(frame, tags);
  paintNow(frame);
  context.save();
  context.beginPath();
  context.rect(plot.left, plot.top, plot.right - plot.left, plot.bottom - plot.top);
  context.clip();
  paintBoxes(frame);
  paintLine(frame);
  for (const box of frame.boxes) paintBreach(frame, box);
  paintHint(frame);
  paintBoxLabels(frame);
  paintHandles(frame);
  paintProbe(frame);
  context.restore();
  paintPrices(frame, tags);
}

function paintFuture({ context, scales, palette }: Frame): void {
  const { plot, x, nowMs } = scales;
  const nowX = x(nowMs);
  context.fillStyle = palette.future;
  context.fillRect(nowX, plot.top, plot.right - nowX, plot.bottom - plot.top);
}

/** Paints the line between past and future and its label "now", which no grid line crosses. */
function paintNow(frame: Frame): void {
  const { context, scales: { plot, x, nowMs }, palette } = frame;
  const nowX = x(nowMs);
  context.strokeStyle = palette["ink-soft"];
  strokeLine(context, [nowX, plot.top], [nowX, plot.bottom], [3, 4]);
  context.fillStyle = palette.future;
  context.fillRect(nowX + 2, plot.bottom - 18, 32, 16);
  write(frame, "now", nowX + 5, plot.bottom - 10, { isBold: true });
}

function paintGrid(frame: Frame, tags: readonly Tag[]): void {
  const { context, scales, series, palette } = frame;
  const { plot, x, y } = scales;
  context.strokeStyle = palette.grid;
  const most = series.prices.length === 0 ? 0 : Math.floor((plot.bottom - plot.top) / 56);
  for (const price of y.ticks(most && Math.max(2, most))) {
    const at = Math.round(y(price)) + 0.5;
    strokeLine(context, [plot.left, at], [plot.right, at]);
    if (tags.some(({ level }) => Math.abs(at - level) < TAG_HEIGHT)) continue;
    write(frame, formatQuotePrice(price), plot.right + 6, at, { width: PRICE_WIDTH });
  }
  const [fromMs = 0, toMs = 0] = x.domain();
  const isLong = toMs - fromMs > DAY_MS;
  for (const time of timeTicks(scales, isLong ? 90 : 64)) {
    const at = Math.round(x(time)) + 0.5;
    strokeLine(context, [at, plot.top], [at, plot.bottom]);
    if (at < TIME_INSET || at > plot.right - TIME_INSET) continue;
    const text = isLong ? formatDay(time) : formatTime(time);
    write(frame, text, at, plot.bottom + 13, { align: "center" });
  }
}

/** Paints the line of prices, with at most the lowest and the highest point in each pixel. */
function paintLine({ context, scales, series, palette }: Frame): void {
  const { x, y } = scales;
  const [fromMs = 0] = x.domain();
  const { times, prices } = series;
  let lastTime = -Infinity;
  let column = NaN;
  let low = 0;
  let high = 0;
  let last = 0;
  context.beginPath();
  const flush = () => {
    if (Number.isNaN(column)) return;
    context.lineTo(column, low);
    if (high !== low) context.lineTo(column, high);
    context.lineTo(column, last);
  };
  for (let index = Math.max(0, series.indexAt(fromMs) - 1); index < times.length; index++) {
    const time = times[index]!; // the index is below the length of both arrays
    const at = Math.round(x(time) * 2) / 2;
    const level = y(prices[index]!);
    const isGap = time - lastTime > GAP_MS;
    if (at === column && !isGap) {
      low = Math.min(low, level);
      high = Math.max(high, level);
    } else {
      flush();
      if (isGap) context.moveTo(at, level);
      column = at;
      low = high = level;
    }
    last = level;
    lastTime = time;
  }
  flush();
  context.strokeStyle = palette.ink;
  context.lineWidth = 1.75;
  context.lineJoin = "round";
  context.stroke();
}

/** Paints the box that a tap would draw, as far as it is on the chart, and at least its text. */
function paintHint(frame: Frame): void {
  const { context, scales, palette, hint, probe } = frame;
  if (hint === undefined || probe !== undefined) return;
  const { plot, x, y, nowMs } = scales;
  const left = Math.min(x(hint.fromMs), (x(nowMs) + plot.right) / 2);
  const top = Math.max(plot.top + HINT_INSET.top, y(hint.high));
  const bottom = Math.min(plot.bottom - HINT_INSET.bottom, y(hint.low));
  context.strokeStyle = palette["ink-soft"];
  context.lineWidth = 1.5;
  context.setLineDash([6, 6]);
  context.strokeRect(left, top, x(hint.toMs) - left, bottom - top);
  context.setLineDash([]);
  const width = widthOf(frame, hint.label);
  const middle = (left + Math.min(x(hint.toMs), plot.right)) / 2;
  const place = labelArea(
    Math.min(middle, plot.right - width / 2) - width / 2,
    width,
    top + (bottom - top) * 0.3,
  );
  // It is wider than a short box, whose edges do not cross it.
  paintLabel(frame, hint.label, place, { ground: palette.surface, ink: palette["ink-soft"] });
}

/** Paints crosshairs at the pointer's position, with a text about it. */
function paintProbe(frame: Frame): void {
  const { context, scales: { plot, x, y }, palette, probe } = frame;
  if (probe === undefined) return;
  const { place, text } = probe;
  const [at, level] = [x(place.time), y(place.price)];
  context.strokeStyle = palette["ink-soft"];
  strokeLine(context, [at, plot.top], [at, plot.bottom], [2, 3]);
  strokeLine(context, [plot.left, level], [plot.right, level], [2, 3]);
  const width = widthOf(frame, text);
  const left = clamp(at + 10, 2, plot.right - width - 2);
  const above = level - 16 > plot.top + 10 ? level - 16 : level + 20;
  const look = { ground: palette.ink, ink: palette.surface };
  paintLabel(frame, text, labelArea(left, width, above), look);
}

const PRICE_WIDTH = 60;

const TAG_HEIGHT = 20;

/** Least distance of the middle of a tag from the top of the plot. */
const TAG_INSET = 4;

interface Tag {
  price: number;
  level: number;
  isBound: boolean;
  /** Shown before a bound that is above or below the chart. */
  arrow: string;
}

/**
 * The tags of prices at the axis, from the top down: the newest price, and both bounds of a box.
 * The bounds are moved away from it and from each other, so that no tag covers another one.
 */
function tagsOf(frame: Frame): Tag[] {
  const { scales: { plot, y }, series } = frame;
  const newest = series.prices.at(-1);
  const box = taggedBox(frame);
  const tags: Tag[] = [];
  const add = (price: number, isBound: boolean) => {
    const level = y(price);
    const arrow = !isBound ? "" : level < plot.top ? "↑" : level > plot.bottom ? "↓" : "";
    tags.push({ price, level, isBound, arrow });
  };
  if (newest !== undefined) add(newest, false);
  for (const bound of box === undefined ? [] : [box.high, box.low]) add(bound, true);
  tags.sort((a, b) => b.price - a.price);
  const middle = Math.max(0, tags.findIndex(({ isBound }) => !isBound));
  let [higher, lower] = [tags[middle]?.level ?? 0, tags[middle]?.level ?? 0];
  for (const tag of tags.slice(0, middle).reverse()) {
    higher = tag.level = Math.min(tag.level, higher - TAG_HEIGHT);
  }
  for (const tag of tags.slice(middle + 1)) {
    lower = tag.level = Math.max(tag.level, lower + TAG_HEIGHT);
  }
  for (const [index, tag] of tags.entries()) {
    const lowest = plot.bottom - TAG_HEIGHT * (tags.length - 1 - index);
    const highest = plot.top + TAG_INSET + TAG_HEIGHT * index; // whole
    tag.level = clamp(tag.level, highest, lowest);
  }
  return tags;
}

/** The box with tags: the draft, the highlighted box, or the open one that ends next. */
function taggedBox({ boxes, highlighted }: Frame): ChartBox | undefined {
  const own = boxes.at(-1);
  if (own?.kind === "draft" || own?.kind === "quoted") return own;
  return boxes.find(({ thesisId }) => thesisId !== undefined && thesisId === highlighted) ??
    boxes.filter(({ kind }) => kind === "open").sort((a, b) => a.toMs - b.toMs)[0];
}

/** Paints the newest price as a dot at the line's end, weaker if old, and the tags at the axis. */
function paintPrices(frame: Frame, tags: readonly Tag[]): void {
  const { context, scales: { plot, x }, series, palette, isOld } = frame;
  const lineColor = isOld ? palette["ink-soft"] : palette.ink;
  const boundColor = colorOf(taggedBox(frame)?.kind ?? "draft", palette);
  for (const { price, level, isBound, arrow } of tags) {
    const at = x(series.times.at(-1) ?? Infinity);
    context.fillStyle = isBound ? boundColor : lineColor;
    if (!isBound && at >= plot.left) paintNewest(frame, Math.min(at, plot.right), level);
    context.beginPath();
    context.roundRect(plot.right + 2, level - TAG_HEIGHT / 2, 66, TAG_HEIGHT, 4);
    context.fill();
    write(frame, arrow + formatQuotePrice(price), plot.right + 6, level + 0.5, {
      color: palette.surface,
      isBold: true,
      width: PRICE_WIDTH,
    });
  }
}

function paintNewest({ context, scales: { plot }, palette }: Frame, at: number, level: number) {
  context.strokeStyle = palette.ink;
  context.globalAlpha = 0.45;
  strokeLine(context, [at, level], [plot.right, level], [2, 3]);
  context.globalAlpha = 1;
  context.beginPath();
  context.arc(at, level, 4, 0, 2 * Math.PI);
  context.fill();
}

function strokeLine(
  context: Frame["context"],
  from: [x: number, y: number],
  to: [x: number, y: number],
  dash: number[] = [],
): void {
  context.lineWidth = 1;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(...to);
  context.stroke();
  context.setLineDash([]);
}
