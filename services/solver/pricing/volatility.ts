import { z } from "zod";
import { SLOT_MS } from "../../../lib/prices/price_slots.ts";
import { type Candle, CandleBuilder, candleVariance } from "./candle.ts";
import { HourlySeason, seasonStateSchema } from "./season.ts";
import { type SigmaForecast, spreadOver } from "./sigma_mixture.ts";
import { SlotVariance } from "./slot_variance.ts";
import { YEAR_MS } from "./units.ts";
import { kernelStateSchema, VolatilityKernel } from "./volatility_kernel.ts";

/** Options of a {@link MarketVolatility}. */
export interface VolatilityOptions {
  /** Lowest annualised volatility of a forecast: a still price is no evidence of a low one. */
  floor: number;
  /** Prices must cover this much time before the first forecast, in milliseconds. */
  minHistoryMs: number;
}

/** Forecasts the volatility of one market from now to the end of a window. */
export interface VolatilityForecaster {
  /** @returns Undefined if there is too little history. */
  forecast(nowMs: number, endMs: number): SigmaForecast | undefined;
}

/** State of a {@link MarketVolatility}; a change of meaning gets a new version. */
export const volatilityStateSchema = z.object({
  version: z.literal(1, { error: "Expected a volatility state of version 1" }),
  kernel: kernelStateSchema,
  season: seasonStateSchema,
  close: z.number().positive().optional(),
});

/** {@link MarketVolatility.toJSON}, as stored. */
export type VolatilityState = z.input<typeof volatilityStateSchema>;

/** Shortest horizon: shorter ones are forecast like this one, since checks are 100 ms apart. */
const HORIZON_MS_MIN = 1_000;

/**
 * Volatility of one market for every horizon, from prices 100 ms apart, from candles, or from both:
 * past candles may be added first, then slots as they arrive.
 */
export class MarketVolatility implements VolatilityForecaster {
  readonly #options: VolatilityOptions;
  readonly #slots = new SlotVariance();
  readonly #candles = new CandleBuilder();
  readonly #kernel: VolatilityKernel;
  readonly #season: HourlySeason;
  #close: number | undefined;

  /** @param state Continues from a stored state; prices since then may be missing. */
  constructor(options: VolatilityOptions, state?: z.output<typeof volatilityStateSchema>) {
    this.#options = options;
    this.#kernel = new VolatilityKernel(state?.kernel);
    this.#season = new HourlySeason(state?.season);
    this.#close = state?.close;
  }

  /** Adds the price of a slot that is later than all before; slots may be left out. */
  addSlot(timeMs: number, price: bigint): void {
    const value = Number(price);
    this.#slots.add(Math.floor(timeMs / SLOT_MS), value);
    const candle = this.#candles.add(timeMs, value);
    if (candle !== undefined) this.addCandle(candle);
  }

  /** Adds a candle; one that is not later than all before is ignored. */
  addCandle(candle: Candle): void {
    const { timeMs, durationMs } = candle;
    const endMs = timeMs + durationMs;
    if (timeMs < this.#kernel.endMs) return;
    const follows = timeMs === this.#kernel.endMs;
    const variance = candleVariance(candle, follows ? this.#close : undefined);
    const factor = this.#season.factorAt(timeMs);
    const fast = this.#slots.variance;
    this.#kernel.add(endMs, durationMs, variance / factor, fast && fast.perMs / factor);
    this.#season.add(timeMs, durationMs, variance);
    this.#close = candle.close;
  }

  /** End of the newest candle, Unix milliseconds; 0 before the first. */
  get candlesEndMs(): number {
    return this.#kernel.endMs;
  }

  /** Time covered by prices so far, in milliseconds. */
  get historyMs(): number {
    return Math.max(this.#kernel.historyMs, this.#slots.historyMs);
  }

  forecast(nowMs: number, endMs: number): SigmaForecast | undefined {
    const { floor, minHistoryMs } = this.#options;
    const historyMs = this.historyMs;
    if (historyMs === 0 || historyMs < minHistoryMs) return undefined;
    const horizonMs = Math.max(HORIZON_MS_MIN, endMs - nowMs);
    const fast = this.#slots.variance;
    const factor = this.#season.factorAt(nowMs);
    const perMs = this.#kernel.over(
      horizonMs,
      fast && { halfLifeMs: fast.halfLifeMs, perMs: fast.perMs / factor },
    ) ?? 0;
    const seasonal = perMs * this.#season.factorOver(nowMs, nowMs + horizonMs);
    return {
      volatility: Math.max(floor, Math.sqrt(seasonal * YEAR_MS)),
      spread: spreadOver(horizonMs, historyMs),
    };
  }

  /** The state for a restart; the last minute of slots is learned again. */
  toJSON(): VolatilityState {
    return {
      version: 1,
      kernel: this.#kernel.toJSON(),
      season: this.#season.toJSON(),
      close: this.#close,
    };
  }
}
