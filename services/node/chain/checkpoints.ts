import type { CancelTimer, Clock } from "../../../lib/clock.ts";
import { SLOT_MS } from "../../../lib/prices/price_slots.ts";

/** The interval of checkpoints (spec: price oracle, Limits). */
export const CHECKPOINT_MS = SLOT_MS;

/**
 * A checkpoint that is later than this is skipped. One that is less late is made without a pull, with
 * the last known prices.
 */
export const CHECKPOINT_LATE_MAX_MS = 1_000;

/** Callbacks of a {@link CheckpointLoop}. */
export interface CheckpointHandlers {
  /** Pulls prices; never rejects, and resolves within the timeout of a pull. */
  pull(): Promise<void>;
  /** Makes the checkpoint that was due at `dueMs`, `lateMs` ago. */
  seal(dueMs: number, lateMs: number): void;
  /** Checkpoints due in `[fromMs, toMs)` are skipped. */
  missed?(fromMs: number, toMs: number): void;
  /** The clock was set back and is this far behind the next checkpoint. Called every second. */
  clockBehind?(byMs: number): void;
}

/**
 * Triggers a checkpoint at every multiple of 100 ms. Due times are computed from that grid, so
 * lateness does not add up.
 */
export class CheckpointLoop {
  readonly #clock: Clock;
  readonly #handlers: CheckpointHandlers;
  #nextMs = 0;
  #running = false;
  #cancelTimer: CancelTimer = () => {};
  #turn: Promise<void> = Promise.resolve();

  constructor(clock: Clock, handlers: CheckpointHandlers) {
    this.#clock = clock;
    this.#handlers = handlers;
  }

  /**
   * Starts at the next multiple of 100 ms. If the clock was set back, waits until it has passed the last
   * checkpoint again: checkpoints never go back in time.
   *
   * @param lastMs Time of the last checkpoint before a restart.
   */
  start(lastMs = 0): void {
    this.#running = true;
    const fromMs = Math.max(this.#clock.now(), lastMs);
    this.#nextMs = (Math.floor(fromMs / CHECKPOINT_MS) + 1) * CHECKPOINT_MS;
    this.#schedule();
  }

  /** The clock was moved while no checkpoint was in progress: the next one follows this one. */
  continueAfter(lastMs: number): void {
    this.#cancelTimer();
    this.#nextMs = lastMs + CHECKPOINT_MS;
    this.#schedule();
  }

  /** Stops; resolves when no checkpoint is in progress. */
  async stop(): Promise<void> {
    this.#running = false;
    this.#cancelTimer();
    await this.#turn;
  }

  #schedule(): void {
    if (!this.#running) return;
    const waitMs = Math.max(0, this.#nextMs - this.#clock.now());
    if (waitMs > CHECKPOINT_LATE_MAX_MS) this.#handlers.clockBehind?.(waitMs);
    // A clock that was set back may be set forward again: check it every second.
    this.#cancelTimer = this.#clock.after(Math.min(waitMs, CHECKPOINT_LATE_MAX_MS), () => {
      this.#turn = this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#skipMissed();
    // A timer may fire a little early; the checkpoint is then scheduled again.
    if (this.#clock.now() >= this.#nextMs) {
      const dueMs = this.#nextMs;
      this.#nextMs += CHECKPOINT_MS;
      if (this.#clock.now() < this.#nextMs) await this.#handlers.pull();
      this.#handlers.seal(dueMs, this.#clock.now() - dueMs);
    }
    this.#schedule();
  }

  #skipMissed(): void {
    const nowMs = this.#clock.now();
    if (nowMs - this.#nextMs <= CHECKPOINT_LATE_MAX_MS) return;
    const currentMs = Math.floor(nowMs / CHECKPOINT_MS) * CHECKPOINT_MS;
    this.#handlers.missed?.(this.#nextMs, currentMs);
    this.#nextMs = currentMs;
  }
}
