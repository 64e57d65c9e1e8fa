import type { CancelTimer, Clock } from "../../../lib/clock.ts";
import { SLOT_MS } from "../../../lib/protocol/constants.ts";

/** The interval of checkpoints (spec: price oracle, Limits). */
export const CHECKPOINT_MS = SLOT_MS;

/**
 * A checkpoint that is later than this is skipped. A checkpoint that is late by one interval or
 * more is made without a pull, with the last known prices.
 */
export const CHECKPOINT_LATE_MAX_MS = 1_000;

/**
 * How long the loop waits before it accepts a clock that was set forward by more than a checkpoint
 * may be late. If it sealed a block in the future and the clock was then set back, the chain would
 * stop until that time.
 */
export const CLOCK_AHEAD_WAIT_MS = 30_000;

interface CheckpointHandlers {
  /** Pulls prices; never rejects, and resolves within the timeout of a pull. */
  pull(): Promise<void>;
  /** Makes the checkpoint that was due at `dueMs`, `lateMs` ago. */
  seal(dueMs: number, lateMs: number): void;
  /** Checkpoints due in `[fromMs, toMs)` are skipped. */
  onMissed(fromMs: number, toMs: number): void;
  /** The clock was set back and is this far behind the next checkpoint. Called every second. */
  onClockBehind(byMs: number): void;
  /** The clock was set forward by this much. Called once, until that is accepted or undone. */
  onClockAhead(byMs: number): void;
}

/** Triggers a checkpoint at every multiple of 100 ms, so that delays do not add up. */
export class CheckpointLoop {
  readonly #clock: Clock;
  readonly #monotonic: Clock;
  readonly #handlers: CheckpointHandlers;
  #nextMs = 0;
  /** The clock minus the monotonic one at the last checkpoint. */
  #offsetMs = 0;
  /** How far the clock is ahead, and since when by the monotonic clock. */
  #ahead: { byMs: number; sinceMs: number } | undefined;
  #isRunning = false;
  #cancelTimer: CancelTimer = () => {};
  #inProgress: Promise<void> = Promise.resolve();

  /** @param monotonic Shows how much time has really passed. */
  constructor(clock: Clock, monotonic: Clock, handlers: CheckpointHandlers) {
    this.#clock = clock;
    this.#monotonic = monotonic;
    this.#handlers = handlers;
  }

  /** How far the clock was set forward; undefined once that is accepted or undone. */
  get aheadMs(): number | undefined {
    return this.#ahead?.byMs;
  }

  /**
   * Starts at the next multiple of 100 ms. If the clock was set back, waits until it has passed the
   * last checkpoint again: checkpoints never go back in time.
   *
   * @param lastMs Time of the last checkpoint before a restart.
   */
  start(lastMs = 0): void {
    this.#isRunning = true;
    this.#offsetMs = this.#measureOffsetMs();
    const fromMs = Math.max(this.#clock.now(), lastMs);
    this.#nextMs = (Math.floor(fromMs / CHECKPOINT_MS) + 1) * CHECKPOINT_MS;
    this.#schedule();
  }

  /** Continues after a checkpoint at `lastMs` and a move of the clock. None may be in progress. */
  continueAfter(lastMs: number): void {
    this.#cancelTimer();
    this.#offsetMs = this.#measureOffsetMs();
    this.#nextMs = lastMs + CHECKPOINT_MS;
    this.#schedule();
  }

  /** Stops; resolves when no checkpoint is in progress. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#cancelTimer();
    await this.#inProgress;
  }

  #schedule(): void {
    const waitMs = Math.max(0, this.#nextMs - this.#clock.now());
    if (waitMs > CHECKPOINT_LATE_MAX_MS) this.#handlers.onClockBehind(waitMs);
    // Checked every second: a clock that was set back may be set forward again.
    this.#runAfter(Math.min(waitMs, CHECKPOINT_LATE_MAX_MS));
  }

  #runAfter(waitMs: number): void {
    if (!this.#isRunning) return;
    this.#cancelTimer = this.#clock.after(waitMs, () => {
      this.#inProgress = this.#run();
    });
  }

  async #run(): Promise<void> {
    const lateMs = this.#clock.now() - this.#nextMs;
    if (lateMs > CHECKPOINT_LATE_MAX_MS) {
      if (this.#isAhead()) return this.#runAfter(CHECKPOINT_MS);
      this.#skipMissed();
    }
    // A timer may fire a little early; the checkpoint is then scheduled again.
    if (lateMs >= 0) {
      const dueMs = this.#nextMs;
      this.#nextMs += CHECKPOINT_MS;
      this.#offsetMs = this.#measureOffsetMs();
      this.#ahead = undefined;
      if (this.#clock.now() < this.#nextMs) await this.#handlers.pull();
      this.#handlers.seal(dueMs, this.#clock.now() - dueMs);
    }
    this.#schedule();
  }

  /** Whether the clock was set forward and is not accepted yet. */
  #isAhead(): boolean {
    const aheadMs = this.#measureOffsetMs() - this.#offsetMs;
    if (aheadMs <= CHECKPOINT_LATE_MAX_MS) return false;
    const byMs = Math.round(aheadMs); // the monotonic clock has fractions
    if (this.#ahead === undefined) this.#handlers.onClockAhead(byMs);
    const nowMs = this.#monotonic.now();
    const sinceMs = this.#ahead?.sinceMs ?? nowMs;
    this.#ahead = { byMs, sinceMs };
    return nowMs - sinceMs < CLOCK_AHEAD_WAIT_MS;
  }

  #measureOffsetMs(): number {
    return this.#clock.now() - this.#monotonic.now();
  }

  #skipMissed(): void {
    const currentMs = Math.floor(this.#clock.now() / CHECKPOINT_MS) * CHECKPOINT_MS;
    this.#handlers.onMissed(this.#nextMs, currentMs);
    this.#nextMs = currentMs;
  }
}
