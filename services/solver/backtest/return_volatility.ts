import { YEAR_MS } from "../../../lib/time.ts";
import { DecayedMean } from "../pricing/decayed_mean.ts";
import type { SlotPrice } from "./slots.ts";

/** Single slots are mostly noise. */
const RETURN_MS = 5_000;

/** Fewest returns for a mean: ten, of which the oldest may have faded. */
const RETURNS_MIN = 9.5;

/** A simple volatility: the mean squared return of 5 s. */
export class ReturnVolatility {
  readonly #squares: DecayedMean;
  #price: number | undefined;

  /** @param halfLifeMs Memory of the returns; without it, all count the same. */
  constructor(halfLifeMs = Infinity) {
    this.#squares = new DecayedMean(halfLifeMs);
  }

  /** Adds the newest price. */
  observe({ timeMs, price }: SlotPrice): void {
    if (timeMs % RETURN_MS !== 0) return;
    if (this.#price !== undefined) {
      this.#squares.decay(RETURN_MS);
      this.#squares.add(Math.log(price / this.#price) ** 2);
    }
    this.#price = price;
  }

  /** Annualised; undefined before there are enough prices, or while none has moved. */
  get volatility(): number | undefined {
    const { mean, weight } = this.#squares;
    if (mean === undefined || mean === 0 || weight < RETURNS_MIN) return undefined;
    return Math.sqrt(mean / RETURN_MS * YEAR_MS);
  }
}
