import { afterInput } from "../../../lib/clock.ts";
import { FairQueue } from "../../../lib/fair_share.ts";

/** A longer text has a turn of its own: reading 768 KiB takes 10 ms. */
const OWN_TURN_BYTES = 32 * 1024;

/**
 * Texts are read for this long before sockets are served again, which takes a millisecond. A batch
 * of 2 KiB may have 1,000 calls that are none, whose errors take 10 ms.
 */
const TURN_MS = 4;

/**
 * Reads texts that may take long in turns, since many of one caller may arrive at once: sockets are
 * served in between, and callers take turns.
 */
export class ReadingTurns {
  readonly #waiting = new FairQueue<() => void>();
  readonly #turnMs: number;
  /** How long texts were read in this turn, less the time in between. */
  #spentMs = 0;
  /** When that was last reduced or added to. */
  #readUntilMs = 0;
  #isScheduled = false;

  constructor(turnMs = TURN_MS) {
    this.#turnMs = turnMs;
  }

  /**
   * Runs a task that reads a text: at once, unless this turn is used up or others wait. How many
   * wait is bounded by the open requests.
   */
  run<T>(caller: string, bytes: number, read: () => T | Promise<T>): Promise<T> {
    const startedAtMs = performance.now();
    this.#spentMs = Math.max(0, this.#spentMs - (startedAtMs - this.#readUntilMs));
    this.#readUntilMs = startedAtMs;
    return new Promise((resolve, reject) => {
      const task = () => {
        const startedAtMs = performance.now();
        try {
          resolve(read());
        } catch (thrown) {
          reject(thrown);
        }
        this.#readUntilMs = performance.now();
        this.#spentMs += this.#readUntilMs - startedAtMs;
        if (bytes > OWN_TURN_BYTES) this.#spentMs += 2 * this.#turnMs; // of which one may pass
      };
      if (this.#waiting.size === 0 && this.#spentMs < this.#turnMs) return task();
      this.#waiting.add([caller], task);
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    afterInput(() => {
      this.#isScheduled = false;
      this.#spentMs = 0;
      while (this.#spentMs < this.#turnMs && this.#waiting.size > 0) this.#waiting.removeNext()?.();
      if (this.#waiting.size > 0) this.#schedule();
    });
  }
}
