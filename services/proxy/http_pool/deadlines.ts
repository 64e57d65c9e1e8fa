import type { CancelTimer, Clock } from "../../../lib/clock.ts";

/**
 * Things that all have the same time to get done. One timer stands for all of them, set for the
 * oldest: a timer each would cost more than what it guards.
 */
export class Deadlines<T> {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #expired: (thing: T) => void;
  /** In the order of adding, which is the order of their ends. Bounded by what the owner adds. */
  readonly #endsAtMs = new Map<T, number>();
  #cancelTimer: CancelTimer | undefined;

  /** @param expired Called once for each thing that was not deleted within `timeoutMs`. */
  constructor(clock: Clock, timeoutMs: number, expired: (thing: T) => void) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#expired = expired;
  }

  /** Things that are not done. */
  get size(): number {
    return this.#endsAtMs.size;
  }

  /** The time of something begins. */
  add(thing: T): void {
    this.#endsAtMs.set(thing, this.#clock.now() + this.#timeoutMs);
    this.#watch();
  }

  /** Something is done. @returns False if it was late. */
  delete(thing: T): boolean {
    return this.#endsAtMs.delete(thing);
  }

  /** Takes out all that is not done, without telling {@link Deadlines} owner's callback. */
  clear(): T[] {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const things = [...this.#endsAtMs.keys()];
    this.#endsAtMs.clear();
    return things;
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
    for (const [thing, endsAtMs] of this.#endsAtMs) {
      if (endsAtMs > nowMs) return;
      this.#endsAtMs.delete(thing);
      this.#expired(thing);
    }
  }
}
