import TinyQueue from "tinyqueue";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import { Schedule } from "./schedule.ts";

/** Ended theses may outnumber the watched ones in a queue by this many before it is rebuilt. */
const STALE_MAX = 1_000;

type Comparator = (a: Thesis, b: Thesis) => number;

/** The highest lower bound first, which a falling price breaks first. */
const byLower: Comparator = (a, b) => compare(b.lowerPrice, a.lowerPrice);
/** The lowest upper bound first. */
const byUpper: Comparator = (a, b) => compare(a.upperPrice, b.upperPrice);

/**
 * Finds the open theses of one market that a price breaks, without looking at the others: their
 * bounds are in heaps. A thesis is watched from the first slot of its window to the last.
 */
export class BreachWatch {
  /** Ids of watched theses, also of those whose window has not begun. */
  readonly #watched = new Set<number>();
  readonly #starts = new Schedule<Thesis>();
  /** Theses whose window has begun. Those that are no longer watched stay until they come first. */
  #lower = new TinyQueue<Thesis>([], byLower);
  #upper = new TinyQueue<Thesis>([], byUpper);

  add(thesis: Thesis): void {
    this.#watched.add(thesis.id);
    this.#starts.add(thesis.startTime, thesis);
  }

  /** Stops watching a settled thesis. */
  remove(id: number): void {
    this.#watched.delete(id);
  }

  /** Removes and returns the theses whose range does not contain the price of a slot. */
  broken(time: number, price: bigint): Thesis[] {
    for (const thesis of this.#starts.take(time)) {
      this.#lower.push(thesis);
      this.#upper.push(thesis);
    }
    const broken = [
      ...this.#popWhile(this.#lower, time, ({ lowerPrice }) => price < lowerPrice),
      ...this.#popWhile(this.#upper, time, ({ upperPrice }) => price > upperPrice),
    ];
    for (const { id } of broken) this.#watched.delete(id);
    this.#lower = this.#withoutStale(this.#lower, byLower);
    this.#upper = this.#withoutStale(this.#upper, byUpper);
    return broken;
  }

  /** Removes theses from the front of a queue; returns those that are watched and in their window. */
  #popWhile(
    queue: TinyQueue<Thesis>,
    time: number,
    isBroken: (thesis: Thesis) => boolean,
  ): Thesis[] {
    const broken: Thesis[] = [];
    for (let next = queue.peek(); next !== undefined; next = queue.peek()) {
      const isWatched = this.#watched.has(next.id) && time < next.endTime;
      if (isWatched && !isBroken(next)) break;
      queue.pop();
      if (isWatched) broken.push(next);
    }
    return broken;
  }

  #withoutStale(queue: TinyQueue<Thesis>, order: Comparator): TinyQueue<Thesis> {
    if (queue.length <= 2 * this.#watched.size + STALE_MAX) return queue;
    return new TinyQueue(queue.data.filter(({ id }) => this.#watched.has(id)), order);
  }
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
