/** Mouse, pen and finger on the chart. */
import { BoxDrag, type Grip, gripAt } from "./box_drag.ts";
import { isInside, type Scales } from "./chart_scales.ts";
import type { Draft } from "./draft.ts";

/** What the pointer works on. */
export interface PointerTarget {
  /** Of the newest frame; undefined before the first. */
  scales(): Scales | undefined;
  draft(): Draft | undefined;
  draw(draft: Draft): void;
  clear(): void;
  /** Prices on the chart stay where they are while a box is drawn. */
  hold(isHeld: boolean): void;
}

/** How close to a side counts as on it, in pixels. */
const REACH = { mouse: 8, touch: 18 };

/** A press that moves less than this draws nothing. */
const MOVE_MIN = 4;

interface Press {
  drag: BoxDrag;
  before: Draft | undefined;
  x: number;
  y: number;
  hasMoved: boolean;
}

/** Draws boxes with one pointer. Escape or a second pointer takes back what it did. */
export class ChartPointer {
  readonly #canvas: HTMLCanvasElement;
  readonly #target: PointerTarget;
  #press: Press | undefined;

  constructor(canvas: HTMLCanvasElement, target: PointerTarget, signal: AbortSignal) {
    this.#canvas = canvas;
    this.#target = target;
    canvas.addEventListener("pointerdown", (event) => this.#down(event), { signal });
    canvas.addEventListener("pointermove", (event) => this.#move(event), { signal });
    canvas.addEventListener("pointerup", () => this.#end(), { signal });
    canvas.addEventListener("pointercancel", () => this.#cancel(), { signal });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.#cancel();
    }, { signal });
  }

  #down(event: PointerEvent): void {
    if (this.#press !== undefined) return this.#cancel();
    const scales = this.#target.scales();
    const { offsetX, offsetY } = event;
    if (event.button !== 0 || scales === undefined) return;
    if (!isInside(scales.plot, offsetX, offsetY)) return;
    this.#canvas.setPointerCapture(event.pointerId);
    const before = this.#target.draft();
    const grip = this.#gripAt(scales, event);
    const drag = new BoxDrag(grip, before, scales, offsetX, offsetY);
    this.#press = { drag, before, x: offsetX, y: offsetY, hasMoved: false };
    this.#target.hold(true);
  }

  #move(event: PointerEvent): void {
    const scales = this.#target.scales();
    if (scales === undefined) return;
    const press = this.#press;
    if (press === undefined) {
      const isOver = isInside(scales.plot, event.offsetX, event.offsetY);
      this.#canvas.dataset.cursor = isOver ? cursorOf(this.#gripAt(scales, event)) : "none";
      return;
    }
    const distance = Math.hypot(event.offsetX - press.x, event.offsetY - press.y);
    press.hasMoved ||= distance >= MOVE_MIN;
    if (!press.hasMoved) return;
    const draft = press.drag.to(scales, event.offsetX, event.offsetY);
    if (draft !== undefined) this.#target.draw(draft);
  }

  #end(): void {
    if (this.#press === undefined) return;
    this.#press = undefined;
    this.#target.hold(false);
  }

  #cancel(): void {
    const press = this.#press;
    if (press === undefined) return;
    this.#end();
    if (!press.hasMoved) return;
    if (press.before === undefined) this.#target.clear();
    else this.#target.draw(press.before);
  }

  #gripAt(scales: Scales, { offsetX, offsetY, pointerType }: PointerEvent): Grip {
    const reach = pointerType === "touch" ? REACH.touch : REACH.mouse;
    return gripAt(scales, this.#target.draft(), offsetX, offsetY, reach);
  }
}

function cursorOf(grip: Grip): string {
  if (grip.kind !== "sides") return grip.kind;
  if (grip.vertical === undefined) return "width";
  if (grip.horizontal === undefined) return "height";
  const isRising = (grip.horizontal === "to") === (grip.vertical === "high");
  return isRising ? "rising" : "falling";
}
