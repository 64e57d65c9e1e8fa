import { Buffer } from "node:buffer";

const FIRST_CAPACITY = 4_096;

/**
 * Bytes put one after the other into one piece of memory that doubles when it is full: what is kept
 * does not depend on how many parts there were, nor on how large the buffers are that they came in.
 */
export class GrowingBytes {
  #bytes: Buffer<ArrayBuffer> = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(part: Uint8Array): void {
    const length = this.#length + part.length;
    if (length > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(length, this.#bytes.length * 2, FIRST_CAPACITY));
      larger.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = larger;
    }
    this.#bytes.set(part, this.#length);
    this.#length = length;
  }

  /** All bytes so far; they are not copied. */
  joined(): Buffer<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
  }
}
