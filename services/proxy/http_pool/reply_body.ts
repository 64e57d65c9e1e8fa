import { Buffer } from "node:buffer";

/** The largest answer of a node: the same as over its WebSocket. */
export const REPLY_BYTES_MAX = 64 * 1024 * 1024;

/** The answer of a node. */
export interface NodeReply {
  status: number;
  body: string;
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** The bytes of an answer as text; JSON is UTF-8. */
export function bodyOf(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** The body of an answer as text. */
export function bodyText(body: Uint8Array | string): string {
  return typeof body === "string" ? body : decoder.decode(body);
}

const FIRST_CAPACITY = 4_096;

/**
 * Appends bytes to one buffer that doubles when it is full. So neither the
 * chunks of a body nor the larger buffers in which they arrived stay in memory.
 */
export class GrowingBytes {
  #bytes: Buffer<ArrayBuffer>;
  #length = 0;

  /** @param expected Length of the body, if known: the buffer then never has to grow. */
  constructor(expected = 0) {
    this.#bytes = Buffer.alloc(expected);
  }

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

  /** All bytes so far, without a copy. */
  joined(): Buffer<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
  }
}
