import TinyQueue from "tinyqueue";

/** Items by the time at which they are due. Many that are due together cost no more than one each. */
export class Schedule<T> {
  readonly #itemsByTime = new Map<number, T[]>();
  /** The times that have items. */
  readonly #times = new TinyQueue<number>();

  /** @param timeMs Unix milliseconds. */
  add(timeMs: number, item: T): void {
    const items = this.#itemsByTime.get(timeMs);
    if (items !== undefined) items.push(item);
    else {
      this.#itemsByTime.set(timeMs, [item]);
      this.#times.push(timeMs);
    }
  }

  /** Whether an item is due. */
  isDue(nowMs: number): boolean {
    return (this.#times.peek() ?? Infinity) <= nowMs;
  }

  /** Removes and returns the items that are due: the earliest first, at most `max`. */
  take(nowMs: number, max = Infinity): T[] {
    let taken: T[] = [];
    while (this.isDue(nowMs) && taken.length < max) {
      const time = this.#times.peek()!; // an item is due
      const items = this.#itemsByTime.get(time)!; // each time has some
      taken = taken.concat(items.splice(0, max - taken.length));
      if (items.length > 0) continue;
      this.#itemsByTime.delete(time);
      this.#times.pop();
    }
    return taken;
  }
}
