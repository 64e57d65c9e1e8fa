import type { CancelTimer, Clock } from "../../../lib/clock.ts";

/**
 * Items that all have the same time to finish. They share one timer, set for the oldest: a timer each
 * would cost more than the work it guards.
 */
export class Deadlines<T> {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #expired: (item: T) => void;
  /** In the order of adding, which is the order of their ends. Bounded by what the owner adds. */
  readonly #endsAtMs = new Map<T, number>();
  #cancelTimer: CancelTimer | undefined;

  /** @param expired Called once for each item that was not deleted within `timeoutMs`. */
  constructor(clock: Clock, timeoutMs: number, expired: (item: T) => void) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#expired = expired;
  }

  /** Items that are not finished. */
  get size(): number {
    return this.#endsAtMs.size;
  }

  /** Starts the time of an item. */
  add(item: T, nowMs = this.#clock.now()): void {
    this.#endsAtMs.set(item, nowMs + this.#timeoutMs);
    this.#watch();
  }

  /** Removes an item that is finished. @returns False if it was late. */
  delete(item: T): boolean {
    return this.#endsAtMs.delete(item);
  }

  /** Removes all items without calling back. @returns What was not finished. */
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
