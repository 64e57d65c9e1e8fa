import {
  type PriceRange,
  type PriceReader,
  type RangeCheck,
  RangeCheckBuilder,
} from "../../../lib/prices/price_slots.ts";
import { type Bar, endOf } from "./bars.ts";

/** Candles that are kept: the longest window plus the wait before it. */
const CANDLES_MAX = 4_096;

/** Past prices from candles: their lows and highs stand for the slots in them. */
export class CandleHistory implements PriceReader {
  readonly #candles: Bar[] = [];
  /** Index of the oldest candle. */
  #next = 0;

  /** Adds a candle that is later than all before. */
  add(candle: Bar): void {
    this.#candles[this.#next] = candle;
    this.#next = (this.#next + 1) % CANDLES_MAX;
  }

  checkRange(from: number, to: number, range?: PriceRange): RangeCheck {
    const check = new RangeCheckBuilder(range);
    const count = this.#candles.length;
    const found: Bar[] = [];
    for (let age = 1; age <= count; age++) {
      const candle = this.#candles[(this.#next - age + CANDLES_MAX) % CANDLES_MAX];
      if (candle === undefined || endOf(candle) <= from) break;
      if (candle.timeMs < to) found.push(candle);
    }
    for (const { low, high, timeMs } of found.reverse()) {
      if (check.hasFirstOutside(BigInt(low), BigInt(high))) {
        check.outside = { time: timeMs, price: BigInt(low) };
      }
    }
    return check;
  }
}
