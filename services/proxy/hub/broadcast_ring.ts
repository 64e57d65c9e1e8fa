/**
 * The newest `capacity` messages of a broadcast, numbered from 0 without gaps. Readers keep their
 * own position, so memory does not grow with their number.
 */
export class BroadcastRing<T> {
  readonly #slots: (T | undefined)[] = [];
  readonly #capacity: number;
  #start = 0;
  #end = 0;

  /** @param capacity A whole number of at least 1. */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get end(): number {
    return this.#end;
  }

  /** Number of the oldest message kept; equal to {@link end} while empty. */
  get start(): number {
    return this.#start;
  }

  /** Adds a message. @returns The one that it replaced. */
  push(message: T): T | undefined {
    const slot = this.#end % this.#capacity;
    const replaced = this.#slots[slot];
    this.#slots[slot] = message;
    if (this.#end - this.#start === this.#capacity) this.#start += 1;
    this.#end += 1;
    return replaced;
  }

  /** The message with that number; undefined if it was overwritten or does not exist yet. */
  at(position: number): T | undefined {
    if (position < this.#start || position >= this.#end) return undefined;
    return this.#slots[position % this.#capacity];
  }

  /**
   * Deletes all messages. Call it when no reader needs them any more: the garbage collector frees
   * messages that live for one turn of the event loop at almost no cost.
   */
  clear(): void {
    for (; this.#start < this.#end; this.#start += 1) {
      this.#slots[this.#start % this.#capacity] = undefined;
    }
  }
}
