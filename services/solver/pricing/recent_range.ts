import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import { HOUR_MS, MINUTE_MS } from "../../../lib/time.ts";
import { CandleBuilder, type JoinedCandle, rangeOf, unitRange } from "./candle.ts";
import { DecayedMean } from "./decayed_mean.ts";
import type { Season } from "./season.ts";

/** Length of the candles whose ranges are averaged. */
const SHORT_CANDLE_MS = 5_000;
/** Half-life of the mean: the last minute, which candles of a minute do not contain yet. */
const HALF_LIFE_MS = 60_000;

/** Memory of the relation between the two kinds of candles. */
const RELATION_HALF_LIFE_MS = HOUR_MS;

/** A candle counts as at most this many means, so that a jump does not count as a new level. */
const RAISE_MAX = 3;

/** Candles before a jump can be recognised. */
const CANDLES_MIN = 5;

/** Weight of the theoretical relation, in minutes, until it is learned. */
const PRIOR_MINUTES = 5;

/**
 * How far the price went in the last minute, from candles of 5 s, in the unit of candles of a
 * minute and without the season. Prices that bounce make short candles relatively long, so the
 * relation is learned.
 */
export class RecentRange {
  readonly #season: Pick<Season, "factorAt">;
  readonly #candles = new CandleBuilder(SHORT_CANDLE_MS);
  readonly #mean = new DecayedMean(HALF_LIFE_MS);
  readonly #short = new DecayedMean(RELATION_HALF_LIFE_MS);
  readonly #long = new DecayedMean(RELATION_HALF_LIFE_MS);
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
    for (const mean of [this.#mean, this.#short]) {
      mean.decay(elapsedMs);
      mean.add(range, weight);
    }
    this.#long.decay(elapsedMs);
    this.#before = candle;
  }

  /** Adds the range of a minute without its season; its slots were added before. */
  addMinute(range: number, weight: number): void {
    this.#long.add(range, weight);
  }

  /** Time covered by prices, in milliseconds. */
  get historyMs(): number {
    const { open } = this.#candles;
    return this.#short.weight * SHORT_CANDLE_MS +
      (open === undefined ? 0 : open.lastMs - open.firstMs);
  }

  /** The mean range per minute, and the weighted time behind it; undefined before the second price. */
  get meanRange(): { value: number; halfLifeMs: number; knownMs: number } | undefined {
    const { open } = this.#candles;
    if (open === undefined) return undefined;
    const { range, weight } = this.#rangeAndWeight(open);
    const elapsedMs = open.timeMs - (this.#before ?? open).timeMs;
    const meanOf = (past: DecayedMean) => {
      const kept = past.weight * 2 ** (-elapsedMs / past.halfLifeMs);
      const total = kept + weight;
      const mean = total === 0 ? undefined : ((past.mean ?? 0) * kept + range * weight) / total;
      return { mean, total };
    };
    const [{ mean, total }, { mean: shortMean }] = [meanOf(this.#mean), meanOf(this.#short)];
    if (mean === undefined || shortMean === undefined) return undefined;
    const value = mean * this.#minuteRatio(shortMean);
    return { value, halfLifeMs: HALF_LIFE_MS, knownMs: total * SHORT_CANDLE_MS };
  }

  /** The mean range of a minute over that of a short candle. */
  #minuteRatio(shortMean: number): number {
    const prior = this.#unitRange(MINUTE_MS) / this.#unitRange(SHORT_CANDLE_MS);
    if (shortMean === 0) return prior;
    const longWeight = this.#long.weight;
    const longSum = shortMean * prior * PRIOR_MINUTES + (this.#long.mean ?? 0) * longWeight;
    return longSum / (PRIOR_MINUTES + longWeight) / shortMean;
  }

  /** The range of a candle without its season, extrapolated if it is partial, and its weight. */
  #rangeAndWeight(candle: JoinedCandle): { range: number; weight: number } {
    const before = this.#before;
    const follows = before !== undefined && before.timeMs + SHORT_CANDLE_MS === candle.timeMs;
    const fromMs = follows ? before.lastMs : candle.firstMs;
    const coveredMs = candle.lastMs - fromMs;
    if (coveredMs === 0) return { range: 0, weight: 0 };
    const usual = this.#short.weight < CANDLES_MIN ? undefined : this.#mean.mean;
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
