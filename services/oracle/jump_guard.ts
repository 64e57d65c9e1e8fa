/** A price may move this many times the recent spread of its sources before a second must agree. */
const SPREADS_MAX = 4n;

/** The same as a share of the price, in basis points, for sources that hardly differ. */
const BASIS_POINTS_MIN = 10n;

/** The reference price follows small moves this often, so that many of them do not add up to a jump. */
const REFERENCE_MS = 1_000;

/** Window of the spread, in milliseconds: the wider one of this window and the last counts. */
const SPREAD_WINDOW_MS = 10_000;

/**
 * Window of the number of sources, in milliseconds: "all sources" is the highest number seen in this
 * window or the one before. A source that has been gone for longer must not keep the others from having a
 * price.
 */
const SOURCES_WINDOW_MS = 1_800_000;

/**
 * Guards a price against a source that lies while others are missing: the median of all sources
 * outvotes it, but if it is the only one left, it is the price. While fewer sources contribute than at
 * some time in the last half hour to hour, a jump counts only if two of them made it.
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
    this.#count(sources.length, timeMs);
    if (sources.length >= Math.max(this.#mostSources, this.#mostSourcesBefore)) {
      this.#moveTo(price, timeMs);
      this.#widen(sources, timeMs);
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

  #count(sources: number, timeMs: number): void {
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

  #widen(sources: readonly bigint[], timeMs: number): void {
    const spread = maxOf(sources) - minOf(sources);
    if (Math.abs(timeMs - this.#spreadSinceMs) >= SPREAD_WINDOW_MS) {
      this.#spreadBefore = this.#spread;
      this.#spread = spread;
      this.#spreadSinceMs = timeMs;
    } else if (spread > this.#spread) {
      this.#spread = spread;
    }
  }
}

function maxOf(values: readonly bigint[]): bigint {
  return values.reduce((max, value) => value > max ? value : max);
}

function minOf(values: readonly bigint[]): bigint {
  return values.reduce((min, value) => value < min ? value : min);
}
