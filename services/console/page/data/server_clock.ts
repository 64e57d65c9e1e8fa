/** Messages that count: three seconds of prices. */
const SAMPLES_MAX = 30;

/** A difference this large is a clock that was set, or a machine that slept. */
const JUMP_MS = 2_000;

/**
 * The node's time, from messages that carry it. The message that travelled fastest is the closest, so
 * the largest difference among the newest messages counts.
 */
export class ServerClock {
  readonly #localNow: () => number;
  #offsets: number[] = [];
  #offsetMs = 0;

  /** @param localNow Unix time in milliseconds, as this machine has it. */
  constructor(localNow: () => number) {
    this.#localNow = localNow;
  }

  /** Takes the time that a message was sent at. */
  observe(sentAtMs: number): void {
    const offset = sentAtMs - this.#localNow();
    if (Math.abs(offset - this.#offsetMs) > JUMP_MS) this.#offsets = [];
    this.#offsets.push(offset);
    if (this.#offsets.length > SAMPLES_MAX) this.#offsets.shift();
    this.#offsetMs = Math.max(...this.#offsets);
  }

  /** Unix milliseconds, as the node counts them. */
  now(): number {
    return this.#localNow() + this.#offsetMs;
  }
}
