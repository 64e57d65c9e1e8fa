import { type Signal, signal } from "@preact/signals";
import type { SolverInfo } from "@rangemaker/client";
import { AWAY_CODES, explain } from "./explain.ts";

/** What the solver says of itself, and whether it can be reached. */
export class MakerStatus {
  /** Its limits and figures, once it has answered. */
  readonly info: Signal<SolverInfo | undefined> = signal(undefined);
  /** It did not answer when it was last asked. */
  readonly isAway = signal(false);
  /** Nor could anything else be reached then: this device has no network. */
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

  /** Any request to the solver has ended: with an answer, or with a failure. */
  async report(failure?: unknown): Promise<void> {
    const report = this.#reports += 1;
    const isAway = failure !== undefined && AWAY_CODES.has(explain(failure).code);
    const isCutOff = isAway && await this.#hasNoNetwork();
    if (report !== this.#reports) return; // a newer report has replaced this one
    this.isCutOff.value = isCutOff;
    this.isAway.value = isAway;
  }
}
