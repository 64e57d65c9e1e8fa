import { SLOT_MS } from "../../../../lib/prices/price_slots.ts";
import { DecayedMean } from "../../pricing/decayed_mean.ts";
import { YEAR_MS } from "../../pricing/units.ts";
import type { Bar } from "../bars.ts";
import { TwoScaleVolatility } from "./two_scale_volatility.ts";

/** Memory of the solver's first version, the same for every horizon. */
const HALF_LIFE_MS = 600_000;

const FLOOR = 0.1;
const HISTORY_MS_MIN = 60_000;

/** The volatility of the solver's first version: slots on two scales, candles by squared returns. */
export class CloseVolatility {
  readonly #slots = new TwoScaleVolatility({
    halfLifeMs: HALF_LIFE_MS,
    floor: FLOOR,
    minHistoryMs: HISTORY_MS_MIN,
  });
  readonly #candles = new DecayedMean(HALF_LIFE_MS);
  #close: number | undefined;
  #spot: number | undefined;

  /** Adds the newest bar. */
  observe(bar: Bar): void {
    this.#spot = bar.close;
    if (bar.durationMs === SLOT_MS) {
      this.#slots.add(bar.timeMs, BigInt(bar.close));
      return;
    }
    if (this.#close !== undefined) {
      this.#candles.fade(bar.durationMs);
      this.#candles.add(Math.log(bar.close / this.#close) ** 2 / bar.durationMs);
    }
    this.#close = bar.close;
  }

  /** The newest price. */
  get spot(): number | undefined {
    return this.#spot;
  }

  /** Annualised. */
  get volatility(): number | undefined {
    const perMs = this.#candles.mean;
    if (perMs === undefined) return this.#slots.volatility;
    return Math.max(FLOOR, Math.sqrt(perMs * YEAR_MS));
  }
}
