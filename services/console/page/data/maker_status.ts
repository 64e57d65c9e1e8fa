import { type Signal, signal } from "@preact/signals";
import type { SolverInfo } from "@rangemaker/client";
import { AWAY_CODES, explain } from "./explain.ts";

/** What users see and hear while it is away. The page asks again by itself. */
export const MAKER_AWAY = "The maker does not answer: no quotes now.";

/** The solver's own description, and whether it can be reached. */
export class MakerStatus {
  /** Its limits and figures, once it has answered. */
  readonly info: Signal<SolverInfo | undefined> = signal(undefined);
  /** The last request to it was not answered. */
  readonly isAway = signal(false);

  async read(ask: () => Promise<SolverInfo>): Promise<void> {
    try {
      this.info.value = await ask();
      this.report();
    } catch (failure) {
      this.report(failure);
    }
  }

  /** Records the outcome of any request to the solver: an answer, or a failure. */
  report(failure?: unknown): void {
    this.isAway.value = failure !== undefined && AWAY_CODES.has(explain(failure).code);
  }
}
