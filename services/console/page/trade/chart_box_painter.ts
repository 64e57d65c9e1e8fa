/** Draws boxes on the chart. */
import type { BoxKind, ChartBox } from "./chart_boxes.ts";
import type { Palette } from "./chart_palette.ts";
import type { Scales } from "./chart_scales.ts";

type Context = CanvasRenderingContext2D;

/** Labels need room: below this a box has none. */
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

/** Boxes below this many others are outlines: their colour would hardly show, and slows each frame. */
const FILLED_MAX = 100;

/** Draws all boxes, the last on top. */
export function paintBoxes(
  context: Context,
  scales: Scales,
  palette: Palette,
  boxes: readonly ChartBox[],
): void {
  for (const [index, box] of boxes.entries()) {
    paintBox(context, scales, palette, box, index >= boxes.length - FILLED_MAX);
  }
}

/** Draws one box without its label: its state shows in colour, line and pattern. */
function paintBox(
  context: Context,
  scales: Scales,
  palette: Palette,
  box: ChartBox,
  isFilled: boolean,
): void {
  const { x, y, plot, nowMs } = scales;
  const left = x(box.fromMs);
  const right = x(box.toMs);
  if (right < plot.left || left > plot.right) return;
  const top = y(box.high);
  const height = y(box.low) - top;
  const color = colorOf(box.kind, palette);
  context.fillStyle = color;
  context.globalAlpha = FILLS[box.kind];
  if (isFilled) context.fillRect(left, top, right - left, height);
  if (box.kind === "open" && nowMs > box.fromMs) {
    // It fills as time passes.
    context.globalAlpha = 0.18;
    context.fillRect(left, top, x(Math.min(nowMs, box.toMs)) - left, height);
  }
  context.globalAlpha = 1;
  if (box.kind === "lost") paintStripes(context, left, top, right - left, height, color);
  context.strokeStyle = color;
  context.lineWidth = box.kind === "draft" || box.kind === "quoted" ? 2 : 1.25;
  if (box.kind === "draft" || box.kind === "lost") context.setLineDash([6, 4]);
  context.strokeRect(left, top, right - left, height);
  context.setLineDash([]);
  if (box.kind === "draft") paintHandles(context, left, top, right, top + height, palette);
}

/** More labels than this cannot be read. */
const LABELS_MAX = 40;

/**
 * Names the states of boxes in words. Drawn after all boxes, so that no other one crosses it, and from
 * the top one down: a label that would cover another one is left out.
 */
export function paintBoxLabels(
  context: Context,
  scales: Scales,
  palette: Palette,
  boxes: readonly ChartBox[],
): void {
  const { x, y, plot } = scales;
  const drawn: Label[] = [];
  context.font = `600 12px ${palette.font}`;
  for (let index = boxes.length - 1; index >= 0 && drawn.length < LABELS_MAX; index--) {
    const box = boxes[index]!; // below the length
    const left = x(box.fromMs);
    const right = x(box.toMs);
    const isShown = right >= plot.left && left <= plot.right && right - left >= LABEL_WIDTH_MIN;
    if (!isShown || box.label === "") continue;
    const level = Math.max(18, y(box.high) - 11); // below the edge of the chart
    const least = { left: Math.max(2, left), width: LABEL_WIDTH_MIN, level };
    // Measuring takes longer than comparing.
    if (drawn.some((other) => isOver(least, other))) continue;
    const width = context.measureText(box.label).width + 12;
    const label = { left: Math.max(2, Math.min(left, right - width)), width, level };
    if (drawn.some((other) => isOver(label, other))) continue;
    drawn.push(label);
    paintLabel(context, box.label, label, colorOf(box.kind, palette), palette);
  }
  context.font = `12px ${palette.font}`;
}

/** Where a label is; all have the same height. */
interface Label {
  left: number;
  width: number;
  level: number;
}

const LABEL_HEIGHT = 18;

function isOver(a: Label, b: Label): boolean {
  return Math.abs(a.level - b.level) < LABEL_HEIGHT && a.left < b.left + b.width &&
    b.left < a.left + a.width;
}

function paintStripes(
  context: Context,
  left: number,
  top: number,
  width: number,
  height: number,
  color: string,
): void {
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  context.strokeStyle = color;
  context.globalAlpha = 0.3;
  context.lineWidth = 1;
  context.beginPath();
  for (let at = left - height; at < left + width; at += 9) {
    context.moveTo(at, top + height);
    context.lineTo(at + height, top);
  }
  context.stroke();
  context.restore();
}

function paintHandles(
  context: Context,
  left: number,
  top: number,
  right: number,
  bottom: number,
  palette: Palette,
): void {
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

function paintLabel(
  context: Context,
  text: string,
  { left, width, level }: Label,
  color: string,
  palette: Palette,
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

/** Where the price left a box. */
export function paintBreach(
  context: Context,
  scales: Scales,
  palette: Palette,
  { breach }: ChartBox,
): void {
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
