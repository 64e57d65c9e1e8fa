import { ascending } from "./aggregation.ts";

/** A second source must agree to moves over this many times the recent spread of the sources. */
const SPREADS_MAX = 4n;

/** Least bound of a move, in basis points of the price, for sources that hardly differ. */
const BASIS_POINTS_MIN = 10n;

/** Interval at which the reference follows small moves, so that they do not add up to a jump. */
const REFERENCE_MS = 1_000;

/** Window of the spread, in milliseconds. The wider one of this window and the last counts. */
const SPREAD_WINDOW_MS = 10_000;

/**
 * Window of the number of sources, in milliseconds. The highest number in this window and the last
 * one counts as "all sources". A source that has been unreachable for longer must not block the
 * price of the others.
 */
const SOURCES_WINDOW_MS = 1_800_000;

/**
 * Guards a price against a source that lies while others are missing. The median of all sources
 * outvotes a lying source, but if that source is the only one left, it decides the price. While
 * fewer sources contribute than at some time in the last 30 to 60 minutes, a jump counts only if
 * two of them made it.
 */
export class JumpGuard {
  #mostSources = 0;
  #mostSourcesBefore = 0;
  #mostSourcesSinceMs = 0;
  #reference = 0n;
  #referenceAtMs = 0;
  #spread = 0n;
  #spreadBefore = 0n;
  #spreadSinceMs = 0;

  /**
   * @param price The aggregate of the sources.
   * @param sources The contributing prices.
   * @returns Whether the price may be served.
   */
  accepts(price: bigint, sources: readonly bigint[], timeMs: number): boolean {
    this.#recordSourceCount(sources.length, timeMs);
    if (sources.length >= Math.max(this.#mostSources, this.#mostSourcesBefore)) {
      this.#moveTo(price, timeMs);
      this.#recordSpread(sources, timeMs);
      return true;
    }
    const bound = maxOf([
      SPREADS_MAX * maxOf([this.#spread, this.#spreadBefore]),
      this.#reference * BASIS_POINTS_MIN / 10_000n,
    ]);
    const isUp = price > this.#reference;
    const isBeyond = (other: bigint) =>
      isUp ? other > this.#reference + bound : other < this.#reference - bound;
    const isJump = isBeyond(price);
    if (isJump && sources.filter(isBeyond).length < 2) return false;
    if (isJump || Math.abs(timeMs - this.#referenceAtMs) >= REFERENCE_MS) {
      this.#moveTo(price, timeMs);
    }
    return true;
  }

  #recordSourceCount(sources: number, timeMs: number): void {
    const elapsedMs = Math.abs(timeMs - this.#mostSourcesSinceMs);
    if (elapsedMs >= SOURCES_WINDOW_MS) {
      this.#mostSourcesBefore = elapsedMs < 2 * SOURCES_WINDOW_MS ? this.#mostSources : 0;
      this.#mostSources = sources;
      this.#mostSourcesSinceMs = timeMs;
    } else {
      this.#mostSources = Math.max(this.#mostSources, sources);
    }
  }

  #moveTo(price: bigint, timeMs: number): void {
    this.#reference = price;
    this.#referenceAtMs = timeMs;
  }

  #recordSpread(sources: readonly bigint[], timeMs: number): void {
    const spread = spreadOf(sources);
    if (Math.abs(timeMs - this.#spreadSinceMs) >= SPREAD_WINDOW_MS) {
      this.#spreadBefore = this.#spread;
      this.#spread = spread;
      this.#spreadSinceMs = timeMs;
    } else if (spread > this.#spread) {
      this.#spread = spread;
    }
  }
}

/**
 * The distance between the lowest and the highest price. Of three or more, without the outermost: or
 * a source could lie first, to widen the bound, and lie more once it is alone.
 */
function spreadOf(prices: readonly bigint[]): bigint {
  const sorted = ascending(prices);
  const [lowest, secondLowest] = [sorted[0]!, sorted[1] ?? sorted[0]!]; // at least one price
  const [highest, secondHighest] = [sorted.at(-1)!, sorted.at(-2) ?? sorted.at(-1)!];
  if (sorted.length < 3) return highest - lowest;
  return minOf([secondHighest - lowest, highest - secondLowest]);
}

function maxOf(values: readonly bigint[]): bigint {
  return values.reduce((max, value) => value > max ? value : max);
}

function minOf(values: readonly bigint[]): bigint {
  return values.reduce((min, value) => value < min ? value : min);
}
