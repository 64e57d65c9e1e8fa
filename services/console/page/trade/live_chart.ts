import { toNumber } from "../parts/format.ts";
import { type ChartContent, type Palette, readPalette } from "./chart_frame.ts";
import { paint } from "./chart_painter.ts";
import {
  type ChartRange,
  isKept,
  nextRange,
  NO_RANGE,
  paceOf,
  pastShare,
  type Position,
  type Scales,
  scalesOf,
  shownRange,
} from "./chart_scales.ts";

/** The range of prices stays fixed for this long after a drag, in case another one follows. */
const UNFREEZE_AFTER_MS = 4_000;

/** Smaller movements, in pixels, are not painted. */
const MOVE_MIN = 0.5;

/** A chart on a canvas that moves with time. */
export class LiveChart {
  readonly #canvas: HTMLCanvasElement;
  readonly #content: () => ChartContent;
  #palette: Palette;
  #scales: Scales | undefined;
  /** Until then the range of prices is fixed; Infinity during a drag. */
  #frozenUntilMs = 0;
  #range = NO_RANGE;
  /** Size in units of `scale` page pixels, so that drawn text is as large as the page's text. */
  #size = { width: 0, height: 0, scale: 1 };
  /** Size, pixel ratio and scale of the last frame. */
  #sizeKey = "";
  #atMs = 0;
  #paintedKey = "";

  /** @param signal Ends the chart. */
  constructor(canvas: HTMLCanvasElement, content: () => ChartContent, signal: AbortSignal) {
    this.#canvas = canvas;
    this.#content = content;
    this.#palette = readPalette(canvas);
    const repaint = () => {
      this.#palette = readPalette(canvas);
      this.#paintedKey = "";
    };
    for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
      matchMedia(query).addEventListener("change", repaint, { signal });
    }
    // The page's height changes with the size of its text.
    const sizes = new ResizeObserver(() => this.#resize());
    for (const element of [canvas, document.body]) sizes.observe(element);
    signal.addEventListener("abort", () => sizes.disconnect());
    this.#run(signal);
  }

  /** Paints each frame of the screen, or in steps if the user prefers reduced motion or is idle. */
  #run(signal: AbortSignal): void {
    const reduced = matchMedia("(prefers-reduced-motion: reduce)");
    let touchedAtMs = performance.now();
    let timer: number | undefined;
    const next = () => {
      timer = undefined;
      requestAnimationFrame(frame);
    };
    const frame = (atMs: number) => {
      if (signal.aborted) return;
      const restedMs = atMs - touchedAtMs;
      const isCalm = reduced.matches && !this.isHeld;
      const { stepMs, pauseMs } = paceOf(restedMs, isCalm);
      this.#paint(atMs, stepMs, isCalm);
      if (pauseMs > 0) timer = setTimeout(next, pauseMs);
      else next();
    };
    const touched = () => {
      touchedAtMs = performance.now();
      if (timer === undefined) return;
      clearTimeout(timer);
      next();
    };
    for (const type of ["pointermove", "pointerdown", "wheel", "keydown"]) {
      addEventListener(type, touched, { signal, passive: true });
    }
    next();
  }

  get scales(): Scales | undefined {
    return this.#scales;
  }

  /** The position of a pointer, given in page pixels from the corner of the canvas. */
  toChart(x: number, y: number): Position {
    const { scale } = this.#size;
    return { x: x / scale, y: y / scale };
  }

  get isHeld(): boolean {
    return this.#frozenUntilMs === Infinity;
  }

  /** Fixes the range of prices, or releases it after a short time. */
  freeze(isFrozen: boolean): void {
    this.#frozenUntilMs = isFrozen ? Infinity : performance.now() + UNFREEZE_AFTER_MS;
  }

  #isRangeKept({ draft, series }: ChartContent): boolean {
    const sides = draft === undefined ? [] : [draft.lowerPrice, draft.upperPrice].map(toNumber);
    const leftMs = this.#frozenUntilMs - performance.now();
    return isKept(this.#range, leftMs, [...series.prices.slice(-1), ...sides]);
  }

  #resize(): void {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    const ratio = globalThis.devicePixelRatio || 1;
    const scale = textScale(width);
    const sizeKey = [width, height, ratio, scale].join();
    if (sizeKey === this.#sizeKey) return;
    this.#sizeKey = sizeKey;
    this.#size = { width: width / scale, height: height / scale, scale };
    this.#canvas.width = Math.round(width * ratio);
    this.#canvas.height = Math.round(height * ratio);
    this.#canvas.getContext("2d")?.setTransform(ratio * scale, 0, 0, ratio * scale, 0, 0);
    this.#paintedKey = "";
    this.#paint(this.#atMs, 0);
  }

  /**
   * @param leastMs Time moves in steps of at least this.
   * @param isCalm Whether the range of prices moves at once, not smoothly.
   */
  #paint(atMs: number, leastMs: number, isCalm = false): void {
    const context = this.#canvas.getContext("2d");
    const { width, height } = this.#size;
    if (context === null || width === 0 || height === 0) return;
    const content = this.#content();
    const { spanMs } = content;
    const stepMs = Math.max(leastMs, spanMs * MOVE_MIN / width);
    const nowMs = Math.floor(content.nowMs / stepMs) * stepMs;
    const elapsedMs = isCalm ? Infinity : Math.min(100, atMs - this.#atMs);
    // In steps, prices and the range also move only with the steps of time, from the first price on.
    const isStepped = leastMs > 0;
    const isNew = !isStepped || nowMs !== this.#scales?.nowMs || this.#range === NO_RANGE;
    if (isNew) this.#atMs = atMs;
    if (!this.#isRangeKept(content)) {
      this.#frozenUntilMs = 0;
      const fromMs = nowMs - spanMs * pastShare(width);
      if (isNew) this.#range = nextRange(this.#range, shownRange(content, fromMs), elapsedMs);
    }
    const key = keyOf(content, nowMs, this.#range, height, isStepped);
    if (key === this.#paintedKey) return;
    this.#paintedKey = key;
    this.#scales = scalesOf(this.#size, { nowMs, spanMs, ...this.#range });
    paint({ ...content, context, scales: this.#scales, palette: this.#palette }, width, height);
  }
}

/** A chart that is narrower than this has no space for larger text. */
const LARGE_TEXT_WIDTH = 190;

/** How much the user has enlarged the page's text, limited by the chart's width. */
export function textScale(width: number): number {
  const share = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
  return Math.max(1, Math.min(share, width / LARGE_TEXT_WIDTH));
}

/** A key that changes with the look of a frame, to half a pixel. */
function keyOf(
  { series, boxes, draft, highlighted, probe, hint, isOld, spanMs }: ChartContent,
  nowMs: number,
  { low, high }: ChartRange,
  height: number,
  isStepped: boolean,
): string {
  const pixel = (high - low) * MOVE_MIN / height;
  const own = boxes.at(-1);
  return [
    `${nowMs} ${spanMs} ${isStepped ? 0 : series.version} ${boxes.length} ${highlighted} ${isOld}`,
    `${Math.round(low / pixel)} ${Math.round(high / pixel)} ${hint !== undefined}`,
    `${own?.kind} ${own?.label} ${own?.low} ${own?.high}`,
    `${draft?.startsInMs} ${draft?.durationMs}`,
    `${probe?.text} ${probe?.place.time} ${probe?.place.price}`,
  ].join();
}
