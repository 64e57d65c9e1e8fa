import { type Signal, signal } from "@preact/signals";
import {
  type Bet,
  type CancelTimer,
  type Clock,
  type Estimate,
  NetworkError,
  type RangemakerClient,
} from "@rangemaker/client";

/** Shortest time between two requests: a drag changes the bet 60 times a second. */
const PAUSE_MS = 120;

/** A request that takes longer is aborted. */
const TIMEOUT_MS = 3_000;

/** The newest estimate, or the reason why there is none. */
export type EstimateState =
  | { estimate: Estimate; bet: Bet }
  | { failure: unknown; bet: Bet };

/** Estimates a changing bet, with one request at a time. Shows answers for the newest bet only. */
export class Estimator {
  /** Undefined while no bet is estimated. */
  readonly state: Signal<EstimateState | undefined> = signal(undefined);
  /** Set while nobody sees the estimates, as in a hidden tab: nothing is requested. */
  isPaused = false;
  readonly #client: Pick<RangemakerClient, "estimate">;
  readonly #clock: Clock;
  #wanted: Bet | undefined;
  #running: AbortController | undefined;
  #sentAtMs = -Infinity;
  #cancelTimer: CancelTimer | undefined;

  constructor(client: Pick<RangemakerClient, "estimate">, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
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
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.state.value = undefined;
  }

  #pump(): void {
    if (this.#wanted === undefined || this.#running || this.#cancelTimer) return;
    // The clock may have been set back since.
    const waitMs = Math.min(PAUSE_MS, this.#sentAtMs + PAUSE_MS - this.#clock.now());
    if (waitMs <= 0) return void this.#send();
    this.#cancelTimer = this.#clock.after(waitMs, () => {
      this.#cancelTimer = undefined;
      void this.#send();
    });
  }

  async #send(): Promise<void> {
    const bet = this.#wanted;
    this.#wanted = undefined;
    if (bet === undefined || this.isPaused) return;
    this.#sentAtMs = this.#clock.now();
    const running = new AbortController();
    this.#running = running;
    const cancelTimeout = this.#clock.after(TIMEOUT_MS, () => {
      running.abort(new NetworkError("SERVICE_TIMEOUT", `No estimate within ${TIMEOUT_MS} ms`));
    });
    const state = await this.#client.estimate(bet, running.signal).then(
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
