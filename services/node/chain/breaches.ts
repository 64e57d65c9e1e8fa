import type { Thesis } from "../../../lib/protocol/thesis.ts";

/**
 * Finds the open theses of one market that a price breaks. A thesis is watched from the first slot
 * of its window to the last. Most prices break none, and need no look at the theses; one at 100,000
 * takes about 2 ms.
 */
export class BreachWatch {
  /**
   * Watched theses, including those whose window has not begun. One that is settled early, by a
   * backfill, stays until its window ends or a price breaks it: that settles it no second time.
   */
  readonly #watched = new Set<Thesis>();
  /** Before this time no price from `#lower` to `#upper` breaks a thesis. */
  #safeUntilMs = Infinity;
  #lower: bigint | undefined;
  #upper: bigint | undefined;

  add(thesis: Thesis): void {
    this.#watched.add(thesis);
    this.#safeUntilMs = Math.min(this.#safeUntilMs, thesis.startTime);
  }

  /**
   * Removes and returns the theses whose range does not contain the price of a slot.
   *
   * @param time Later than in all calls before.
   */
  removeBroken(time: number, price: bigint): Thesis[] {
    if (time < this.#safeUntilMs && !isOutside(price, this.#lower, this.#upper)) return [];
    const broken: Thesis[] = [];
    this.#safeUntilMs = Infinity;
    this.#lower = this.#upper = undefined;
    for (const thesis of this.#watched) {
      const { startTime, endTime, lowerPrice, upperPrice } = thesis;
      if (time < startTime) {
        this.#safeUntilMs = Math.min(this.#safeUntilMs, startTime);
      } else if (time >= endTime) {
        this.#watched.delete(thesis);
      } else if (isOutside(price, lowerPrice, upperPrice)) {
        this.#watched.delete(thesis);
        broken.push(thesis);
      } else {
        if (this.#lower === undefined || lowerPrice > this.#lower) this.#lower = lowerPrice;
        if (this.#upper === undefined || upperPrice < this.#upper) this.#upper = upperPrice;
      }
    }
    return broken;
  }
}

function isOutside(price: bigint, lower: bigint | undefined, upper: bigint | undefined): boolean {
  return lower !== undefined && price < lower || upper !== undefined && price > upper;
}
