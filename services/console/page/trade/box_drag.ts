/** Turns a drag on the chart into a box: a new one, or the drawn one moved or resized. */
import { clamp, decimalsOf, toNumber } from "../parts/format.ts";
import type { Area, Position, Scales } from "./chart_scales.ts";
import { type Corners, type Draft, draftOf, DURATION_MIN_MS, START_MIN_MS } from "./draft.ts";

/** The dragged part: a new box, the whole box, or some of its sides. */
export type Grip =
  | { kind: "new" }
  | { kind: "move" }
  | { kind: "sides"; horizontal?: "from" | "to"; vertical?: "low" | "high" };

/** A point of the chart in time and price; the time counts from now. */
interface ChartPoint {
  ms: number;
  price: number;
}

function pointAt({ x, y, nowMs }: Scales, at: Position): ChartPoint {
  return { ms: x.invert(at.x) - nowMs, price: y.invert(at.y) };
}

/**
 * Distance within which a side is grabbed, in pixels. A box can be grabbed as if it were at least
 * three times as wide and high.
 */
export const REACH = { mouse: 8, touch: 24 };

/** The same distance outside a box: a finger that just misses it must not draw a new one. */
const MARGIN = { mouse: 8, touch: 40 };

/** The area in which a box can be grabbed, in pixels. It is larger than a small box. */
export function grabArea({ x, y, nowMs }: Scales, draft: Draft, reach: number): Area {
  const { fromMs, toMs, low, high } = cornersOf(draft);
  const [left, right] = widened(x(nowMs + fromMs), x(nowMs + toMs), 3 * reach);
  const [top, bottom] = widened(y(high), y(low), 3 * reach);
  return { left, right, top, bottom };
}

function widened(from: number, to: number, least: number): [from: number, to: number] {
  const missing = Math.max(0, least - (to - from)) / 2;
  return [from - missing, to + missing];
}

/** The part that a pointer would drag. */
export function gripAt(
  scales: Scales,
  draft: Draft | undefined,
  { x, y }: Position,
  by: keyof typeof REACH,
): Grip {
  const [reach, margin] = [REACH[by], MARGIN[by]];
  if (draft === undefined) return { kind: "new" };
  const { left, right, top, bottom } = grabArea(scales, draft, reach);
  const isBeside = x >= left - margin && x <= right + margin;
  const isAcross = y >= top - margin && y <= bottom + margin;
  if (!isBeside || !isAcross) return { kind: "new" };
  const horizontal = x >= right - reach ? "to" : x <= left + reach ? "from" : undefined;
  const vertical = y <= top + reach ? "high" : y >= bottom - reach ? "low" : undefined;
  if (horizontal === undefined && vertical === undefined) return { kind: "move" };
  return { kind: "sides", ...(horizontal && { horizontal }), ...(vertical && { vertical }) };
}

/** A finger this near to a corner, in pixels, pulls it at once: it is on its handle. */
const HANDLE = 14;

/** Whether a position is on the handle of a corner. */
export function isOnHandle({ x, y, nowMs }: Scales, draft: Draft, at: Position): boolean {
  const { fromMs, toMs, low, high } = cornersOf(draft);
  return [fromMs, toMs].some((ms) =>
    [low, high].some((price) => Math.hypot(at.x - x(nowMs + ms), at.y - y(price)) <= HANDLE)
  );
}

/** A finger that has rested for this long draws in all directions, and resizes a box at its sides. */
const HOLD_MS = 200;

/**
 * What a finger does that starts to move by `x` and `y`. Without a rest it scrolls the page if it
 * moves nearly vertically, and otherwise moves a box, wherever it has grabbed it.
 */
export function strokeOf(x: number, y: number, restedMs: number): "scroll" | "quick" | "rested" {
  if (restedMs >= HOLD_MS) return "rested";
  return Math.abs(y) > 2 * Math.abs(x) ? "scroll" : "quick";
}

/** A drag in progress. */
export class BoxDrag {
  #grip: Grip;
  readonly #before: Corners | undefined;
  readonly #start: ChartPoint;

  /** @param before The box that was there when the drag began. */
  constructor(grip: Grip, before: Draft | undefined, scales: Scales, at: Position) {
    this.#grip = grip;
    this.#before = before && cornersOf(before);
    this.#start = pointAt(scales, at);
  }

  /** From now on it moves the whole box, wherever that was grabbed. */
  switchToMove(): void {
    this.#grip = { kind: "move" };
  }

  /** The box for a position of the pointer; undefined while it is too small. */
  draftAt(scales: Scales, { x, y }: Position): Draft | undefined {
    const { left, right, top, bottom } = scales.plot;
    const point = pointAt(scales, { x: clamp(x, left, right), y: clamp(y, top, bottom) });
    if (this.#grip.kind !== "move" || this.#before === undefined) {
      return draftOf(this.#corners(point));
    }
    return movedBy(this.#before, point.ms - this.#start.ms, point.price - this.#start.price);
  }

  #corners(point: ChartPoint): Corners {
    const before = this.#before;
    const grip = this.#grip;
    if (grip.kind !== "sides" || before === undefined) {
      return {
        fromMs: this.#start.ms,
        toMs: point.ms,
        low: this.#start.price,
        high: point.price,
      };
    }
    const shift = point.price - this.#start.price;
    const sideMs = point.ms - this.#start.ms;
    // A side stops at the opposite one.
    const { fromMs, toMs, low, high } = before;
    const height = 10 ** -decimalsOf(high);
    return {
      ...before,
      ...(grip.horizontal === "from" && {
        fromMs: Math.min(fromMs + sideMs, toMs - DURATION_MIN_MS),
      }),
      ...(grip.horizontal === "to" && { toMs: Math.max(toMs + sideMs, fromMs + DURATION_MIN_MS) }),
      ...(grip.vertical === "low" && { low: Math.min(low + shift, high - height) }),
      ...(grip.vertical === "high" && { high: Math.max(high + shift, low + height) }),
    };
  }
}

/** Distance by which a press of an arrow key moves a side, in pixels; times in whole seconds. */
const NUDGE = 6;

interface ArrowPress {
  key: string;
  shiftKey: boolean;
}

/** The box after an arrow key: moved, or with Shift made larger or smaller; undefined otherwise. */
export function nudged(
  { x, y }: Scales,
  draft: Draft,
  { key, shiftKey }: ArrowPress,
): Draft | undefined {
  const time = 1_000 * Math.max(1, Math.round((x.invert(NUDGE) - x.invert(0)) / 1_000));
  const price = y.invert(0) - y.invert(NUDGE);
  const ms = key === "ArrowRight" ? time : key === "ArrowLeft" ? -time : 0;
  const rise = key === "ArrowUp" ? price : key === "ArrowDown" ? -price : 0;
  if (ms === 0 && rise === 0) return undefined;
  const before = cornersOf(draft);
  if (!shiftKey) return movedBy(before, ms, rise);
  const { toMs, low, high } = before;
  return draftOf({ ...before, toMs: toMs + ms, low: low - rise, high: high + rise });
}

/** The same box later and higher, as long as before; it starts no sooner than it can. */
function movedBy(before: Corners, ms: number, rise: number): Draft | undefined {
  const { fromMs, toMs, low, high } = before;
  const laterMs = Math.max(START_MIN_MS - fromMs, ms);
  const corners = { fromMs: fromMs + laterMs, toMs: toMs + laterMs };
  const draft = draftOf({ ...corners, low: low + rise, high: high + rise });
  return draft &&
    { ...draft, durationMs: toMs - fromMs, ...(laterMs === 0 && { startsInMs: fromMs }) };
}

function cornersOf({ lowerPrice, upperPrice, startsInMs, durationMs }: Draft): Corners {
  return {
    fromMs: startsInMs,
    toMs: startsInMs + durationMs,
    low: toNumber(lowerPrice),
    high: toNumber(upperPrice),
  };
}
