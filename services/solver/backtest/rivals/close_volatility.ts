import { CandleBuilder } from "../../pricing/candle.ts";
import { DecayedMean } from "../../pricing/decayed_mean.ts";
import { YEAR_MS } from "../../pricing/units.ts";
import type { Bar } from "../bars.ts";

/** Memory of the squared returns, the same for every horizon. */
const HALF_LIFE_MS = 600_000;

/** Returns from slots are over 5 s: single slots are mostly noise. */
const RETURN_MS = 5_000;

const FLOOR = 0.1;
const HISTORY_MS_MIN = 60_000;

/** A simple volatility: the mean squared return of the last ten minutes. */
export class CloseVolatility {
  readonly #squares = new DecayedMean(HALF_LIFE_MS);
  readonly #candles = new CandleBuilder(RETURN_MS);
  #historyMs = 0;
  #close: number | undefined;
  #spot: number | undefined;

  /** Adds the newest bar. */
  observe(bar: Bar): void {
    this.#spot = bar.close;
    const candle = bar.durationMs >= RETURN_MS ? bar : this.#candles.add(bar.timeMs, bar.close);
    if (candle === undefined) return;
    const { durationMs, close } = candle;
    if (this.#close !== undefined) {
      this.#squares.fade(durationMs);
      this.#squares.add(Math.log(close / this.#close) ** 2 / durationMs);
    }
    this.#historyMs += durationMs;
    this.#close = close;
  }

  /** Annualised; undefined before there is enough history. */
  get volatility(): number | undefined {
    const { mean } = this.#squares;
    if (mean === undefined || this.#historyMs < HISTORY_MS_MIN) return undefined;
    return Math.max(FLOOR, Math.sqrt(mean * YEAR_MS));
  }

  /** The newest price. */
  get spot(): number | undefined {
    return this.#spot;
  }
}
