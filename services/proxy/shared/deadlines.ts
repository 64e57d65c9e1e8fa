import type { CancelTimer, Clock } from "../../../lib/clock.ts";

/**
 * Items with the same timeout. They share one timer, set for the oldest: one timer per item takes a
 * sixth of the CPU of a read over HTTP (compare with `tests/bench/proxy_http_bench.ts`).
 */
export class Deadlines<T> {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #expired: (item: T) => void;
  /** In the order of adding, which is that of their deadlines. Bounded by the owner. */
  readonly #endsAtMs = new Map<T, number>();
  #cancelTimer: CancelTimer | undefined;

  /**
   * @param clock Measures durations: it must not jump.
   * @param expired Called once for each item that was not finished within `timeoutMs`.
   */
  constructor(clock: Clock, timeoutMs: number, expired: (item: T) => void) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#expired = expired;
  }

  get size(): number {
    return this.#endsAtMs.size;
  }

  /** Starts the timeout of an item that is not among them. */
  add(item: T, nowMs: number): void {
    this.#endsAtMs.set(item, nowMs + this.#timeoutMs);
    this.#cancelTimer ??= this.#clock.after(this.#timeoutMs, () => this.#expire());
  }

  /** Ends the timeout of an item. @returns Whether it was still waiting. */
  finish(item: T): boolean {
    return this.#endsAtMs.delete(item);
  }

  /** Removes all items without calling back. @returns The unfinished ones, oldest first. */
  clear(): T[] {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const items = [...this.#endsAtMs.keys()];
    this.#endsAtMs.clear();
    return items;
  }

  #expire(): void {
    this.#cancelTimer = undefined;
    const nowMs = this.#clock.now();
    for (const [item, endsAtMs] of this.#endsAtMs) {
      if (endsAtMs > nowMs) {
        this.#cancelTimer = this.#clock.after(endsAtMs - nowMs, () => this.#expire());
        return;
      }
      this.finish(item);
      this.#expired(item);
    }
  }
}
