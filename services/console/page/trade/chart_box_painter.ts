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

/** Draws one box without its label: its state shows in colour, line and pattern. */
export function paintBox(
  context: Context,
  scales: Scales,
  palette: Palette,
  box: ChartBox,
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
  context.fillRect(left, top, right - left, height);
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

/** Names the state of a box in words. Drawn after all boxes, so that no other one crosses it. */
export function paintBoxLabel(
  context: Context,
  { x, y, plot }: Scales,
  palette: Palette,
  { kind, label, fromMs, toMs, high }: ChartBox,
): void {
  const left = x(fromMs);
  const right = x(toMs);
  const isShown = right >= plot.left && left <= plot.right && right - left >= LABEL_WIDTH_MIN;
  if (!isShown || label === "") return;
  paintLabel(context, label, left, right, y(high), colorOf(kind, palette), palette);
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
  label: string,
  left: number,
  right: number,
  top: number,
  color: string,
  palette: Palette,
): void {
  context.font = `600 12px ${palette.font}`;
  const width = context.measureText(label).width + 12;
  const at = Math.max(2, Math.min(left, right - width));
  const level = Math.max(18, top - 11); // below the edge of the chart
  context.fillStyle = color;
  context.beginPath();
  context.roundRect(at, level - 9, width, 18, 5);
  context.fill();
  context.fillStyle = palette.surface;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillText(label, at + 6, level + 0.5);
  context.font = `12px ${palette.font}`;
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
