import { CandleBuilder, rangeOf } from "./candle.ts";
import { DecayedMean } from "./decayed_mean.ts";

/** Length of the candles whose ranges are averaged. */
const CANDLE_MS = 5_000;
const CANDLES_PER_MINUTE = 60_000 / CANDLE_MS;

/** Memory of the mean: the last minute, which candles of a minute do not contain yet. */
const HALF_LIFE_MS = 60_000;

/** Memory of the relation between the two kinds of candles. */
const RELATION_HALF_LIFE_MS = 3_600_000;

/** A candle counts as at most this many times the mean, so that a jump is not taken for a new level. */
const RAISE_MAX = 3;

/** Candles before a jump can be recognised. */
const CANDLES_MIN = 5;

/** Until candles of a minute say otherwise, ranges grow like the root of time; weight in minutes. */
const PRIOR_RELATION = Math.sqrt(CANDLES_PER_MINUTE);
const PRIOR_MINUTES = 5;

/**
 * How far the price went in the last minute, from candles of 5 s, in the unit of candles of a minute.
 * Prices that bounce make short candles relatively long, so the relation is learned.
 */
export class RecentRange {
  readonly #candles = new CandleBuilder(CANDLE_MS);
  readonly #mean = new DecayedMean(HALF_LIFE_MS);
  readonly #short = new DecayedMean(RELATION_HALF_LIFE_MS);
  readonly #long = new DecayedMean(RELATION_HALF_LIFE_MS);
  #close: number | undefined;
  #endMs = 0;

  /** Adds the price of a slot that is later than all before. */
  addSlot(timeMs: number, price: number): void {
    const candle = this.#candles.add(timeMs, price);
    if (candle === undefined) return;
    const follows = candle.timeMs === this.#endMs;
    const elapsedMs = this.#endMs === 0 ? 0 : candle.timeMs + CANDLE_MS - this.#endMs;
    const usual = this.#short.weight < CANDLES_MIN ? undefined : this.#mean.mean;
    const highest = usual === undefined || usual === 0 ? Infinity : RAISE_MAX * usual;
    const range = Math.min(highest, rangeOf(candle, follows ? this.#close : undefined));
    for (const mean of [this.#mean, this.#short]) {
      mean.fade(elapsedMs);
      mean.add(range);
    }
    this.#long.fade(elapsedMs);
    this.#close = candle.close;
    this.#endMs = candle.timeMs + CANDLE_MS;
  }

  /** Adds the range of a minute that the slots before belong to. */
  addMinute(range: number): void {
    this.#long.add(range);
  }

  /** Time covered by prices, in milliseconds. */
  get historyMs(): number {
    return this.#short.weight * CANDLE_MS;
  }

  /** The mean range per minute; undefined before the first candle of 5 s. */
  get mean(): { mean: number; halfLifeMs: number } | undefined {
    const { mean } = this.#mean;
    const short = this.#short.mean;
    if (mean === undefined || short === undefined) return undefined;
    const minutes = this.#long.weight;
    const long = short * PRIOR_RELATION * PRIOR_MINUTES + (this.#long.mean ?? 0) * minutes;
    const relation = short === 0 ? PRIOR_RELATION : long / (PRIOR_MINUTES + minutes) / short;
    return { mean: mean * relation, halfLifeMs: HALF_LIFE_MS };
  }
}
