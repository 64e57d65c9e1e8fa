import type { CancelTimer, Clock } from "../clock.ts";
import { RangemakerError } from "../errors.ts";
import { ProblemTracker } from "../log/problem_tracker.ts";
import type { Backoff } from "./backoff.ts";

export interface PollingLoopOptions {
  clock: Clock;
  /**
   * One pass. Check `signal` after each wait: once it is aborted, the result no longer counts.
   *
   * @throws {RangemakerError} The pass failed, and the next one may succeed.
   */
  poll(signal: AbortSignal): Promise<void>;
  /** Wait between two passes. */
  intervalMs: number;
  /** Waits after passes that failed; `intervalMs` if absent. */
  backoff?: Backoff;
  /** Called after a failed pass, unless the one before failed with the same code. */
  onFailure?(error: RangemakerError): void;
  /** Called after the first good pass following a failed one. */
  onRecovery?(): void;
}

/** Runs a task repeatedly, with a wait between two passes. Passes of one run never overlap. */
export class PollingLoop {
  readonly #options: PollingLoopOptions;
  #run = new AbortController();
  #cancelNext: CancelTimer = () => {};
  #passes: Promise<void> = Promise.resolve();
  readonly #failure = new ProblemTracker();

  constructor(options: PollingLoopOptions) {
    this.#options = options;
  }

  /** Starts, or starts over: a pass in flight is aborted. The first pass begins after `delayMs`. */
  start(delayMs = 0): void {
    this.pause();
    this.#run = new AbortController();
    const { signal } = this.#run;
    if (delayMs === 0) this.#begin(signal);
    else this.#schedule(delayMs, signal);
  }

  /** Begins no further pass, and aborts the one in flight. */
  pause(): void {
    this.#run.abort();
    this.#cancelNext();
  }

  /** Begins no further pass; resolves when none is in flight. */
  async stop(): Promise<void> {
    this.pause();
    await this.#passes;
  }

  #begin(signal: AbortSignal): void {
    // An aborted pass may still be in flight, and a stop has to wait for it too. Without `then`,
    // each promise would keep the results of all before it.
    this.#passes = Promise.all([this.#passes, this.#pass(signal)]).then(() => {});
  }

  #schedule(delayMs: number, signal: AbortSignal): void {
    this.#cancelNext = this.#options.clock.after(delayMs, () => this.#begin(signal));
  }

  async #pass(signal: AbortSignal): Promise<void> {
    const { poll, intervalMs, backoff, onFailure, onRecovery } = this.#options;
    let waitMs = intervalMs;
    try {
      await poll(signal);
      if (signal.aborted) return;
      backoff?.reset();
      if (this.#failure.end()) onRecovery?.();
    } catch (thrown) {
      if (!(thrown instanceof RangemakerError)) throw thrown;
      if (signal.aborted) return;
      waitMs = backoff?.nextMs() ?? intervalMs;
      if (this.#failure.begin(thrown.code)) onFailure?.(thrown);
    }
    if (!signal.aborted) this.#schedule(waitMs, signal);
  }
}
