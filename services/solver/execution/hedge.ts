import type { Clock } from "../../../lib/clock.ts";
import type { QuoteTerms } from "../../../lib/protocol/quote.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";

/** Covers the solver's risk elsewhere before a thesis is submitted. */
export interface Hedge {
  /** How long {@link cover} takes as a rule, in milliseconds: a quote must live that long. */
  readonly expectedMs: number;
  /**
   * Resolves when the risk of a quote is covered. May be asked more than once for one quote, after a
   * crash for instance, and covers it once: the quote hash is its key.
   */
  cover(quoteHash: Hex, terms: QuoteTerms): Promise<void>;
}

/** The mock's hedge: takes its time and covers nothing (spec: quote solver, flow step 4). */
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
