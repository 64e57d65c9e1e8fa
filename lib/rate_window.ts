/** At most `count` events in any `windowMs` milliseconds. */
export interface RateLimit {
  count: number;
  windowMs: number;
}

/** Counts events against a {@link RateLimit}. Stores the times of at most `count` events. */
export class RateWindow {
  readonly #rate: RateLimit;
  #timesMs: number[] = [];

  constructor(rate: RateLimit) {
    this.#rate = rate;
  }

  /** Counts an event. @returns False, without counting it, if it exceeds the limit. */
  tryAdd(nowMs: number): boolean {
    const { count, windowMs } = this.#rate;
    // A time in the future is one before the clock was set back.
    this.#timesMs = this.#timesMs.filter((timeMs) => Math.abs(nowMs - timeMs) < windowMs);
    if (this.#timesMs.length >= count) return false;
    this.#timesMs.push(nowMs);
    return true;
  }
}
