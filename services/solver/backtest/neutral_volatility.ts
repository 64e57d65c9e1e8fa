import { SLOT_MS } from "../../../lib/prices/price_slots.ts";
import { candleVariance } from "../pricing/candle.ts";
import { YEAR_MS } from "../pricing/units.ts";
import type { Bar } from "./bars.ts";

/** Single slots are too noisy: squared returns of 5 s are used. */
const RETURN_SLOTS = 50;

/** Minimum number of returns or candles for a mean. */
const COUNT_MIN = 10;

/**
 * The mean volatility of all prices so far. Widths of boxes are measured in it, so they do not depend on
 * any of the models under test.
 */
export class NeutralVolatility {
  #sum = 0;
  #ms = 0;
  #count = 0;
  #close: number | undefined;

  /** Adds the newest bar. */
  observe(bar: Bar): void {
    if (bar.durationMs === SLOT_MS) {
      if (bar.timeMs % (RETURN_SLOTS * SLOT_MS) !== 0) return;
      if (this.#close !== undefined) {
        this.#add(Math.log(bar.close / this.#close) ** 2, RETURN_SLOTS * SLOT_MS);
      }
    } else this.#add(candleVariance(bar, this.#close), bar.durationMs);
    this.#close = bar.close;
  }

  /** Annualised; undefined before there are enough prices, or while none has moved. */
  get volatility(): number | undefined {
    if (this.#count < COUNT_MIN || this.#sum === 0) return undefined;
    return Math.sqrt(this.#sum / this.#ms * YEAR_MS);
  }

  #add(variance: number, ms: number): void {
    this.#sum += variance;
    this.#ms += ms;
    this.#count += 1;
  }
}
