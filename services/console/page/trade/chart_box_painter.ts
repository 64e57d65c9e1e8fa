/** Draws boxes on the chart. */
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

const FILLS: Readonly<Record<BoxKind, number>> = {
  draft: 0.16,
  quoted: 0.24,
  open: 0.06,
  waiting: 0.05,
  won: 0.12,
  lost: 0.08,
};

/** The weakest outline of a box, among many. */
const OUTLINE_MIN = 0.25;

/** How much of everything below it a box hides that the user makes or points at. */
const COVER = 0.7;

const isOwn = ({ kind }: Pick<ChartBox, "kind">) => kind === "draft" || kind === "quoted";

export function colorOf(kind: BoxKind, palette: Palette): string {
  if (kind === "draft" || kind === "quoted") return palette.accent;
  return kind === "waiting" ? palette["ink-soft"] : palette[kind];
}

/** Whether only the bounds of a bet are drawn: one that is longer than the chart would tint all of it. */
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
  const color = colorOf(kind, palette);
  const filled = boxes.filter((box) => !isBounds(frame, box));
  if (isChief) paintCover(frame, filled);
  context.fillStyle = context.strokeStyle = color;
  context.globalAlpha = isChief ? Math.max(0.16, FILLS[kind]) : FILLS[kind];
  tracePath(frame, filled);
  context.fill("nonzero");
  if (kind === "open") { // its passed part more strongly
    tracePath(frame, filled, scales.nowMs);
    context.fill("nonzero");
  }
  // The more boxes, the calmer: their outlines do not hide prices.
  context.globalAlpha = isChief ? 1 : Math.max(OUTLINE_MIN, boxes.length ** (-1 / 3));
  context.lineWidth = isChief ? 2.5 : 1;
  // Not a bet yet, or a lost one.
  if (kind === "draft" || kind === "quoted" || kind === "lost") context.setLineDash([6, 4]);
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

/** Half the width of the newest price's dot, with space around it. */
const DOT = 6;

/** Among more boxes than this, labels could not be read. */
const LABELS_MAX = 40;

/** Least width of a box with a label, and of a label. */
const LABEL_WIDTH_MIN = 60;

/**
 * Labels boxes with their states. Labels are drawn after all boxes, so that no box crosses them.
 * The highlighted box and the user's own one always have theirs, at the upper edge or else at the
 * lower one. Any other box has one only if it covers neither a label nor another box; of many, none
 * has.
 */
export function paintBoxLabels(frame: Frame): void {
  const { context, scales: { x, y, nowMs, plot }, palette, series } = frame;
  const newest = { at: x(series.times.at(-1) ?? 0), level: y(series.prices.at(-1) ?? 0) };
  // No label covers the newest price or "now".
  const drawn: Label[] = [
    { left: newest.at - DOT, width: 2 * DOT, level: newest.level },
    { left: x(nowMs), width: 36, level: plot.bottom - 10 },
  ];
  const isChief = (box: ChartBox) => isHighlighted(frame, box) || isOwn(box);
  // One that was zoomed off the chart is still announced at its edge.
  const isAhead = (box: ChartBox) => isOwn(box) && x(box.fromMs) > plot.right;
  const inView = [...inViewOf(frame), ...frame.boxes.filter(isAhead)];
  const seen = inView.length > LABELS_MAX ? inView.filter(isChief) : inView;
  const areas = seen.map((box) => areaOf(frame, box));
  const rank = (box: ChartBox) => isHighlighted(frame, box) ? 2 : isOwn(box) ? 1 : 0;
  const order = seen.map((_, index) => index).sort((a, b) =>
    rank(seen[b]!) - rank(seen[a]!) || b - a // from the topmost down
  );
  context.font = `600 12px ${palette.font}`;
  for (const index of order) {
    const [box, area] = [seen[index]!, areas[index]!]; // of the same length
    const isWide = isChief(box) || x(box.toMs) - area.left >= LABEL_WIDTH_MIN;
    const text = isAhead(box) ? `${box.label} →` : box.label;
    if (!isWide || text === "") continue;
    const isFree = (label: Label) =>
      !drawn.some((other) => isOver(label, other)) &&
      (isChief(box) ||
        !areas.some((other, at) =>
          at !== index && !isBounds(frame, seen[at]!) && isOnArea(label, other)
        ));
    const label = placeFor(frame, { ...box, label: text }, area, isFree);
    if (label === undefined) continue;
    drawn.push(label);
    const color = colorOf(box.kind, palette);
    const look = isChief(box)
      ? { ground: color, ink: palette.surface }
      : { ground: palette.surface, ink: color };
    paintLabel(frame, text, label, look);
  }
  context.font = `12px ${palette.font}`;
}

/**
 * The first free place for a whole label at a corner of its box, inside the chart: above it, or
 * below it if the price left it upwards.
 */
function placeFor(
  { context, scales: { plot } }: Frame,
  { label: text, breach, high }: ChartBox,
  { left, right, top, bottom }: Area,
  isFree: (label: Label) => boolean,
): Label | undefined {
  const edges = [top - LABEL_REACH, bottom + LABEL_REACH];
  if (breach && breach.price > high) edges.reverse();
  for (const side of ["left", "right"] as const) {
    for (const edge of edges) {
      const level = Math.min(plot.bottom - 11, Math.max(HIGHEST, edge));
      const labelOf = (width: number): Label => {
        const start = side === "left" ? left : right - width;
        return { left: Math.max(2, Math.min(start, plot.right - width)), width, level };
      };
      // Beside a bound that is not on the chart, it would be taken for that of another bet.
      if (left <= plot.left && right >= plot.right && level !== edge) continue;
      // Measuring takes longer than comparing.
      if (!isFree(labelOf(LABEL_WIDTH_MIN))) continue;
      const label = labelOf(context.measureText(text).width + 12);
      const isWhole = label.left + label.width <= plot.right;
      if (isWhole && isFree(label)) return label;
    }
  }
  return undefined;
}

interface Area {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

const areaOf = ({ scales: { x, y } }: Frame, box: ChartBox): Area => ({
  ...{ left: x(box.fromMs), right: x(endOf(box)), top: y(box.high), bottom: y(box.low) },
});

/** The position of a label; all labels have the same height. */
interface Label {
  left: number;
  width: number;
  level: number;
}

const LABEL_HEIGHT = 18;

/** The middle of a label is this far from the edge of its box. */
const LABEL_REACH = 11;

/** The highest position of a label. */
const HIGHEST = 18;

function isOver(a: Label, b: Label): boolean {
  return Math.abs(a.level - b.level) < LABEL_HEIGHT && a.left < b.left + b.width &&
    b.left < a.left + a.width;
}

function isOnArea({ left, width, level }: Label, area: Area): boolean {
  return left < area.right && area.left < left + width &&
    level - LABEL_HEIGHT / 2 < area.bottom && area.top < level + LABEL_HEIGHT / 2;
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
  { context }: Frame,
  text: string,
  { left, width, level }: Label,
  { ground, ink }: { ground: string; ink: string },
): void {
  context.fillStyle = ground;
  context.beginPath();
  context.roundRect(left, level - LABEL_HEIGHT / 2, width, LABEL_HEIGHT, 5);
  context.fill();
  context.fillStyle = ink;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillText(text, left + 6, level + 0.5);
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
