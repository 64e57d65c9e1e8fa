import type { Position } from "./chart_scales.ts";

/** Closer fingers count as this far apart, in pixels. */
const DISTANCE_MIN = 20;

/** The fingers on the chart: the distance of two sets how much time it shows. */
export class Pinch {
  /** Positions of the fingers, by pointer id. */
  readonly #fingers = new Map<number, Position>();
  /** Time shown and distance of two fingers as they began. */
  #start: { spanMs: number; distance: number } | undefined;

  get fingers(): number {
    return this.#fingers.size;
  }

  /** Adds a finger. @param spanMs The time that is shown. */
  down(pointerId: number, position: Position, spanMs: number): void {
    this.#fingers.set(pointerId, position);
    const distance = this.#distance();
    this.#start = distance === undefined ? undefined : { spanMs, distance };
  }

  /** A pointer has moved. @returns The time to show; undefined unless two fingers are down. */
  move(pointerId: number, position: Position): number | undefined {
    if (this.#fingers.has(pointerId)) this.#fingers.set(pointerId, position);
    const distance = this.#distance();
    if (this.#start === undefined || distance === undefined) return undefined;
    return this.#start.spanMs * this.#start.distance / distance;
  }

  up(pointerId: number): void {
    this.#fingers.delete(pointerId);
  }

  /** The distance of the first two fingers; undefined if there are fewer. */
  #distance(): number | undefined {
    const [first, second] = this.#fingers.values();
    if (first === undefined || second === undefined) return undefined;
    return Math.max(DISTANCE_MIN, Math.hypot(first.x - second.x, first.y - second.y));
  }
}
