/** Length of the candles that volatility is estimated from. */
export const CANDLE_MS = 60_000;

/** The prices of a time span, in any unit that stays the same. */
export interface Candle {
  /** Start, Unix milliseconds. */
  timeMs: number;
  durationMs: number;
  open: number;
  high: number;
  low: number;
  close: number;
}

/**
 * How far the price went in a candle, in logarithms, including the step from the previous close.
 *
 * @param closeBefore Close of the candle directly before; undefined if there is none.
 */
export function rangeOf({ open, high, low }: Candle, closeBefore: number = open): number {
  return Math.log(Math.max(high, closeBefore) / Math.min(low, closeBefore));
}

/** A candle made of single prices. */
export interface JoinedCandle extends Candle {
  /** Time of its first price, Unix milliseconds. */
  firstMs: number;
  /** Time of its last price so far. */
  lastMs: number;
}

/** Joins prices into candles of one length. */
export class CandleBuilder {
  readonly #durationMs: number;
  #open: JoinedCandle | undefined;

  constructor(durationMs: number = CANDLE_MS) {
    this.#durationMs = durationMs;
  }

  /** The candle of the newest price. */
  get open(): JoinedCandle | undefined {
    return this.#open;
  }

  /** Adds a price that is later than all before. @returns The candle that this price completes. */
  add(timeMs: number, price: number): JoinedCandle | undefined {
    const startMs = Math.floor(timeMs / this.#durationMs) * this.#durationMs;
    const current = this.#open;
    if (current !== undefined && current.timeMs === startMs) {
      current.high = Math.max(current.high, price);
      current.low = Math.min(current.low, price);
      current.close = price;
      current.lastMs = timeMs;
      return undefined;
    }
    this.#open = {
      timeMs: startMs,
      durationMs: this.#durationMs,
      firstMs: timeMs,
      lastMs: timeMs,
      open: price,
      high: price,
      low: price,
      close: price,
    };
    return current;
  }
}

/**
 * Expected range of a walk of equal steps, in deviations of a step: √(2/π) Σ 1/√i (Spitzer, "A
 * combinatorial lemma and its application to probability theory", 1956).
 */
export function unitRange(steps: number): number {
  if (steps < 1) return Math.max(0, steps) * unitRange(1);
  return Math.sqrt(2 / Math.PI) * (2 * Math.sqrt(steps) + ZETA_HALF + 0.5 / Math.sqrt(steps));
}

/** Riemann's zeta at 1/2: for large n, the sum of 1/√i up to n is 2√n plus this. */
const ZETA_HALF = -1.460_354_5;
