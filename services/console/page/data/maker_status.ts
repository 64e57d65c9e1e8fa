import { type Signal, signal } from "@preact/signals";
import type { SolverInfo } from "@rangemaker/client";
import { AWAY_CODES, explain } from "./explain.ts";

/** The solver's own description, and whether it can be reached. */
export class MakerStatus {
  /** Its limits and figures, once it has answered. */
  readonly info: Signal<SolverInfo | undefined> = signal(undefined);
  /** The last request to it was not answered. */
  readonly isAway = signal(false);
  /** The last request was not answered because this device has no network. */
  readonly isCutOff = signal(false);
  readonly #hasNoNetwork: () => Promise<boolean>;
  #reports = 0;

  constructor(hasNoNetwork: () => Promise<boolean>) {
    this.#hasNoNetwork = hasNoNetwork;
  }

  /** Asks the solver. */
  async read(ask: () => Promise<SolverInfo>): Promise<void> {
    try {
      this.info.value = await ask();
      await this.report();
    } catch (failure) {
      await this.report(failure);
    }
  }

  /** Records the outcome of any request to the solver: an answer, or a failure. */
  async report(failure?: unknown): Promise<void> {
    const report = this.#reports += 1;
    const isAway = failure !== undefined && AWAY_CODES.has(explain(failure).code);
    const isCutOff = isAway && await this.#hasNoNetwork();
    if (report !== this.#reports) return; // a newer report has replaced this one
    this.isCutOff.value = isCutOff;
    this.isAway.value = isAway;
  }
}
