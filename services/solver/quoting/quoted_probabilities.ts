import type { Hex } from "../../../lib/protocol/scalars.ts";

/** Quotes in memory: about 3 MB, or the quotes of 20 s at the default `--rate-limit-total`. */
export const QUOTES_MAX = 20_000;

/**
 * The probabilities of the newest quotes, until they are executed: quotes are not stored, and an
 * execution request does not contain them. Those of evicted quotes or of other processes are unknown.
 */
export class QuotedProbabilities {
  readonly #quotesMax: number;
  /** By quote hash, oldest first. */
  readonly #byHash = new Map<Hex, number>();

  /** @param quotesMax The oldest quote is evicted. */
  constructor(quotesMax: number = QUOTES_MAX) {
    this.#quotesMax = quotesMax;
  }

  /** Records the probability of a quote, if its strategy has one. */
  add(quoteHash: Hex, probability: number | undefined): void {
    if (probability === undefined) return;
    this.#byHash.set(quoteHash, probability);
    if (this.#byHash.size <= this.#quotesMax) return;
    const [oldest] = this.#byHash.keys();
    if (oldest !== undefined) this.#byHash.delete(oldest);
  }

  /** The probability of a quote, if it is known. */
  readonly of = (quoteHash: Hex): number | undefined => this.#byHash.get(quoteHash);
}
