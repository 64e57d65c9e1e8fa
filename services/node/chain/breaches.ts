import TinyQueue from "tinyqueue";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import { Schedule } from "./schedule.ts";

/** A heap is cleaned when it has this many entries more than twice the number of watched theses. */
const STALE_MAX = 1_000;

/** Theses removed from a heap one by one at a slot: beyond that, rebuilding it is faster. */
const POPS_MAX = 1_000;

/**
 * Finds the open theses of one market that a price breaks. Bounds are in heaps, so that it does not
 * check all theses. A thesis is watched from the first slot of its window to the last.
 */
export class BreachWatch {
  /** Ids of watched theses, including those whose window has not begun. */
  readonly #watched = new Set<number>();
  /** The highest lower bound first, which a falling price breaks first. */
  readonly #lower = new Bounds(this.#watched, ({ lowerPrice }) => -lowerPrice);
  /** The lowest upper bound first. */
  readonly #upper = new Bounds(this.#watched, ({ upperPrice }) => upperPrice);

  add(thesis: Thesis): void {
    this.#watched.add(thesis.id);
    this.#lower.add(thesis);
    this.#upper.add(thesis);
  }

  /** Stops watching a settled thesis. */
  remove(id: number): void {
    this.#watched.delete(id);
    this.#lower.compact();
    this.#upper.compact();
  }

  /** Removes and returns the theses whose range does not contain the price of a slot. */
  removeBroken(time: number, price: bigint): Thesis[] {
    const broken = [
      ...this.#lower.removeBelow(-price, time),
      ...this.#upper.removeBelow(price, time),
    ];
    for (const { id } of broken) this.#watched.delete(id);
    return broken;
  }
}

interface Entry {
  bound: bigint;
  thesis: Thesis;
}

/** One bound of the watched theses, the lowest first. Other theses are removed later. */
class Bounds {
  readonly #watched: ReadonlySet<number>;
  readonly #boundOf: (thesis: Thesis) => bigint;
  #queue = queueOf([]);
  /** Entries whose bound a price passed before their window began, by the start of the window. */
  readonly #early = new Schedule<Entry>();

  constructor(watched: ReadonlySet<number>, boundOf: (thesis: Thesis) => bigint) {
    this.#watched = watched;
    this.#boundOf = boundOf;
  }

  add(thesis: Thesis): void {
    this.#queue.push({ bound: this.#boundOf(thesis), thesis });
  }

  /**
   * Removes entries with a bound below a value.
   *
   * @returns Their theses that are watched and in their window.
   */
  removeBelow(value: bigint, time: number): Thesis[] {
    for (const entry of this.#early.removeDue(time)) this.#queue.push(entry);
    const broken: Thesis[] = [];
    const isKept = (entry: Entry) => {
      const { bound, thesis } = entry;
      if (bound >= value) return true;
      if (!this.#watched.has(thesis.id) || time >= thesis.endTime) return false;
      if (time < thesis.startTime) this.#early.add(thesis.startTime, entry);
      else broken.push(thesis);
      return false;
    };
    let pops = 0;
    for (let next = this.#queue.peek(); next !== undefined; next = this.#queue.peek()) {
      if (pops === POPS_MAX) {
        this.#queue = queueOf(this.#queue.data.filter(isKept));
        break;
      }
      if (isKept(next)) break;
      this.#queue.pop();
      pops += 1;
    }
    return broken;
  }

  /** Deletes theses that are no longer watched, once there are too many of them. */
  compact(): void {
    if (this.#queue.length <= 2 * this.#watched.size + STALE_MAX) return;
    this.#queue = queueOf(this.#queue.data.filter(({ thesis }) => this.#watched.has(thesis.id)));
  }
}

function queueOf(entries: Entry[]): TinyQueue<Entry> {
  return new TinyQueue(entries, (a, b) => a.bound < b.bound ? -1 : a.bound > b.bound ? 1 : 0);
}
