import { type Clock, systemClock } from "@rangemaker/client";

/** Number of messages that are used: three seconds of prices. */
const SAMPLES_MAX = 30;

/** If the newest {@link JUMP_SAMPLES} messages all seem later than this, a clock was set. */
const JUMP_MS = 2_000;

/** One message alone may be late, for example in a tab that was slowed down. */
const JUMP_SAMPLES = 5;

/**
 * Estimates the node's time from the times in its messages. The fastest message gives the best
 * estimate, so the largest difference among the newest messages is used.
 */
export class ServerClock implements Clock {
  readonly after = systemClock.after;
  readonly #localNow: () => number;
  #offsets: number[] = [];
  #offsetMs = 0;
  #sentAtMs = 0;

  /** @param localNow This machine's Unix time in milliseconds. */
  constructor(localNow: () => number) {
    this.#localNow = localNow;
  }

  /** Records the time at which a message was sent. */
  observe(sentAtMs: number): void {
    // Messages arrive in order: the node's time went back (`core_revert`).
    if (sentAtMs < this.#sentAtMs - JUMP_MS) this.#offsets = [];
    this.#sentAtMs = sentAtMs;
    this.#offsets.push(sentAtMs - this.#localNow());
    if (this.#offsets.length > SAMPLES_MAX) this.#offsets.shift();
    const newest = this.#offsets.slice(-JUMP_SAMPLES);
    const isSet = newest.length === JUMP_SAMPLES &&
      Math.max(...newest) < Math.max(...this.#offsets) - JUMP_MS;
    if (isSet) this.#offsets = newest;
    this.#offsetMs = Math.max(...this.#offsets);
  }

  /** Whether no message has come yet: until then, this is the time of this machine. */
  get isUnset(): boolean {
    return this.#offsets.length === 0;
  }

  now(): number {
    return this.#localNow() + this.#offsetMs;
  }
}
