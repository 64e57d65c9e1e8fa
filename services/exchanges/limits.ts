/** At most `count` events in any `windowMs` milliseconds. */
export interface Rate {
  count: number;
  windowMs: number;
}

/** What a venue puts up with; what is left out has no limit. */
export interface VenueLimits {
  /** Connections, of all clients together: in practice there is one. */
  connections?: Rate;
  /** Frames of one client; one more closes its connection. */
  messages?: Rate;
  /** Subscribe frames, of all clients together; one more is refused. */
  subscriptions?: Rate;
  /** A connection that has not subscribed by then is closed, in milliseconds. */
  subscribeWithinMs?: number;
  /** A connection on which neither side spoke for this long is closed, in milliseconds. */
  idleMs?: number;
  /** A connection is closed at this age, in milliseconds. */
  lifetimeMs?: number;
}

/** Counts events against a {@link Rate}. It remembers `count` times and no more. */
export class RateWindow {
  readonly #rate: Rate;
  #timesMs: number[] = [];

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  /** Counts an event. @returns False if it is one too many; it is then not counted. */
  take(nowMs: number): boolean {
    const { count, windowMs } = this.#rate;
    this.#timesMs = this.#timesMs.filter((timeMs) => nowMs - timeMs < windowMs);
    if (this.#timesMs.length >= count) return false;
    this.#timesMs.push(nowMs);
    return true;
  }
}
