import type { CancelTimer, Clock } from "../clock.ts";
import { FairQueue } from "../fair_share.ts";

/** Tasks run for this long in all before sockets are served again. */
const TURN_MS = 4;

/**
 * Runs tasks of callers at once until they have taken 4 ms; further ones wait for the next turn of
 * the event loop, in which callers take turns. While the runtime has input of one connection to hand
 * over, it serves no other: a caller that sends without end would keep all others waiting.
 */
export class Turns {
  readonly #clock: Clock;
  readonly #waiting = new FairQueue<() => void>();
  #spentMs = 0;
  /** Cancels the next turn, if one is due. */
  #cancelTurn: CancelTimer | undefined;

  /** @param clock Measures durations: it must not jump. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether a task would run now. */
  get isFree(): boolean {
    return this.#waiting.size === 0 && this.#spentMs < TURN_MS;
  }

  /** How many tasks wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /**
   * Runs a task, now or later; those of one caller start in order. How many may wait is not limited
   * here.
   *
   * @param caller Its groups, the widest first, and itself.
   * @param task Only the time until its first wait counts.
   * @param leastMs Counts for a task that takes less: for what it makes the runtime do. `Infinity`
   *   gives it a turn of its own.
   */
  run<T>(caller: readonly string[], task: () => T | Promise<T>, leastMs = 0): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = () => {
        const startedAtMs = this.#clock.now();
        try {
          resolve(task());
        } catch (thrown) {
          reject(thrown);
        }
        this.#spentMs += Math.max(leastMs, this.#clock.now() - startedAtMs);
      };
      if (this.isFree) run();
      else this.#waiting.add(caller, run);
      // Early enough to be due when the time is used up: nothing waits for an idle processor.
      if (this.#spentMs >= TURN_MS / 2) this.#schedule();
    });
  }

  /** Begins no further turn: what waits is not run. */
  stop(): void {
    this.#cancelTurn?.();
  }

  #schedule(): void {
    this.#cancelTurn ??= this.#clock.after(0, () => {
      this.#cancelTurn = undefined;
      this.#spentMs = 0;
      while (this.#spentMs < TURN_MS && this.#waiting.size > 0) this.#waiting.removeNext()?.();
      if (this.#waiting.size > 0) this.#schedule();
    });
  }
}
