import { type Signal, signal } from "@preact/signals";
import type { Bet, Clock, Estimate } from "@rangemaker/client";

/** Shortest time between two requests: a drag changes the bet 60 times a second. */
const PAUSE_MS = 120;

/** A request that takes longer is aborted. */
const TIMEOUT_MS = 3_000;

/** The newest estimate, or the reason why there is none. */
export type EstimateState =
  | { estimate: Estimate; bet: Bet }
  | { failure: unknown; bet: Bet };

export interface EstimatorOptions {
  estimate(bet: Bet, signal: AbortSignal): Promise<Estimate>;
  clock: Clock;
}

/** Estimates a changing bet, with one request at a time. Shows answers for the newest bet only. */
export class Estimator {
  /** Undefined while no bet is estimated. */
  readonly state: Signal<EstimateState | undefined> = signal(undefined);
  readonly #options: EstimatorOptions;
  #wanted: Bet | undefined;
  #running: AbortController | undefined;
  /** Whether the last request was sent less than {@link PAUSE_MS} ago. */
  #isPausing = false;

  constructor(options: EstimatorOptions) {
    this.#options = options;
  }

  /** Requests an estimate after a short pause. */
  ask(bet: Bet): void {
    this.#wanted = bet;
    this.#pump();
  }

  /** Deletes the estimate and aborts the open request. */
  clear(): void {
    this.#wanted = undefined;
    this.#running?.abort();
    this.#running = undefined;
    this.state.value = undefined;
  }

  #pump(): void {
    if (this.#wanted === undefined || this.#running || this.#isPausing) return;
    this.#isPausing = true;
    this.#options.clock.after(PAUSE_MS, () => {
      this.#isPausing = false;
      this.#pump();
    });
    void this.#send(this.#wanted);
  }

  async #send(bet: Bet): Promise<void> {
    const { clock, estimate } = this.#options;
    this.#wanted = undefined;
    const running = new AbortController();
    this.#running = running;
    const cancelTimeout = clock.after(TIMEOUT_MS, () => running.abort());
    const state = await estimate(bet, running.signal).then(
      (estimate): EstimateState => ({ estimate, bet }),
      (failure: unknown): EstimateState => ({ failure, bet }),
    );
    cancelTimeout();
    if (this.#running !== running) return;
    this.#running = undefined;
    this.state.value = state;
    this.#pump();
  }
}
