import type { Clock } from "../../../lib/clock.ts";
import type { QuoteTerms } from "../../../lib/protocol/quote.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";

/** Covers the solver's risk elsewhere before a thesis is submitted. */
export interface Hedge {
  /** Usual duration of {@link cover} in milliseconds: a quote must live that long. */
  readonly expectedMs: number;
  /**
   * Resolves when the risk of a quote is covered. Idempotent by the quote hash: it is called again
   * after a crash.
   */
  cover(quoteHash: Hex, terms: QuoteTerms): Promise<void>;
}

/** Waits and covers nothing (spec: quote solver, flow step 4). */
export class SimulatedHedge implements Hedge {
  readonly expectedMs: number;
  readonly #clock: Clock;

  constructor(clock: Clock, delayMs: number) {
    this.#clock = clock;
    this.expectedMs = delayMs;
  }

  cover(): Promise<void> {
    return new Promise((resolve) => this.#clock.after(this.expectedMs, resolve));
  }
}
