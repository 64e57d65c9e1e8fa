/** Number of messages that are used: three seconds of prices. */
const SAMPLES_MAX = 30;

/** A larger change of the difference means that a clock was set, or a machine slept. */
const JUMP_MS = 2_000;

/**
 * Estimates the node's time from the times in its messages. The fastest message gives the best
 * estimate, so the largest difference among the newest messages is used.
 */
export class ServerClock {
  readonly #localNow: () => number;
  #offsets: number[] = [];
  #offsetMs = 0;

  /** @param localNow This machine's Unix time in milliseconds. */
  constructor(localNow: () => number) {
    this.#localNow = localNow;
  }

  /** Records the time at which a message was sent. */
  observe(sentAtMs: number): void {
    const offset = sentAtMs - this.#localNow();
    if (Math.abs(offset - this.#offsetMs) > JUMP_MS) this.#offsets = [];
    this.#offsets.push(offset);
    if (this.#offsets.length > SAMPLES_MAX) this.#offsets.shift();
    this.#offsetMs = Math.max(...this.#offsets);
  }

  /** The node's time in Unix milliseconds. */
  now(): number {
    return this.#localNow() + this.#offsetMs;
  }
}
