/** Mouse, pen, finger and arrow keys on the chart. */
import type { Signal } from "@preact/signals";
import type { BetSlip } from "./bet_slip.ts";
import { BoxDrag, type Grip, gripAt, isSwipe, MARGIN, nudged, REACH } from "./box_drag.ts";
import { isInside, type Scales } from "./chart_scales.ts";
import { wheelFactor, zoomed } from "./chart_spans.ts";
import { fieldsOf } from "./draft.ts";
import type { LiveChart } from "./live_chart.ts";

export interface PointerTarget {
  chart: Pick<LiveChart, "scales" | "freeze" | "placeAt">;
  slip: Pick<BetSlip, "draft" | "edit" | "keep" | "undo" | "replaced" | "stage">;
  /** Time shown. */
  spanMs: Signal<number>;
  /** The pointer is at a place without drawing there, or away. `isFree`: a press would draw a new box. */
  point(place: { x: number; y: number } | undefined, isFree: boolean): void;
  /** A press of an arrow key has ended. */
  nudged(): void;
  /** What keys other than arrows do, by their names in lower case. */
  keys: Readonly<Record<string, () => void>>;
}

/** A press that moves less than this draws nothing. */
const MOVE_MIN = 4;

/** A new box that is less wide or high than this under a finger is not meant. */
const SLIVER = 16;

interface Press {
  pointerId: number;
  drag: BoxDrag;
  x: number;
  y: number;
  startedMs: number;
  /** A finger draws a new box. */
  isSketch: boolean;
  /** A finger that sets off may scroll the page instead. */
  isDrawing: boolean;
  hasMoved: boolean;
}

/** Before a finger has moved this far, its direction says nothing. */
const DIRECTION_MIN = 8;

/** Two fingers on the chart: how far they are apart decides how much time it shows. */
interface Pinch {
  spanMs: number;
  distance: number;
}

/** Fingers closer than this, in pixels, say nothing about a span. */
const PINCH_MIN = 20;

/**
 * Draws boxes with one pointer. Escape or a second pointer takes back what it did. Two fingers and the
 * wheel zoom. A finger draws on the future and on the box, unless it swipes up or down: that scrolls the
 * page, and so does every finger on the past, or while a quote is open.
 */
export class ChartPointer {
  readonly #element: HTMLElement;
  readonly #target: PointerTarget;
  #press: Press | undefined;
  #pinch: Pinch | undefined;
  /** Where each finger is. */
  readonly #fingers = new Map<number, { x: number; y: number }>();

  /** @param element Its style lets the browser scroll the page up and down. */
  constructor(element: HTMLElement, target: PointerTarget, signal: AbortSignal) {
    this.#element = element;
    this.#target = target;
    element.addEventListener("pointerdown", (event) => this.#down(event), { signal });
    element.addEventListener("pointermove", (event) => this.#move(event), { signal });
    element.addEventListener("pointerup", (event) => this.#up(event), { signal });
    element.addEventListener("pointerleave", () => target.point(undefined, false), { signal });
    element.addEventListener("pointercancel", (event) => {
      this.#cancel();
      this.#up(event);
    }, { signal });
    // Not passive: the page does not scroll while the chart zooms.
    const blocking = { signal, passive: false };
    element.addEventListener("wheel", (event) => this.#wheel(event), blocking);
    element.addEventListener("touchmove", (event) => this.#touchMove(event), blocking);
    element.addEventListener("keydown", (event) => this.#key(event), { signal });
    element.addEventListener("keyup", ({ key }) => {
      if (key.startsWith("Arrow")) target.nudged();
    }, { signal });
  }

  #down(event: PointerEvent): void {
    if (event.pointerType === "touch") this.#startPinch(event);
    if (this.#press !== undefined) return this.#cancel();
    if (this.#fingers.size > 1) return;
    const scales = this.#target.chart.scales;
    const { x, y } = this.#placeOf(event);
    if (event.button !== 0 || scales === undefined || !isInside(scales.plot, x, y)) return;
    const grip = this.#gripAt(scales, event);
    const isPast = x < scales.x(scales.nowMs) && grip.kind === "new";
    const isFinger = event.pointerType === "touch";
    const isLocked = !["draft", "placed"].includes(this.#target.slip.stage.peek().name);
    if (isFinger && (isPast || isLocked)) return this.#target.point({ x, y }, false);
    this.#element.setPointerCapture(event.pointerId);
    this.#press = {
      pointerId: event.pointerId,
      drag: new BoxDrag(grip, this.#target.slip.draft, scales, x, y),
      ...{ x, y, startedMs: event.timeStamp },
      isSketch: isFinger && grip.kind === "new",
      isDrawing: !isFinger || grip.kind === "sides",
      hasMoved: false,
    };
    this.#target.chart.freeze(true);
    this.#target.point(undefined, false);
  }

  /** One more finger; from the second one on they zoom and draw nothing. */
  #startPinch(event: PointerEvent): void {
    this.#fingers.set(event.pointerId, this.#placeOf(event));
    const distance = this.#fingerDistance();
    this.#pinch = distance === undefined
      ? undefined
      : { spanMs: this.#target.spanMs.peek(), distance };
  }

  /** Undefined without two fingers. */
  #fingerDistance(): number | undefined {
    const [first, second] = this.#fingers.values();
    if (first === undefined || second === undefined) return undefined;
    return Math.max(PINCH_MIN, Math.hypot(first.x - second.x, first.y - second.y));
  }

  /** Once a finger has set off, the browser scrolls the page unless it is told not to. */
  #touchMove(event: TouchEvent): void {
    const [press, finger] = [this.#press, event.touches[0]];
    if (press?.isDrawing === false && finger !== undefined) {
      const at = this.#placeOf(finger);
      const [x, y] = [at.x - press.x, at.y - press.y];
      if (Math.hypot(x, y) < DIRECTION_MIN) return;
      if (isSwipe(x, y, event.timeStamp - press.startedMs)) this.#end();
      else press.isDrawing = true;
    }
    if (this.#press !== undefined || this.#pinch !== undefined) event.preventDefault();
  }

  #wheel(event: WheelEvent): void {
    const scales = this.#target.chart.scales;
    const { x, y } = this.#placeOf(event);
    if (scales === undefined || !isInside(scales.plot, x, y)) return;
    const isZoomed = this.#press === undefined &&
      this.#show(this.#target.spanMs.peek() * wheelFactor(event));
    // At the end of the zoom, the wheel scrolls the page again.
    if (isZoomed) event.preventDefault();
  }

  /** Shows this much time, as far as that can be shown. @returns Whether it shows another one now. */
  #show(wantedMs: number): boolean {
    const { spanMs } = this.#target;
    const before = spanMs.peek();
    spanMs.value = zoomed(wantedMs, 1);
    return spanMs.peek() !== before;
  }

  #move(event: PointerEvent): void {
    const { x, y } = this.#placeOf(event);
    if (this.#fingers.has(event.pointerId)) this.#fingers.set(event.pointerId, { x, y });
    const distance = this.#fingerDistance();
    if (this.#pinch !== undefined && distance !== undefined) {
      this.#show(this.#pinch.spanMs * this.#pinch.distance / distance);
      return;
    }
    const scales = this.#target.chart.scales;
    if (scales === undefined) return;
    const press = this.#press;
    if (press === undefined) {
      const isOver = isInside(scales.plot, x, y);
      const grip = this.#gripAt(scales, event);
      this.#element.style.cursor = isOver ? cursorOf(grip) : "";
      this.#target.point(isOver ? { x, y } : undefined, grip.kind === "new");
      return;
    }
    if (event.pointerId !== press.pointerId || !press.isDrawing) return;
    if (!press.hasMoved) {
      const [width, height] = [Math.abs(x - press.x), Math.abs(y - press.y)];
      if (press.isSketch && Math.min(width, height) < SLIVER) return;
      if (Math.hypot(width, height) < MOVE_MIN) return;
      press.hasMoved = true;
      this.#target.slip.keep();
    }
    const draft = press.drag.to(scales, x, y);
    if (draft !== undefined) this.#target.slip.edit(fieldsOf(draft));
  }

  #up({ pointerId, pointerType }: PointerEvent): void {
    this.#fingers.delete(pointerId);
    if (this.#fingerDistance() === undefined) this.#pinch = undefined;
    if (this.#press?.pointerId === pointerId) this.#end();
    if (pointerType === "touch") this.#target.point(undefined, false);
  }

  #end(): void {
    if (this.#press === undefined) return;
    this.#press = undefined;
    this.#target.chart.freeze(false);
  }

  #cancel(): void {
    const press = this.#press;
    if (press === undefined) return;
    this.#end();
    if (!press.hasMoved) return;
    this.#target.slip.undo();
    this.#target.slip.replaced.value = undefined;
  }

  /** Arrow keys move the box, with Shift they change its size. */
  #key(event: KeyboardEvent): void {
    const [scales, draft] = [this.#target.chart.scales, this.#target.slip.draft];
    const name = (event.ctrlKey || event.metaKey ? "ctrl " : "") + event.key.toLowerCase();
    if (event.key === "Escape" && this.#press !== undefined) return this.#cancel();
    if (!event.altKey && !event.repeat) this.#target.keys[name]?.();
    if (scales === undefined || !event.key.startsWith("Arrow")) return;
    event.preventDefault(); // the page does not scroll
    if (draft === undefined) return;
    const next = nudged(scales, draft, event);
    if (next === undefined) return;
    if (!event.repeat) this.#target.slip.keep();
    this.#target.slip.edit(fieldsOf(next));
  }

  /** Where an event is on the chart, whatever of it lies on top there. */
  #placeOf({ clientX, clientY }: MouseEvent | Touch): { x: number; y: number } {
    const { left, top } = this.#element.getBoundingClientRect();
    return this.#target.chart.placeAt(clientX - left, clientY - top);
  }

  #gripAt(scales: Scales, event: PointerEvent): Grip {
    const { x, y } = this.#placeOf(event);
    const by = event.pointerType === "touch" ? "touch" : "mouse";
    return gripAt(scales, this.#target.slip.draft, x, y, REACH[by], MARGIN[by]);
  }
}

/** The cursor of the style sheet's language for what a press would do. */
function cursorOf(grip: Grip): string {
  if (grip.kind !== "sides") return grip.kind === "move" ? "move" : "crosshair";
  if (grip.vertical === undefined) return "ew-resize";
  if (grip.horizontal === undefined) return "ns-resize";
  const isRising = (grip.horizontal === "to") === (grip.vertical === "high");
  return isRising ? "nesw-resize" : "nwse-resize";
}
