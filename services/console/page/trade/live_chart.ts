import type { PriceSeries } from "../data/price_series.ts";
import type { ChartBox } from "./chart_boxes.ts";
import { paint } from "./chart_painter.ts";
import { type Palette, readPalette } from "./chart_palette.ts";
import { pastShare, type PriceRange, PriceWindow, type Scales, scalesOf } from "./chart_scales.ts";

/** Content of the chart at one moment. */
export interface ChartContent {
  series: PriceSeries;
  boxes: readonly ChartBox[];
  hint: string | undefined;
  nowMs: number;
  spanMs: number;
}

/** Boxes may stretch the chart to this many times the height of its prices. */
const STRETCH_MAX = 4;

/** Users who prefer reduced motion get two frames a second. */
const CALM_FRAME_MS = 500;

/** A chart on a canvas that moves with the time. */
export class LiveChart {
  readonly #canvas: HTMLCanvasElement;
  readonly #content: () => ChartContent;
  readonly #window = new PriceWindow();
  #palette: Palette;
  #scales: Scales | undefined;
  #held: PriceRange | undefined;
  #range: PriceRange = { low: 0, high: 1 };
  #size = { width: 0, height: 0 };
  #paintedAtMs = 0;

  /** @param signal Ends the chart. */
  constructor(canvas: HTMLCanvasElement, content: () => ChartContent, signal: AbortSignal) {
    this.#canvas = canvas;
    this.#content = content;
    this.#palette = readPalette(canvas);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => this.#palette = readPalette(canvas), { signal });
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)");
    const sizes = new ResizeObserver(() => this.#resize());
    sizes.observe(canvas);
    const frame = (atMs: number) => {
      if (signal.aborted) return sizes.disconnect();
      if (!isCalm.matches || atMs - this.#paintedAtMs >= CALM_FRAME_MS) this.#paint(atMs);
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  /** The scales of the newest frame. */
  get scales(): Scales | undefined {
    return this.#scales;
  }

  /** Keeps the prices of the chart where they are, or lets them follow again. */
  hold(isHeld: boolean): void {
    this.#held = isHeld ? this.#range : undefined;
  }

  #resize(): void {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    const ratio = globalThis.devicePixelRatio || 1;
    this.#size = { width, height };
    this.#canvas.width = Math.round(width * ratio);
    this.#canvas.height = Math.round(height * ratio);
    this.#canvas.getContext("2d")?.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.#palette = readPalette(this.#canvas);
    this.#paint(this.#paintedAtMs);
  }

  #paint(atMs: number): void {
    const context = this.#canvas.getContext("2d");
    const { width, height } = this.#size;
    if (context === null || width === 0 || height === 0) return;
    const content = this.#content();
    const { series, boxes, hint, nowMs, spanMs } = content;
    const elapsedMs = Math.min(100, atMs - this.#paintedAtMs);
    this.#paintedAtMs = atMs;
    this.#range = this.#held ?? this.#window.next(shownRange(content, width), elapsedMs);
    this.#scales = scalesOf(this.#size, { nowMs, spanMs, ...this.#range });
    const frame = { scales: this.#scales, series, boxes, hint, palette: this.#palette };
    paint(context, frame, width, height);
  }
}

/** The prices of the time that is shown, stretched by the boxes that are not decided. */
function shownRange(
  { series, boxes, nowMs, spanMs }: ChartContent,
  width: number,
): PriceRange | undefined {
  const { prices } = series;
  let low = Infinity;
  let high = -Infinity;
  for (
    let index = series.indexAt(nowMs - spanMs * pastShare(width));
    index < prices.length;
    index++
  ) {
    const price = prices[index]!; // below the length
    if (price < low) low = price;
    if (price > high) high = price;
  }
  if (low > high) {
    const newest = prices.at(-1);
    if (newest === undefined) return undefined;
    low = high = newest;
  }
  const reach = Math.max(high - low, high * 0.0006) * STRETCH_MAX;
  const [lowest, highest] = [low - reach, high + reach];
  for (const box of boxes) {
    const isSettled = box.kind === "won" || box.kind === "lost";
    if (isSettled || box.toMs < nowMs || box.fromMs > nowMs + spanMs) continue;
    const isDraft = box.kind === "draft" || box.kind === "quoted";
    low = Math.min(low, isDraft ? box.low : Math.max(lowest, box.low));
    high = Math.max(high, isDraft ? box.high : Math.min(highest, box.high));
  }
  return { low, high };
}
