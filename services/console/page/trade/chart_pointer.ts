/** Mouse, pen and finger on the chart. */
import { type CancelTimer, systemClock } from "@rangemaker/client";
import { suggestBox } from "./box_actions.ts";
import { BoxDrag, type Grip, gripAt, isOnHandle, strokeOf } from "./box_drag.ts";
import { type ChartSource, isLocked, ownBetAt } from "./chart_content.ts";
import type { ChartProbe } from "./chart_probe.ts";
import { isInside, type Position } from "./chart_scales.ts";
import { boundedSpan, wheelFactor } from "./chart_spans.ts";
import { type DraftFields, fieldsOf } from "./draft.ts";
import type { LiveChart } from "./live_chart.ts";
import { Pinch } from "./pinch.ts";

interface PointerTarget extends ChartSource {
  chart: LiveChart;
  probe: ChartProbe;
  released(): void;
}

/** A press that moves less than this draws no box. */
const DRAG_MIN = 4;

/** A finger that draws a new box less wide or high than this has done so by accident. */
const SLIVER = 16;

/** The chart moves below a pointer that rests: what is there is looked at again after this time. */
const LOOK_AGAIN_MS = 1_000;

interface Press {
  pointerId: number;
  drag: BoxDrag;
  start: Position;
  startedAtMs: number;
  /** Whether the drag draws: a finger that starts to move may scroll the page instead. */
  isDrawing: boolean;
  /** The fields before it changed the box; undefined until then. */
  before: DraftFields | undefined;
  /** Whether it began on the future, outside of a drawn box. */
  isOnFuture: boolean;
}

/** The direction of a finger is unknown until it has moved this far. */
const DIRECTION_MIN = 8;

/**
 * Draws boxes with one pointer. A second pointer undoes the drag. Two fingers and the wheel zoom. A
 * finger draws on the future, moves the box and, after a rest, resizes it. It scrolls the page if it
 * swipes up or down, unless the page ends there, if it is on the past, or while a quote can be signed.
 */
export class ChartPointer {
  readonly #element: HTMLElement;
  readonly #target: PointerTarget;
  #press: Press | undefined;
  #cancelLook: CancelTimer = () => {};
  readonly #pinch = new Pinch();
  /** Where the page was when a finger began to swipe instead of drawing. */
  #swipedAt: number | undefined;

  /** @param element Its style must allow the browser to scroll the page vertically. */
  constructor(element: HTMLElement, target: PointerTarget, signal: AbortSignal) {
    this.#element = element;
    this.#target = target;
    // Not passive, so that the handlers can prevent scrolling while the chart zooms.
    const on = <Type extends keyof HTMLElementEventMap>(
      type: Type,
      act: (event: HTMLElementEventMap[Type]) => void,
    ) => element.addEventListener(type, act, { signal, passive: false });
    on("pointerdown", (event) => this.#down(event));
    on("pointermove", (event) => this.#move(event));
    on("pointerup", (event) => this.#up(event));
    on("pointerleave", () => this.#point(undefined));
    on("pointercancel", (event) => {
      this.undoDrag();
      this.#up(event);
    });
    on("wheel", (event) => this.#wheel(event));
    on("touchmove", (event) => this.#touchMove(event));
    // The browser cancels the pointer before the page scrolls, but not the touch.
    on("touchend", () => {
      if (this.#swipedAt === scrollY) {
        const text = "Hold for a moment, then draw or resize: a quick vertical stroke scrolls.";
        target.model.announce(text);
      }
      this.#swipedAt = undefined;
    });
    signal.addEventListener("abort", () => void this.#look(undefined));
  }

  /** The pointer is there without drawing, or has left. */
  #point(at: Position | undefined): void {
    this.#target.chosen.value = this.#look(at);
  }

  /** Shows what is at a position, now and as the chart moves on. @returns The user's bet there. */
  #look(at: Position | undefined): number | undefined {
    this.#cancelLook();
    const { chart: { scales }, slip, probe } = this.#target;
    if (at === undefined || scales === undefined) {
      probe.show(undefined);
      return undefined;
    }
    const place = { time: scales.x.invert(at.x), price: scales.y.invert(at.y) };
    const bet = ownBetAt(this.#target, place, scales.nowMs);
    const isFree = !document.hidden && bet === undefined &&
      gripAt(scales, slip.draft, at, "mouse").kind === "new";
    probe.show(place, isFree ? scales.x.domain()[1] : undefined);
    this.#cancelLook = systemClock.after(LOOK_AGAIN_MS, () => void this.#look(at));
    return bet;
  }

  #down(event: PointerEvent): void {
    this.#swipedAt = undefined; // a second finger zooms
    const start = this.#positionOf(event);
    const isFinger = isTouch(event);
    const { model, slip, spanMs, chart: { scales } } = this.#target;
    if (isFinger) this.#pinch.down(event.pointerId, start, spanMs.peek());
    if (this.undoDrag() || this.#pinch.fingers > 1) return;
    if (event.button !== 0 || scales === undefined || !isInside(scales.plot, start)) return;
    const grip = gripAt(scales, slip.draft, start, kindOf(event));
    const isPast = start.x < scales.x(scales.nowMs) && grip.kind === "new";
    if (isFinger && (isPast || isLocked(slip, model.serverClock.now()))) return this.#point(start);
    this.#element.setPointerCapture(event.pointerId);
    this.#press = {
      pointerId: event.pointerId,
      drag: new BoxDrag(grip, slip.draft, scales, start),
      start,
      startedAtMs: event.timeStamp,
      isDrawing: !isFinger,
      before: undefined,
      isOnFuture: grip.kind === "new" && !isPast,
    };
    this.#target.chart.freeze(true);
    this.#point(undefined);
  }

  /** Decides whether a finger that starts to move draws, or the browser scrolls the page. */
  #touchMove(event: TouchEvent): void {
    const [press, finger] = [this.#press, event.touches[0]];
    const { chart: { scales }, slip: { draft } } = this.#target;
    if (press?.isDrawing === false && finger !== undefined && scales !== undefined) {
      const at = this.#positionOf(finger);
      const [x, y] = [at.x - press.start.x, at.y - press.start.y];
      if (Math.hypot(x, y) < DIRECTION_MIN) return;
      const stroke = strokeOf(x, y, event.timeStamp - press.startedAtMs);
      if (stroke === "scroll" && !(press.isOnFuture && isAtEnd(y))) {
        this.#swipedAt = scrollY;
        this.#end();
      } else {
        press.isDrawing = true;
        // The handle of a corner is pulled without a rest.
        const isPulled = draft !== undefined && isOnHandle(scales, draft, press.start);
        if (stroke !== "rested" && !press.isOnFuture && !isPulled) press.drag.switchToMove();
      }
    }
    if (this.#press !== undefined || this.#pinch.fingers > 1) event.preventDefault();
  }

  #wheel(event: WheelEvent): void {
    const { scales } = this.#target.chart;
    if (scales === undefined || !isInside(scales.plot, this.#positionOf(event))) return;
    const isZoomed = this.#press === undefined &&
      this.#show(this.#target.spanMs.peek() * wheelFactor(event));
    // At the limit of the zoom, the wheel scrolls the page.
    if (isZoomed) event.preventDefault();
  }

  /** Sets how much time is shown, within the limits. @returns Whether that has changed. */
  #show(wantedMs: number): boolean {
    const { spanMs } = this.#target;
    const before = spanMs.peek();
    spanMs.value = boundedSpan(wantedMs);
    return spanMs.peek() !== before;
  }

  #move(event: PointerEvent): void {
    const at = this.#positionOf(event);
    const spanMs = this.#pinch.move(event.pointerId, at);
    if (spanMs !== undefined) return void this.#show(spanMs);
    const { slip, chart: { scales } } = this.#target;
    if (scales === undefined) return;
    const press = this.#press;
    if (press === undefined) {
      const isOver = isInside(scales.plot, at);
      const grip = gripAt(scales, slip.draft, at, kindOf(event));
      this.#element.style.cursor = isOver ? cursorOf(grip) : "";
      return this.#point(isOver ? at : undefined);
    }
    if (event.pointerId !== press.pointerId || !press.isDrawing) return;
    if (press.before === undefined) {
      const [width, height] = [Math.abs(at.x - press.start.x), Math.abs(at.y - press.start.y)];
      if (isTouch(event) && press.isOnFuture && Math.min(width, height) < SLIVER) return;
      if (Math.hypot(width, height) < DRAG_MIN) return;
      if (slip.stage.peek().name === "sending") return; // its box stays
      press.before = slip.fields.peek();
    }
    const draft = press.drag.draftAt(scales, at);
    if (draft !== undefined) slip.edit(fieldsOf(draft));
  }

  #up(event: PointerEvent): void {
    const { pointerId } = event;
    this.#pinch.up(pointerId);
    const press = this.#press;
    const { x, y } = this.#positionOf(event);
    if (press?.pointerId === pointerId) {
      this.#end();
      const isTap = Math.hypot(x - press.start.x, y - press.start.y) < DIRECTION_MIN;
      const { model, slip } = this.#target;
      if (isTap && press.isOnFuture && !press.before && slip.isEmpty) suggestBox(model, slip);
    }
    if (isTouch(event)) this.#point(undefined);
  }

  #end(): void {
    if (this.#press === undefined) return;
    this.#press = undefined;
    this.#target.chart.freeze(false);
    this.#target.released();
  }

  /** Ends the drag, and undoes it. @returns Whether there was one. */
  undoDrag(): boolean {
    const press = this.#press;
    this.#end();
    if (press?.before !== undefined) this.#target.slip.edit(press.before);
    return press !== undefined;
  }

  /** The position of an event on the chart, whichever element is on top there. */
  #positionOf({ clientX, clientY }: MouseEvent | Touch): Position {
    const { left, top } = this.#element.getBoundingClientRect();
    return this.#target.chart.toChart(clientX - left, clientY - top);
  }
}

const isTouch = ({ pointerType }: PointerEvent) => pointerType === "touch";

const kindOf = (event: PointerEvent) => isTouch(event) ? "touch" : "mouse";

/** Whether the page cannot scroll any further for a finger that moves by `y`. */
function isAtEnd(y: number): boolean {
  const { scrollHeight, clientHeight } = document.documentElement;
  return y > 0 ? scrollY <= 0 : scrollY >= scrollHeight - clientHeight - 1;
}

function cursorOf(grip: Grip): string {
  if (grip.kind !== "sides") return grip.kind === "move" ? "move" : "crosshair";
  if (grip.vertical === undefined) return "ew-resize";
  if (grip.horizontal === undefined) return "ns-resize";
  const isRising = (grip.horizontal === "to") === (grip.vertical === "high");
  return isRising ? "nesw-resize" : "nwse-resize";
}
