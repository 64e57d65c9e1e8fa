import type { Clock } from "../../lib/clock.ts";
import { Timers } from "../../lib/timers.ts";

export interface OutboxOptions {
  clock: Clock;
  /** Most frames that may wait. */
  capacity: number;
  deliver(text: string): void;
}

/** Delayed frames: each is sent at its time, and never before an earlier one. */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #timers: Timers;
  #waiting: { dueMs: number; text: string }[] = [];
  #lastDueMs = 0;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#timers = new Timers(options.clock);
  }

  /** Queues a frame to be sent in `lateMs`. @returns False if there is no room for it. */
  push(text: string, lateMs: number): boolean {
    const { clock, capacity } = this.#options;
    if (this.#waiting.length >= capacity) return false;
    const nowMs = clock.now();
    this.#lastDueMs = Math.max(this.#lastDueMs, nowMs + lateMs);
    this.#waiting.push({ dueMs: this.#lastDueMs, text });
    if (this.#waiting.length === 1) this.#timers.after(lateMs, () => this.#flush());
    return true;
  }

  /** Discards waiting frames. */
  clear(): void {
    this.#timers.clear();
    this.#waiting = [];
  }

  #flush(): void {
    const nowMs = this.#options.clock.now();
    const later = this.#waiting.findIndex((frame) => frame.dueMs > nowMs);
    const due = this.#waiting;
    this.#waiting = later === -1 ? [] : due.splice(later);
    const next = this.#waiting[0];
    if (next !== undefined) this.#timers.after(next.dueMs - nowMs, () => this.#flush());
    for (const { text } of due) this.#options.deliver(text);
  }
}
