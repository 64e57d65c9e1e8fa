import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import { MINUTE_MS } from "../../../lib/time.ts";
import { CandleBuilder, type JoinedCandle, rangeOf, unitRange } from "./candle.ts";
import { DecayedMean } from "./decayed_mean.ts";
import type { DecayedRange } from "./range_memory.ts";
import type { Season } from "./season.ts";

/** Length of the candles whose ranges are averaged. */
const SHORT_CANDLE_MS = 5_000;
/** Half-life of the mean: the last minute, which candles of a minute do not contain yet. */
const HALF_LIFE_MS = 60_000;

/** A candle counts as at most this many means, so that a jump does not count as a new level. */
const RAISE_MAX = 3;

/** Candles before a jump can be recognised. */
const CANDLES_MIN = 5;

/**
 * How far the price went in the last minute, from candles of 5 s, in the unit of candles of a
 * minute and without the season.
 */
export class RecentRange {
  readonly #season: Pick<Season, "factorAt">;
  readonly #candles = new CandleBuilder(SHORT_CANDLE_MS);
  readonly #mean = new DecayedMean(HALF_LIFE_MS);
  /** Time covered by complete candles, in milliseconds. */
  #completeMs = 0;
  #before: JoinedCandle | undefined;
  /** Share of slots that move. */
  #moving = 1;

  constructor(season: Pick<Season, "factorAt">) {
    this.#season = season;
  }

  /**
   * Adds the price of a slot that is later than all before.
   *
   * @param moving Share of slots that move, above 0.
   */
  addSlot(timeMs: number, price: number, moving: number): void {
    this.#moving = moving;
    const candle = this.#candles.add(timeMs, price);
    if (candle === undefined) return;
    const { range, weight } = this.#rangeAndWeight(candle);
    const elapsedMs = this.#before === undefined ? 0 : candle.timeMs - this.#before.timeMs;
    this.#mean.decay(elapsedMs);
    this.#mean.add(range, weight);
    this.#completeMs += weight * SHORT_CANDLE_MS;
    this.#before = candle;
  }

  /** Time covered by prices, in milliseconds. */
  get historyMs(): number {
    const { open } = this.#candles;
    return this.#completeMs +
      (open === undefined ? 0 : open.lastMs - open.firstMs);
  }

  /** Undefined before the second price. */
  get meanRange(): DecayedRange | undefined {
    const { open } = this.#candles;
    if (open === undefined) return undefined;
    const { range, weight } = this.#rangeAndWeight(open);
    const elapsedMs = open.timeMs - (this.#before ?? open).timeMs;
    const kept = this.#mean.weight * 2 ** (-elapsedMs / HALF_LIFE_MS);
    const total = kept + weight;
    if (total === 0) return undefined;
    const ofCandle = ((this.#mean.mean ?? 0) * kept + range * weight) / total;
    const mean = ofCandle * this.#unitRange(MINUTE_MS) / this.#unitRange(SHORT_CANDLE_MS);
    const moves = this.#moving * total * SHORT_CANDLE_MS / SLOT_MS;
    return { mean, halfLifeMs: HALF_LIFE_MS, moves };
  }

  /** The range of a candle without its season, extrapolated if it is partial, and its weight. */
  #rangeAndWeight(candle: JoinedCandle): { range: number; weight: number } {
    const before = this.#before;
    const follows = before !== undefined && before.timeMs + SHORT_CANDLE_MS === candle.timeMs;
    const fromMs = follows ? before.lastMs : candle.firstMs;
    const coveredMs = candle.lastMs - fromMs;
    if (coveredMs === 0) return { range: 0, weight: 0 };
    const usual = this.#completeMs < CANDLES_MIN * SHORT_CANDLE_MS ? undefined : this.#mean.mean;
    const highest = usual === undefined || usual === 0 ? Infinity : RAISE_MAX * usual;
    const whole = this.#unitRange(SHORT_CANDLE_MS) / this.#unitRange(coveredMs);
    const range = rangeOf(candle, follows ? before.close : undefined) * whole /
      this.#season.factorAt(candle.timeMs);
    return { range: Math.min(highest, range), weight: coveredMs / SHORT_CANDLE_MS };
  }

  #unitRange(durationMs: number): number {
    return unitRange(this.#moving * durationMs / SLOT_MS);
  }
}
