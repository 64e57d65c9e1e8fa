/** Draws boxes on the chart. */
import { clamp } from "../parts/format.ts";
import { grabArea, REACH } from "./box_drag.ts";
import {
  type BoxGroup,
  type BoxKind,
  type ChartBox,
  endOf,
  groupsOf,
  isLong,
} from "./chart_boxes.ts";
import type { Frame, Palette } from "./chart_frame.ts";
import type { Area } from "./chart_scales.ts";

interface Look {
  color: keyof Palette;
  fill: number;
  /** It is not a bet yet, or a lost one. */
  isDashed?: boolean;
}

const LOOKS: Readonly<Record<BoxKind, Look>> = {
  draft: { color: "accent", fill: 0.16, isDashed: true },
  quoted: { color: "accent", fill: 0.24, isDashed: true },
  open: { color: "open", fill: 0.06 },
  waiting: { color: "ink-soft", fill: 0.05 },
  won: { color: "won", fill: 0.12 },
  lost: { color: "lost", fill: 0.08, isDashed: true },
};

const OUTLINE_MIN = 0.25;

/** How much of everything below it a box hides that the user makes or points at. */
const COVER = 0.7;

const isOwn = ({ kind }: Pick<ChartBox, "kind">) => kind === "draft" || kind === "quoted";

export function colorOf(kind: BoxKind, palette: Palette): string {
  return palette[LOOKS[kind].color];
}

/**
 * Whether only the bounds of a bet are drawn: one that is longer than the chart would tint all of
 * it.
 */
const isBounds = ({ spanMs }: Frame, box: ChartBox) => !isOwn(box) && isLong(box, spanMs);

/**
 * Draws all boxes, and over them the user's own box and the highlighted one. Boxes that look alike
 * are painted as one shape, so that colours do not add up where they overlap.
 */
export function paintBoxes(frame: Frame): void {
  const shown = inViewOf(frame);
  for (const group of groupsOf(shown)) paintGroup(frame, group, group.boxes.some(isOwn));
  const box = shown.find((box) => isHighlighted(frame, box));
  if (box === undefined) return;
  paintGroup(frame, { kind: box.kind, boxes: [box] }, true);
}

/** The boxes of which a part is on the chart. */
function inViewOf({ boxes, scales: { x, plot } }: Frame): ChartBox[] {
  return boxes.filter((box) => x(endOf(box)) >= plot.left && x(box.fromMs) <= plot.right);
}

const isHighlighted = ({ highlighted }: Frame, { thesisId }: ChartBox) =>
  highlighted !== undefined && thesisId === highlighted;

/** @param isChief Whether it is the user's own box or the highlighted one, which stands out. */
function paintGroup(frame: Frame, { kind, boxes }: BoxGroup, isChief: boolean): void {
  const { context, scales, palette } = frame;
  const { color, fill, isDashed } = LOOKS[kind];
  const filled = boxes.filter((box) => !isBounds(frame, box));
  if (isChief) paintCover(frame, filled);
  context.fillStyle = context.strokeStyle = palette[color];
  context.globalAlpha = isChief ? Math.max(0.16, fill) : fill;
  tracePath(frame, filled);
  context.fill("nonzero");
  if (kind === "open") { // its passed part more strongly
    tracePath(frame, filled, scales.nowMs);
    context.fill("nonzero");
  }
  // The more boxes, the calmer: their outlines do not hide prices.
  context.globalAlpha = isChief ? 1 : Math.max(OUTLINE_MIN, boxes.length ** (-1 / 3));
  context.lineWidth = isChief ? 2.5 : 1;
  if (isDashed) context.setLineDash([6, 4]);
  tracePath(frame, boxes);
  context.stroke();
  context.setLineDash([]);
  context.globalAlpha = 1;
}

/** Pushes what is below boxes into the background, with a bright edge around them. */
function paintCover(frame: Frame, boxes: readonly ChartBox[]): void {
  const { context, palette } = frame;
  context.fillStyle = context.strokeStyle = palette.surface;
  context.globalAlpha = COVER;
  context.lineWidth = 6;
  tracePath(frame, boxes);
  context.fill("nonzero");
  context.stroke();
}

/** Traces the outlines of boxes, as far as the given time. */
function tracePath(
  { context, scales: { x, y } }: Frame,
  boxes: readonly ChartBox[],
  untilMs = Infinity,
): void {
  context.beginPath();
  for (const box of boxes) {
    const [left, top] = [x(box.fromMs), y(box.high)];
    const width = x(Math.min(endOf(box), untilMs)) - left;
    if (width > 0) context.rect(left, top, width, y(box.low) - top);
  }
}

/** Half the width of a mark at a price, with space around it. */
const MARK = 6;

/** Among more boxes than this, labels could not be read. */
const LABELS_MAX = 40;

/** Least width of a box with a label. */
const LABELLED_WIDTH_MIN = 60;

/**
 * Labels boxes with their states, at the upper edge or else at the lower one. Labels are drawn after
 * all boxes, so that no box crosses them. None covers another label, and only those of the
 * highlighted box and of the user's own one cover other boxes; of many boxes, only these two have one.
 */
export function paintBoxLabels(frame: Frame): void {
  const { scales: { x, plot }, palette } = frame;
  const seen = labelledBoxes(frame);
  const covered = seen.filter(({ box }) => !isBounds(frame, box));
  const taken = markAreas(frame, seen.map(({ box }) => box));
  // From the topmost down.
  for (const { box, area, rank } of seen.toReversed().sort((a, b) => b.rank - a.rank)) {
    const isChief = rank > 0;
    if (!isChief && x(box.toMs) - area.left < LABELLED_WIDTH_MIN) continue;
    const width = widthOf(frame, box.label);
    if (box.label === "" || width > plot.right) continue;
    const left = clamp(area.left, 2, plot.right - width);
    const place = [area.top - LABEL_REACH, area.bottom + LABEL_REACH]
      .map((level) => labelArea(left, width, clamp(level, HIGHEST, plot.bottom - 11)))
      .find((place) =>
        !taken.some((other) => isOver(place, other)) &&
        (isChief || !covered.some((other) => other.box !== box && isOver(place, other.area)))
      );
    if (place === undefined) continue;
    taken.push(place);
    const [ground, ink] = [colorOf(box.kind, palette), palette.surface];
    paintLabel(frame, box.label, place, isChief ? { ground, ink } : { ground: ink, ink: ground });
  }
}

function labelledBoxes(frame: Frame) {
  const inView = inViewOf(frame).map((box) => ({
    box,
    area: areaOf(frame, box),
    rank: isHighlighted(frame, box) ? 2 : isOwn(box) ? 1 : 0,
  }));
  return inView.length > LABELS_MAX ? inView.filter(({ rank }) => rank > 0) : inView;
}

/** What no label covers: "now", the newest price, and where the price left a box. */
function markAreas(
  { scales: { x, y, nowMs, plot }, series }: Frame,
  boxes: readonly ChartBox[],
): Area[] {
  const markArea = (time: number, price: number) => labelArea(x(time) - MARK, 2 * MARK, y(price));
  return [
    labelArea(x(nowMs), 36, plot.bottom - 10),
    markArea(series.times.at(-1) ?? 0, series.prices.at(-1) ?? 0),
    ...boxes.flatMap(({ breach }) => breach ? [markArea(breach.time, breach.price)] : []),
  ];
}

const areaOf = ({ scales: { x, y } }: Frame, box: ChartBox): Area => ({
  left: x(box.fromMs),
  right: x(endOf(box)),
  top: y(box.high),
  bottom: y(box.low),
});

const LABEL_HALF = 9;

/** The area of a label whose middle is at this level. */
export function labelArea(left: number, width: number, level: number): Area {
  return { left, right: left + width, top: level - LABEL_HALF, bottom: level + LABEL_HALF };
}

/** The middle of a label is this far from the edge of its box. */
const LABEL_REACH = 11;

const HIGHEST = 18;

const isOver = (a: Area, b: Area) =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/** Draws handles where the drawn box can be grabbed: outside its corners if the box is small. */
export function paintHandles({ context, scales, palette, draft }: Frame): void {
  if (draft === undefined) return;
  const { left, right, top, bottom } = grabArea(scales, draft, REACH.mouse);
  context.fillStyle = palette.surface;
  context.strokeStyle = palette.accent;
  context.lineWidth = 2;
  for (const atX of [left, right]) {
    for (const atY of [top, bottom]) {
      context.beginPath();
      context.arc(atX, atY, 4, 0, 2 * Math.PI);
      context.fill();
      context.stroke();
    }
  }
}

/** The width of a label, whose text is bold. */
export function widthOf({ context, palette }: Frame, text: string): number {
  context.font = `600 12px ${palette.font}`;
  return context.measureText(text).width + 12;
}

interface Writing {
  color?: string;
  isBold?: boolean;
  align?: "left" | "center";
  width?: number;
}

/** Draws a text at a place, no wider than given. */
export function write(
  { context, palette }: Frame,
  text: string,
  x: number,
  y: number,
  { color = palette["ink-soft"], isBold = false, align = "left", width }: Writing,
): void {
  context.fillStyle = color;
  context.font = `${isBold ? 600 : 400} 12px ${palette.font}`;
  context.textAlign = align;
  context.textBaseline = "middle";
  context.fillText(text, x, y, width);
}

export function paintLabel(
  frame: Frame,
  text: string,
  { left, right, top, bottom }: Area,
  { ground, ink }: { ground: string; ink: string },
): void {
  const { context } = frame;
  context.fillStyle = ground;
  context.beginPath();
  context.roundRect(left, top, right - left, bottom - top, 5);
  context.fill();
  write(frame, text, left + 6, (top + bottom) / 2 + 0.5, { color: ink, isBold: true });
}

/** Marks where the price left a box. */
export function paintBreach({ context, scales, palette }: Frame, box: ChartBox): void {
  const { breach } = box;
  if (breach === undefined) return;
  const at = scales.x(breach.time);
  const level = scales.y(breach.price);
  for (const [width, color] of [[5, palette.surface], [2.5, palette.lost]] as const) {
    context.strokeStyle = color;
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(at - 5, level - 5);
    context.lineTo(at + 5, level + 5);
    context.moveTo(at + 5, level - 5);
    context.lineTo(at - 5, level + 5);
    context.stroke();
  }
}
