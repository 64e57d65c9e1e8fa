import TinyQueue from "tinyqueue";

/** Items with the same due time; items before index `next` have been removed. */
interface Due<T> {
  items: T[];
  next: number;
}

/** Items by due time. Items with the same due time share one entry of the queue. */
export class Schedule<T> {
  readonly #dueByTime = new Map<number, Due<T>>();
  /** The times that have items. */
  readonly #times = new TinyQueue<number>();

  /** @param timeMs Unix milliseconds. */
  add(timeMs: number, item: T): void {
    const due = this.#dueByTime.get(timeMs);
    if (due !== undefined) due.items.push(item);
    else {
      this.#dueByTime.set(timeMs, { items: [item], next: 0 });
      this.#times.push(timeMs);
    }
  }

  isDue(nowMs: number): boolean {
    return (this.#times.peek() ?? Infinity) <= nowMs;
  }

  /** Removes and returns the items that are due: the earliest first, at most `max`. */
  removeDue(nowMs: number, max = Infinity): T[] {
    let removed: T[] = [];
    while (this.isDue(nowMs) && removed.length < max) {
      const time = this.#times.peek()!; // an item is due
      const due = this.#dueByTime.get(time)!; // each time has some
      const items = due.items.slice(due.next, due.next + max - removed.length);
      removed = removed.concat(items);
      due.next += items.length;
      if (due.next < due.items.length) continue;
      this.#dueByTime.delete(time);
      this.#times.pop();
    }
    return removed;
  }
}
