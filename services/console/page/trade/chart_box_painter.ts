/** Draws boxes on the chart. */
import { grabArea, REACH } from "./box_drag.ts";
import {
  type BoxGroup,
  type BoxKind,
  type ChartBox,
  groupsOf,
  OUTLINES_MAX,
} from "./chart_boxes.ts";
import type { Frame } from "./chart_frame.ts";
import type { Palette } from "./chart_palette.ts";

/** Least width of a box with a label. */
const LABEL_WIDTH_MIN = 60;

const FILLS: Readonly<Record<BoxKind, number>> = {
  draft: 0.12,
  quoted: 0.2,
  open: 0.1,
  waiting: 0.06,
  won: 0.16,
  lost: 0.1,
};

function colorOf(kind: BoxKind, palette: Palette): string {
  if (kind === "won" || kind === "lost") return palette[kind];
  return kind === "waiting" ? palette["ink-soft"] : palette.accent;
}

/**
 * Draws all boxes; one may be highlighted. Boxes that look alike are painted as one shape, so that
 * colours do not add up where they overlap.
 */
export function paintBoxes(frame: Frame): void {
  const { boxes, highlighted, scales: { x, plot, nowMs } } = frame;
  const shown = boxes.filter(({ fromMs, toMs }) => x(toMs) >= plot.left && x(fromMs) <= plot.right);
  for (const group of groupsOf(shown, nowMs)) paintGroup(frame, group);
  const box = shown.find(({ thesisId }) => highlighted !== undefined && thesisId === highlighted);
  if (box === undefined) return;
  paintGroup(frame, { kind: box.kind, strength: 2, boxes: [box] });
}

function paintGroup(frame: Frame, { kind, strength, boxes }: BoxGroup): void {
  const { context, scales, palette } = frame;
  const color = colorOf(kind, palette);
  const isOwn = kind === "draft" || kind === "quoted";
  context.fillStyle = context.strokeStyle = color;
  context.globalAlpha = FILLS[kind] * strength;
  // A box is filled only up to the time at which the price left it.
  fillBoxes(frame, boxes, ({ breach, toMs }) => breach?.time ?? toMs);
  // The passed part of an open box is filled more strongly.
  if (kind === "open") {
    fillBoxes(frame, boxes, ({ toMs }) => Math.min(toMs, scales.nowMs));
  }
  context.globalAlpha = Math.min(1, strength) * (boxes.length > OUTLINES_MAX ? 0.25 : 1);
  context.lineWidth = isOwn || strength > 1 ? 2 : 1.25;
  if (isOwn || kind === "lost") context.setLineDash([6, 4]); // not a bet yet, or a lost one
  tracePath(frame, boxes, (box) => box.toMs);
  context.stroke();
  context.setLineDash([]);
  context.globalAlpha = 1;
}

function fillBoxes(
  frame: Frame,
  boxes: readonly ChartBox[],
  endOf: (box: ChartBox) => number,
): void {
  tracePath(frame, boxes, endOf);
  frame.context.fill("nonzero");
}

/** Traces the outlines of boxes, from their start to the given end. */
function tracePath(
  { context, scales: { x, y } }: Frame,
  boxes: readonly ChartBox[],
  endOf: (box: ChartBox) => number,
): void {
  context.beginPath();
  for (const box of boxes) {
    const [left, top] = [x(box.fromMs), y(box.high)];
    const width = x(endOf(box)) - left;
    if (width > 0) context.rect(left, top, width, y(box.low) - top);
  }
}

/** Half the width of the newest price's dot, with space around it. */
const DOT = 6;

/** Most labels: more could not be read. */
const LABELS_MAX = 40;

/**
 * Labels boxes with their states. Labels are drawn after all boxes, so that no box crosses them.
 * The label of the highlighted box is drawn first, then the others from the topmost box down. A
 * label is at the upper edge of its box, or at the lower edge if another label is there. If both
 * are taken, the box has none.
 */
export function paintBoxLabels(frame: Frame): void {
  const { context, scales: { x, y, plot }, palette, series, boxes, highlighted, isOld } = frame;
  const newest = { at: x(series.times.at(-1) ?? 0), level: y(series.prices.at(-1) ?? 0) };
  // No label covers the newest price.
  const drawn: Label[] = [{ left: newest.at - DOT, width: 2 * DOT, level: newest.level }];
  const isFirst = ({ thesisId }: ChartBox) => thesisId !== undefined && thesisId === highlighted;
  const ordered = [...boxes.filter((box) => !isFirst(box)), ...boxes.filter(isFirst)];
  context.font = `600 12px ${palette.font}`;
  for (let index = ordered.length - 1; index >= 0 && drawn.length <= LABELS_MAX; index--) {
    const box = ordered[index]!; // the index is below the length
    const left = x(box.fromMs);
    const right = x(box.toMs);
    const isWide = isFirst(box) || right - left >= LABEL_WIDTH_MIN;
    const isShown = right >= plot.left && left <= plot.right && isWide;
    if (!isShown || box.label === "") continue;
    for (const edge of [y(box.high) - 11, y(box.low) + 11]) {
      const level = Math.min(plot.bottom - 11, Math.max(HIGHEST[isOld ? "old" : "fresh"], edge)); // inside the chart
      const least = { left: Math.max(2, left), width: LABEL_WIDTH_MIN, level };
      // Measuring takes longer than comparing.
      if (drawn.some((other) => isOver(least, other))) continue;
      const width = context.measureText(box.label).width + 12;
      const label = {
        left: Math.max(2, Math.min(left, right - width, plot.right - width)),
        width,
        level,
      };
      if (drawn.some((other) => isOver(label, other))) continue;
      drawn.push(label);
      paintLabel(frame, box.label, label, colorOf(box.kind, palette));
      break;
    }
  }
  context.font = `12px ${palette.font}`;
}

/** The position of a label; all labels have the same height. */
interface Label {
  left: number;
  width: number;
  level: number;
}

const LABEL_HEIGHT = 18;

/** The highest position of a label, lower while a banner about old prices covers the chart. */
const HIGHEST = { fresh: 18, old: 68 };

function isOver(a: Label, b: Label): boolean {
  return Math.abs(a.level - b.level) < LABEL_HEIGHT && a.left < b.left + b.width &&
    b.left < a.left + a.width;
}

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

export function paintLabel(
  { context, palette }: Frame,
  text: string,
  { left, width, level }: Label,
  color: string,
): void {
  context.fillStyle = color;
  context.beginPath();
  context.roundRect(left, level - LABEL_HEIGHT / 2, width, LABEL_HEIGHT, 5);
  context.fill();
  context.fillStyle = palette.surface;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillText(text, left + 6, level + 0.5);
}

/** Marks where the price left a box. */
export function paintBreach({ context, scales, palette }: Frame, { breach }: ChartBox): void {
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
