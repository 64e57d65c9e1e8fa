/**
 * The newest messages of a broadcast, numbered from 0 without gaps. It keeps `capacity` of them; the
 * oldest gives way to the newest. Readers keep their own position, so that its memory does not grow
 * with their number.
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

  /** Number that the next message will get. */
  get end(): number {
    return this.#next;
  }

  /** Number of the oldest message that is still there; equal to {@link end} while empty. */
  get start(): number {
    return this.#next - this.#slots.length;
  }

  /** Adds a message. @returns The one that gave way to it. */
  push(message: T): T | undefined {
    const slot = this.#next % this.#capacity;
    const evicted = this.#slots[slot];
    this.#slots[slot] = message;
    this.#next += 1;
    return evicted;
  }

  /** The message of that number, or undefined where it is gone or has not come. */
  at(position: number): T | undefined {
    if (position < this.start || position >= this.#next) return undefined;
    return this.#slots[position % this.#capacity];
  }
}
