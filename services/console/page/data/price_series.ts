import { lowerBound } from "../../../../lib/lower_bound.ts";

/** Most slots of a market that the page keeps: 1.8 h. */
export const POINTS_MAX = 65_536;

/** Slots that are removed at once: removing the start of an array moves all the rest. */
const TRIM = 4_096;

/** How far back {@link PriceSeries.secondMove} looks. */
const MOVE_MS = 60_000;

/** Fewest changes that {@link PriceSeries.secondMove} needs. */
const MOVES_MIN = 10;

/** The price of a slot, in units of the quote token. Only for drawing. */
export interface Point {
  time: number;
  price: number;
}

/** Prices of one market in chronological order, one per slot. */
export class PriceSeries {
  times: number[] = [];
  prices: number[] = [];
  /** Counts changes. */
  version = 0;

  /** Adds the price of the newest slot. A second price of the same slot replaces the first. */
  append(time: number, price: number): void {
    const newest = this.times.at(-1) ?? -Infinity;
    if (time < newest) return;
    if (time === newest) this.prices[this.prices.length - 1] = price;
    else {
      this.times.push(time);
      this.prices.push(price);
    }
    if (this.times.length > POINTS_MAX + TRIM) {
      this.times.splice(0, TRIM);
      this.prices.splice(0, TRIM);
    }
    this.version += 1;
  }

  /** Merges recorded prices, oldest first. They replace live prices. */
  merge(recorded: readonly Point[]): void {
    const byTime = new Map(this.times.map((time, index) => [time, this.prices[index]!]));
    for (const { time, price } of recorded) byTime.set(time, price);
    this.times = [...byTime.keys()].sort((a, b) => a - b).slice(-POINTS_MAX);
    this.prices = this.times.map((time) => byTime.get(time)!);
    this.version += 1;
  }

  /** Index of the first point at or after a time; the length if there is none. */
  indexAt(time: number): number {
    return lowerBound(this.times, time);
  }

  /**
   * Standard deviation of the price's change in one second, as a share of the price, over the last
   * minute. Undefined with less than ten seconds of prices.
   */
  secondMove(): number | undefined {
    const newest = this.times.at(-1) ?? 0;
    let [sum, count] = [0, 0];
    for (let time = newest - MOVE_MS; time < newest; time += 1_000) {
      const [from, to] = [this.indexAt(time), this.indexAt(time + 1_000)];
      if (this.times[from] !== time || this.times[to] !== time + 1_000) continue; // a gap
      sum += (this.prices[to]! / this.prices[from]! - 1) ** 2;
      count += 1;
    }
    return count < MOVES_MIN ? undefined : Math.sqrt(sum / count);
  }
}
