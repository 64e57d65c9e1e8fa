import { SLOT_MS } from "../../../../lib/prices/price_slots.ts";
import { DecayedMean } from "../../pricing/decayed_mean.ts";
import { YEAR_MS } from "../../pricing/units.ts";

/**
 * Slots between the two prices of a slow return: 5 s, where the move of the price is well above the
 * noise of single trades.
 */
const SLOW_SLOTS = 50;

/** How a {@link TwoScaleVolatility} weighs returns. */
export interface TwoScaleOptions {
  /** Age at which a return counts half, in milliseconds. */
  halfLifeMs: number;
  /** Minimum annualised volatility: a still price is no evidence of a low one. */
  floor: number;
  /** Returns must cover this much time before the first estimate, in milliseconds. */
  minHistoryMs: number;
}

/**
 * Annualised volatility from prices 100 ms apart, on two time scales and with one memory for every
 * horizon, as the solver's first version had it: the mean square of slow returns
 * contains the move of 5 s and the noise of two prices, that of fast returns the move of 100 ms and
 * the same noise; their difference is free of it. Both are weighted exponentially by age.
 *
 * Slow returns begin at every slot, so they overlap and use every price.
 */
export class TwoScaleVolatility {
  readonly #options: TwoScaleOptions;
  readonly #slow: DecayedMean;
  readonly #fast: DecayedMean;
  /** Logarithms of the newest prices, each in the place of its slot; `#slots` says which it is. */
  readonly #logs = new Float64Array(SLOW_SLOTS + 1);
  readonly #slots = new Float64Array(SLOW_SLOTS + 1).fill(-1);
  #newest = -1;
  #returns = 0;

  constructor(options: TwoScaleOptions) {
    this.#options = options;
    this.#slow = new DecayedMean(options.halfLifeMs);
    this.#fast = new DecayedMean(options.halfLifeMs);
  }

  /** Adds the price of a slot that is later than all before; slots may be left out. */
  add(timeMs: number, price: bigint): void {
    const slot = Math.floor(timeMs / SLOT_MS);
    const log = Math.log(Number(price));
    if (this.#newest >= 0) {
      const elapsedMs = (slot - this.#newest) * SLOT_MS;
      this.#slow.fade(elapsedMs);
      this.#fast.fade(elapsedMs);
    }
    const before = this.#logAt(slot - 1);
    const longBefore = this.#logAt(slot - SLOW_SLOTS);
    // Both or neither, so that the noise in one is the noise in the other.
    if (before !== undefined && longBefore !== undefined) {
      this.#fast.add((log - before) ** 2);
      this.#slow.add((log - longBefore) ** 2);
      this.#returns += 1;
    }
    const place = slot % this.#logs.length;
    this.#logs[place] = log;
    this.#slots[place] = slot;
    this.#newest = slot;
  }

  /** Time covered by the returns seen so far, in milliseconds. */
  get historyMs(): number {
    return this.#returns * SLOT_MS;
  }

  /** The volatility a year, or undefined before there is enough history. */
  get volatility(): number | undefined {
    const { floor, minHistoryMs } = this.#options;
    const [slow, fast] = [this.#slow.mean, this.#fast.mean];
    if (slow === undefined || fast === undefined || this.historyMs < minHistoryMs) return undefined;
    const spanMs = (SLOW_SLOTS - 1) * SLOT_MS;
    const variance = (slow - fast) * YEAR_MS / spanMs;
    return Math.max(floor, Math.sqrt(Math.max(0, variance)));
  }

  #logAt(slot: number): number | undefined {
    const place = slot % this.#logs.length;
    return slot >= 0 && this.#slots[place] === slot ? this.#logs[place] : undefined;
  }
}
