import {
  type PriceRange,
  type PriceReader,
  type RangeCheck,
  RangeCheckBuilder,
  SLOT_MS,
} from "../../../lib/prices/price_slots.ts";
import { PriceRing } from "../../../lib/prices/price_ring.ts";
import { StillPrices } from "../pricing/still_prices.ts";
import type { MarketView } from "../pricing/strategy.ts";
import { MarketVolatility, type VolatilityOptions } from "../pricing/volatility.ts";
import { forecastOf, type VolatilityForecaster } from "../pricing/volatility_forecast.ts";
import { type Bar, endOf } from "./bars.ts";

export interface TapeMarketOptions extends VolatilityOptions {
  /** Age of the spot that strategies see, in milliseconds. */
  priceAgeMs: number;
  /** Annualised volatility, if known; it is then not estimated. */
  volatility?: number | undefined;
}

/** A strategy's view of one market, fed from bars. */
export class TapeMarket implements MarketView {
  readonly volatility: VolatilityForecaster;
  readonly #stillness = new StillPrices();
  readonly #slots = new PriceRing();
  readonly #candles = new CandleHistory();
  readonly #estimate: MarketVolatility;
  readonly #priceAgeMs: number;
  /** Prices that are old enough to be seen. */
  #visible: MarketView["spot"];
  #coming: Bar[] = [];
  #nowMs = 0;

  constructor(options: TapeMarketOptions) {
    this.#estimate = new MarketVolatility(options);
    this.#priceAgeMs = options.priceAgeMs;
    this.volatility = options.volatility === undefined
      ? this.#estimate
      : knownVolatility(options.volatility);
  }

  /** Adds the newest bar. */
  observe(bar: Bar): void {
    this.#nowMs = bar.knownMs;
    this.#coming.push(bar);
    while (
      this.#coming[0] !== undefined && this.#coming[0].knownMs <= this.#nowMs - this.#priceAgeMs
    ) {
      const { close, knownMs } = this.#coming.shift()!; // the loop's condition
      this.#visible = { price: BigInt(close), lastUpdateMs: knownMs, fresh: true };
    }
    if (bar.durationMs !== SLOT_MS) {
      this.#candles.add(bar);
      return this.#estimate.addCandle(bar);
    }
    const price = BigInt(bar.close);
    this.#stillness.add(bar.timeMs / SLOT_MS, price);
    this.#estimate.addSlot(bar.timeMs, price, this.#stillness.share);
    this.#slots.append(bar.timeMs, price);
  }

  get history(): PriceReader {
    return this.#slots.newest === undefined ? this.#candles : this.#slots;
  }

  /** Candles show how often the price moves by how seldom it goes nowhere. */
  get stillness(): MarketView["stillness"] {
    if (this.#slots.newest !== undefined) return this.#stillness;
    return { share: this.#estimate.stillShare, tick: undefined };
  }

  get spot(): MarketView["spot"] {
    return this.#visible;
  }

  get historyEndMs(): number {
    return this.#nowMs;
  }

  /** The newest moment of the recording. */
  get nowMs(): number {
    return this.#nowMs;
  }
}

/** A volatility without uncertainty. */
function knownVolatility(volatility: number): VolatilityForecaster {
  const forecast = forecastOf(volatility, 0);
  return { forecast: () => forecast };
}

/** Candles that are kept: the longest window plus the wait before it. */
const CANDLES_MAX = 4_096;

/** Past prices from candles: their lows and highs stand for the slots in them. */
class CandleHistory implements PriceReader {
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
      if (check.containsBreach(BigInt(low), BigInt(high))) {
        check.outside = { time: timeMs, price: BigInt(low) };
      }
    }
    return check;
  }
}
