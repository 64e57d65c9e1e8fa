import type { CancelTimer, Clock } from "../../../lib/clock.ts";

/** An item with a timeout, as {@link Deadlines.add} returns it. */
export interface Deadline<T> {
  readonly item: T;
  readonly endsAtMs: number;
  /** Its neighbours; both undefined once it is finished. */
  previous: Deadline<T> | undefined;
  next: Deadline<T> | undefined;
}

/**
 * Items with the same timeout. They share one timer, set for the oldest: one timer per item would
 * cost more than the work that it limits.
 *
 * They are a linked list: a `Set` keeps removed items in memory for longer, which takes 4 % of the
 * CPU of a read (compare with `tests/bench/proxy_http_bench.ts`).
 */
export class Deadlines<T> {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #onExpired: (item: T) => void;
  /** In the order of adding, which is the order of their deadlines. Bounded by the owner. */
  #oldest: Deadline<T> | undefined;
  #newest: Deadline<T> | undefined;
  #size = 0;
  #cancelTimer: CancelTimer | undefined;

  /**
   * @param clock Measures durations: it must not jump.
   * @param onExpired Called once for each item that was not finished within `timeoutMs`.
   */
  constructor(clock: Clock, timeoutMs: number, onExpired: (item: T) => void) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#onExpired = onExpired;
  }

  get size(): number {
    return this.#size;
  }

  add(item: T, nowMs = this.#clock.now()): Deadline<T> {
    const previous = this.#newest;
    const deadline: Deadline<T> = {
      item,
      endsAtMs: nowMs + this.#timeoutMs,
      previous,
      next: undefined,
    };
    if (previous === undefined) this.#oldest = deadline;
    else previous.next = deadline;
    this.#newest = deadline;
    this.#size += 1;
    this.#watch();
    return deadline;
  }

  /** Ends the timeout of an item that is finished. @returns Whether it was still waiting. */
  finish(deadline: Deadline<T>): boolean {
    const { previous, next } = deadline;
    if (previous === undefined && this.#oldest !== deadline) return false;
    if (previous === undefined) this.#oldest = next;
    else previous.next = next;
    if (next === undefined) this.#newest = previous;
    else next.previous = previous;
    deadline.previous = deadline.next = undefined;
    this.#size -= 1;
    return true;
  }

  /** Removes all items without calling back. @returns The unfinished ones, oldest first. */
  clear(): T[] {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const items: T[] = [];
    for (let next = this.#oldest; next !== undefined; next = this.#oldest) {
      items.push(next.item);
      this.finish(next);
    }
    return items;
  }

  #watch(): void {
    if (this.#cancelTimer !== undefined || this.#oldest === undefined) return;
    const leftMs = Math.max(0, this.#oldest.endsAtMs - this.#clock.now());
    this.#cancelTimer = this.#clock.after(leftMs, () => {
      this.#cancelTimer = undefined;
      this.#expire();
      this.#watch();
    });
  }

  #expire(): void {
    const nowMs = this.#clock.now();
    for (let next = this.#oldest; next !== undefined; next = this.#oldest) {
      if (next.endsAtMs > nowMs) return;
      this.finish(next);
      this.#onExpired(next.item);
    }
  }
}
