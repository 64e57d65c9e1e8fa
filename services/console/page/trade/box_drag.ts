/** Turns a drag on the chart into a box: a new one, or the drawn one moved or resized. */
import { toNumber } from "../format.ts";
import type { Scales } from "./chart_scales.ts";
import { type Corners, type Draft, draftOf } from "./draft.ts";

/** The dragged part: the whole box, or some of its sides. */
export type Grip =
  | { kind: "new" }
  | { kind: "move" }
  | { kind: "sides"; horizontal?: "from" | "to"; vertical?: "low" | "high" };

/** A point of the chart in its own units; the time counts from now. */
interface ChartPoint {
  ms: number;
  price: number;
}

/** The place of a pointer in units of the chart. */
function pointAt({ x, y, nowMs }: Scales, atX: number, atY: number): ChartPoint {
  return { ms: x.invert(atX) - nowMs, price: y.invert(atY) };
}

/** The part that a pointer would drag. @param reach How close it has to be to a side, in pixels. */
export function gripAt(
  scales: Scales,
  draft: Draft | undefined,
  atX: number,
  atY: number,
  reach: number,
): Grip {
  if (draft === undefined) return { kind: "new" };
  const { fromMs, toMs, low, high } = cornersOf(draft);
  const { x, y, nowMs } = scales;
  const [left, right] = [x(nowMs + fromMs), x(nowMs + toMs)];
  const [top, bottom] = [y(high), y(low)];
  const isNear = (a: number, b: number) => Math.abs(a - b) <= reach;
  const isBeside = atX >= left - reach && atX <= right + reach;
  const isAcross = atY >= top - reach && atY <= bottom + reach;
  if (!isBeside || !isAcross) return { kind: "new" };
  const horizontal = isNear(atX, right) ? "to" : isNear(atX, left) ? "from" : undefined;
  const vertical = isNear(atY, top) ? "high" : isNear(atY, bottom) ? "low" : undefined;
  if (horizontal === undefined && vertical === undefined) return { kind: "move" };
  return { kind: "sides", ...(horizontal && { horizontal }), ...(vertical && { vertical }) };
}

/** A drag under way. */
export class BoxDrag {
  readonly #grip: Grip;
  readonly #before: Corners | undefined;
  readonly #start: ChartPoint;

  /** @param before The box that was there when the drag began. */
  constructor(grip: Grip, before: Draft | undefined, scales: Scales, atX: number, atY: number) {
    this.#grip = grip;
    this.#before = before && cornersOf(before);
    this.#start = pointAt(scales, atX, atY);
  }

  /** The box with the pointer here; undefined while it is too small. */
  to(scales: Scales, atX: number, atY: number): Draft | undefined {
    const { left, right, top, bottom } = scales.plot;
    const clamp = (value: number, min: number, max: number) => Math.min(max, Math.max(min, value));
    const point = pointAt(scales, clamp(atX, left, right), clamp(atY, top, bottom));
    return draftOf(this.#corners(point));
  }

  #corners(point: ChartPoint): Corners {
    const before = this.#before;
    const grip = this.#grip;
    if (grip.kind === "new" || before === undefined) {
      return {
        fromMs: Math.max(0, this.#start.ms),
        toMs: Math.max(0, point.ms),
        low: this.#start.price,
        high: point.price,
      };
    }
    if (grip.kind === "move") {
      const shiftMs = Math.max(-before.fromMs, point.ms - this.#start.ms);
      const shift = point.price - this.#start.price;
      return {
        fromMs: before.fromMs + shiftMs,
        toMs: before.toMs + shiftMs,
        low: before.low + shift,
        high: before.high + shift,
      };
    }
    return {
      ...before,
      ...(grip.horizontal === "from" && { fromMs: point.ms }),
      ...(grip.horizontal === "to" && { toMs: point.ms }),
      ...(grip.vertical === "low" && { low: point.price }),
      ...(grip.vertical === "high" && { high: point.price }),
    };
  }
}

function cornersOf({ lowerPrice, upperPrice, startsInMs, durationMs }: Draft): Corners {
  return {
    fromMs: startsInMs,
    toMs: startsInMs + durationMs,
    low: toNumber(lowerPrice),
    high: toNumber(upperPrice),
  };
}
