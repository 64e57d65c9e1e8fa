import { setImmediate } from "node:timers/promises";
import type { CancelTimer, Clock } from "../../lib/clock.ts";

interface Timer {
  atMs: number;
  task: () => void;
}

/** A clock that only a test moves; timers fire in order of their time. */
export class FakeClock implements Clock {
  #nowMs: number;
  #setByMs = 0;
  #timers: Timer[] = [];
  /** The same clock for durations: {@link setBy} does not change it. */
  readonly monotonic: Clock = {
    now: () => this.#nowMs,
    after: (delayMs, task) => this.after(delayMs, task),
  };

  constructor(nowMs = 1_700_000_000_000) {
    this.#nowMs = nowMs;
  }

  now(): number {
    return this.#nowMs + this.#setByMs;
  }

  after(delayMs: number, task: () => void): CancelTimer {
    const timer: Timer = { atMs: this.#nowMs + delayMs, task };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  get pending(): number {
    return this.#timers.length;
  }

  /** Resolves when a timer waits, such as for the next pass of a loop. */
  async untilScheduled(): Promise<void> {
    while (this.pending === 0) await setImmediate();
  }

  /** Moves the time, firing due timers on the way. */
  advance(byMs: number): void {
    const endMs = this.#nowMs + byMs;
    for (;;) {
      const due = this.#timers.filter((timer) => timer.atMs <= endMs)
        .sort((a, b) => a.atMs - b.atMs)[0];
      if (due === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== due);
      this.#nowMs = Math.max(this.#nowMs, due.atMs);
      due.task();
    }
    this.#nowMs = endMs;
  }

  /** Sets the clock forward, or back by a negative number: no time passes. */
  setBy(byMs: number): void {
    this.#setByMs += byMs;
  }

  /** Moves time without firing anything, as when the process was stopped. */
  jump(byMs: number): void {
    this.#nowMs += byMs;
  }
}
