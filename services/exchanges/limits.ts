/** At most `count` events in any `windowMs` milliseconds. */
export interface Rate {
  count: number;
  windowMs: number;
}

/** Limits of a venue; an absent one means no limit. */
export interface VenueLimits {
  /** Connections, of all clients together: usually there is one client. */
  connections?: Rate;
  /** Frames of one client; exceeding it closes its connection. */
  messages?: Rate;
  /** Subscribe frames, of all clients together; further ones are refused. */
  subscriptions?: Rate;
  /** A connection that has not subscribed by then is closed, in milliseconds. */
  subscribeWithinMs?: number;
  /** A connection without frames from either side for this long is closed, in milliseconds. */
  idleMs?: number;
  /** A connection is closed at this age, in milliseconds. */
  lifetimeMs?: number;
}

/** Counts events against a {@link Rate}. It stores at most `count` times. */
export class RateWindow {
  readonly #rate: Rate;
  #timesMs: number[] = [];

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  /** Counts an event. @returns False if it is one too many; it is then not counted. */
  tryAdd(nowMs: number): boolean {
    const { count, windowMs } = this.#rate;
    this.#timesMs = this.#timesMs.filter((timeMs) => nowMs - timeMs < windowMs);
    if (this.#timesMs.length >= count) return false;
    this.#timesMs.push(nowMs);
    return true;
  }
}
