import { type Clock, systemClock } from "@rangemaker/client";

/** Number of messages that are used: three seconds of prices. */
const SAMPLES_MAX = 30;

/** Messages arrive in order: one that is earlier by more than this is of a chain that went back. */
const REVERT_MS = 1_000;

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

  /** Records when a message was sent. @returns Whether the chain went back (`core_revert`). */
  observe(sentAtMs: number): boolean {
    const isReverted = sentAtMs < this.#sentAtMs - REVERT_MS;
    if (isReverted) this.#offsets = [];
    this.#sentAtMs = sentAtMs;
    this.#offsets.push(sentAtMs - this.#localNow());
    if (this.#offsets.length > SAMPLES_MAX) this.#offsets.shift();
    const newest = this.#offsets.slice(-JUMP_SAMPLES);
    const isSet = newest.length === JUMP_SAMPLES &&
      Math.max(...newest) < Math.max(...this.#offsets) - JUMP_MS;
    if (isSet) this.#offsets = newest;
    this.#offsetMs = Math.max(...this.#offsets);
    return isReverted;
  }

  /** Whether no message has come yet: until then, this is the time of this machine. */
  get isUnset(): boolean {
    return this.#offsets.length === 0;
  }

  now(): number {
    return this.#localNow() + this.#offsetMs;
  }
}
