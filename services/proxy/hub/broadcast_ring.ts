/**
 * The newest `capacity` messages of a broadcast, numbered from 0 without gaps. Readers keep their own
 * position, so memory does not grow with their number.
 */
export class BroadcastRing<T> {
  readonly #slots: T[] = [];
  readonly #capacity: number;
  #next = 0;

  /** @throws {RangeError} If `capacity` is not a whole number of at least 1. */
  constructor(capacity: number) {
    if (!Number.isSafeInteger(capacity) || capacity < 1) {
      throw new RangeError(`Ring capacity must be a whole number of at least 1: ${capacity}`);
    }
    this.#capacity = capacity;
  }

  /** Number of the next message. */
  get end(): number {
    return this.#next;
  }

  /** Number of the oldest message kept; equal to {@link end} while empty. */
  get start(): number {
    return this.#next - this.#slots.length;
  }

  /** Adds a message. @returns The one that it replaced. */
  push(message: T): T | undefined {
    const slot = this.#next % this.#capacity;
    const evicted = this.#slots[slot];
    this.#slots[slot] = message;
    this.#next += 1;
    return evicted;
  }

  /** The message with that number; undefined if it was replaced or has not come. */
  at(position: number): T | undefined {
    if (position < this.start || position >= this.#next) return undefined;
    return this.#slots[position % this.#capacity];
  }
}
