import TinyQueue from "tinyqueue";
import type { Thesis } from "../../../lib/protocol/thesis.ts";

/** Ended theses may outnumber the watched ones in the queues by this many before they are rebuilt. */
const STALE_MAX = 1_000;

/** Theses in an order. */
type Queue = TinyQueue<Thesis>;

const byStart = (a: Thesis, b: Thesis) => a.startTime - b.startTime;
const byEnd = (a: Thesis, b: Thesis) => a.endTime - b.endTime;
/** The highest lower bound first, which a falling price breaks first. */
const byLower = (a: Thesis, b: Thesis) => compare(b.lowerPrice, a.lowerPrice);
/** The lowest upper bound first. */
const byUpper = (a: Thesis, b: Thesis) => compare(a.upperPrice, b.upperPrice);

/**
 * Finds the open theses of one market that a price breaks, without looking at the others: their
 * bounds are in heaps. A thesis is watched from the first slot of its window to the last.
 */
export class BreachWatch {
  /** Watched theses, also those whose window has not begun. */
  readonly #watched = new Map<number, Thesis>();
  #starts: Queue = new TinyQueue([], byStart);
  #ends: Queue = new TinyQueue([], byEnd);
  /** Of theses whose window has begun. */
  #lower: Queue = new TinyQueue([], byLower);
  #upper: Queue = new TinyQueue([], byUpper);

  /** Number of watched theses. */
  get size(): number {
    return this.#watched.size;
  }

  add(thesis: Thesis): void {
    this.#watched.set(thesis.id, thesis);
    this.#starts.push(thesis);
    this.#ends.push(thesis);
  }

  /** Stops watching a settled thesis. It stays in the queues until they reach it. */
  remove(id: number): void {
    this.#watched.delete(id);
  }

  /** Removes and returns the theses whose range does not contain the price of a slot. */
  broken(time: number, price: bigint): Thesis[] {
    this.#beginWindows(time);
    this.#endWindows(time);
    const broken = [
      ...this.#popWhile(this.#lower, ({ lowerPrice }) => price < lowerPrice),
      ...this.#popWhile(this.#upper, ({ upperPrice }) => price > upperPrice),
    ];
    for (const { id } of broken) this.#watched.delete(id);
    if (this.#ends.length > 2 * this.#watched.size + STALE_MAX) this.#rebuild();
    return broken;
  }

  #beginWindows(time: number): void {
    for (const thesis of this.#popWhile(this.#starts, ({ startTime }) => startTime <= time)) {
      this.#lower.push(thesis);
      this.#upper.push(thesis);
    }
  }

  #endWindows(time: number): void {
    for (const { id } of this.#popWhile(this.#ends, ({ endTime }) => endTime <= time)) {
      this.#watched.delete(id);
    }
  }

  /** Removes theses from the front of a queue; returns those that are still watched. */
  #popWhile(queue: Queue, isDue: (thesis: Thesis) => boolean): Thesis[] {
    const due: Thesis[] = [];
    for (let next = queue.peek(); next !== undefined; next = queue.peek()) {
      const isWatched = this.#watched.has(next.id);
      if (isWatched && !isDue(next)) break;
      queue.pop();
      if (isWatched) due.push(next);
    }
    return due;
  }

  #rebuild(): void {
    const watched = ({ data }: Queue) => data.filter(({ id }) => this.#watched.has(id));
    this.#starts = new TinyQueue(watched(this.#starts), byStart);
    this.#ends = new TinyQueue(watched(this.#ends), byEnd);
    this.#lower = new TinyQueue(watched(this.#lower), byLower);
    this.#upper = new TinyQueue(watched(this.#upper), byUpper);
  }
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
