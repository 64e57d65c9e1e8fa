import type { CancelTimer, Clock } from "../../lib/clock.ts";

/**
 * Items with the same timeout. They share one timer, set for the oldest: one timer per item would cost
 * more than the work that it limits.
 */
export class Deadlines<T> {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #expired: (item: T) => void;
  /** In the order of adding, which is the order of their deadlines. Bounded by the owner. */
  readonly #endsAtMs = new Map<T, number>();
  #cancelTimer: CancelTimer | undefined;

  /** @param expired Called once for each item that was not deleted within `timeoutMs`. */
  constructor(clock: Clock, timeoutMs: number, expired: (item: T) => void) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#expired = expired;
  }

  /** Number of unfinished items. */
  get size(): number {
    return this.#endsAtMs.size;
  }

  /** Starts the timeout of an item. */
  add(item: T, nowMs = this.#clock.now()): void {
    this.#endsAtMs.set(item, nowMs + this.#timeoutMs);
    this.#watch();
  }

  /** Removes a finished item. @returns False if it was late. */
  delete(item: T): boolean {
    return this.#endsAtMs.delete(item);
  }

  /** Removes all items without calling back. @returns The unfinished ones. */
  clear(): T[] {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const items = [...this.#endsAtMs.keys()];
    this.#endsAtMs.clear();
    return items;
  }

  #watch(): void {
    if (this.#cancelTimer !== undefined) return;
    const [oldestEndsAtMs] = this.#endsAtMs.values();
    if (oldestEndsAtMs === undefined) return;
    const leftMs = Math.max(0, oldestEndsAtMs - this.#clock.now());
    this.#cancelTimer = this.#clock.after(leftMs, () => {
      this.#cancelTimer = undefined;
      this.#expire();
      this.#watch();
    });
  }

  #expire(): void {
    const nowMs = this.#clock.now();
    for (const [item, endsAtMs] of this.#endsAtMs) {
      if (endsAtMs > nowMs) return;
      this.#endsAtMs.delete(item);
      this.#expired(item);
    }
  }
}
