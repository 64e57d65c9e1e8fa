import type { CancelTimer, Clock } from "../../../lib/clock.ts";
import { SLOT_MS } from "../../../lib/prices/price_slots.ts";

/** The interval of checkpoints (spec: price oracle, Limits). */
export const CHECKPOINT_MS = SLOT_MS;

/**
 * How late a checkpoint may be and still be made, without a pull, on the last known prices. When
 * the process was held up for longer, the checkpoints it missed are never made.
 */
export const CHECKPOINT_LATE_MAX_MS = 1_000;

/** What happens at a checkpoint. */
export interface CheckpointHandlers {
  /** Asks for prices; never rejects and takes no longer than the oracle's timeout. */
  pull(): Promise<void>;
  /** Makes the checkpoint that was due at `dueMs`; `lateMs` is how far that is in the past. */
  seal(dueMs: number, lateMs: number): void;
  /** Checkpoints due in `[fromMs, toMs)` are given up. */
  missed?(fromMs: number, toMs: number): void;
}

/**
 * Calls for a checkpoint at every multiple of 100 ms. Each is aimed at its own time on that grid, so
 * lateness never adds up: the hundredth is due ten seconds after the first.
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
   * Starts at the next multiple of 100 ms. A clock that was set back is waited for: checkpoints never
   * go back in time.
   *
   * @param lastMs The checkpoint made last, before a restart.
   * @returns How long it is until the first checkpoint, in milliseconds.
   */
  start(lastMs = 0): number {
    this.#running = true;
    const fromMs = Math.max(this.#clock.now(), lastMs);
    this.#nextMs = (Math.floor(fromMs / CHECKPOINT_MS) + 1) * CHECKPOINT_MS;
    this.#schedule();
    return this.#nextMs - this.#clock.now();
  }

  /** Ends; resolves when no checkpoint is under way. */
  async stop(): Promise<void> {
    this.#running = false;
    this.#cancelTimer();
    await this.#turn;
  }

  #schedule(): void {
    if (!this.#running) return;
    this.#cancelTimer = this.#clock.after(Math.max(0, this.#nextMs - this.#clock.now()), () => {
      this.#turn = this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#giveUpMissed();
    // A timer may fire a little early; the checkpoint then waits for its time.
    if (this.#clock.now() >= this.#nextMs) {
      const dueMs = this.#nextMs;
      this.#nextMs += CHECKPOINT_MS;
      if (this.#clock.now() < this.#nextMs) await this.#handlers.pull();
      this.#handlers.seal(dueMs, this.#clock.now() - dueMs);
    }
    this.#schedule();
  }

  #giveUpMissed(): void {
    const nowMs = this.#clock.now();
    if (nowMs - this.#nextMs <= CHECKPOINT_LATE_MAX_MS) return;
    const currentMs = Math.floor(nowMs / CHECKPOINT_MS) * CHECKPOINT_MS;
    this.#handlers.missed?.(this.#nextMs, currentMs);
    this.#nextMs = currentMs;
  }
}
