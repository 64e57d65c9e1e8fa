import { Buffer } from "node:buffer";
import { RangemakerError } from "../../../lib/errors.ts";
import { type ByteBudget, SMALL_BYTES } from "../shared/limits.ts";

/** The largest answer of a node, over HTTP and over its WebSocket. */
export const REPLY_BYTES_MAX = 64 * 1024 * 1024;

const FIRST_CAPACITY = 4_096;

/**
 * The proxy did not wait for an answer, or rejected it. `busy`: too many requests to the node are
 * open. `timeout`: the answer was late. `abandoned`: the node does not respond. `memory`: too many
 * bytes are in memory. `invalid`: the answer is not acceptable.
 */
export class ReplyError extends RangemakerError {
  readonly kind: "busy" | "timeout" | "abandoned" | "memory" | "invalid";

  constructor(kind: ReplyError["kind"], message: string) {
    super("NODE_REPLY", message);
    this.kind = kind;
  }
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * The body of an answer as it arrives. Its bytes are copied to one buffer, which doubles when it is
 * full. The chunks, and the larger buffers that contain them, do not stay in memory.
 */
export class ReplyBody {
  readonly #budget: ByteBudget;
  /** Bytes counted in the budget: all of a large body. */
  #budgeted = 0;
  /** The first chunk, which is usually all of it; then a larger copy. */
  #bytes: Uint8Array = Buffer.alloc(0);
  #length = 0;

  /** @param budget Counts the bytes of large answers while they are read. */
  constructor(budget: ByteBudget) {
    this.#budget = budget;
  }

  /**
   * Reserves space for a body of a known length, before any of it is in memory.
   *
   * @throws {ReplyError} If it is over {@link REPLY_BYTES_MAX}, or too many bytes of answers are in
   *   memory.
   */
  reserve(bytes: number): void {
    if (bytes > REPLY_BYTES_MAX) {
      throw new ReplyError("invalid", `Answer is over ${REPLY_BYTES_MAX} bytes`);
    }
    const more = bytes - this.#budgeted;
    if (bytes <= SMALL_BYTES || more <= 0) return;
    if (!this.#budget.fitsLarge(more)) {
      const { max } = this.#budget;
      const message = `Answers waiting in memory are at their limit of ${max} bytes`;
      throw new ReplyError("memory", message);
    }
    this.#budget.add(more);
    this.#budgeted = bytes;
  }

  /** Adds the next chunk. @throws As {@link reserve}. */
  add(chunk: Uint8Array): void {
    const start = this.#length;
    const length = start + chunk.length;
    this.reserve(length);
    if (start === 0) this.#bytes = chunk;
    else {
      if (length > this.#bytes.length) {
        const capacity = Math.max(length, this.#budgeted, this.#bytes.length * 2, FIRST_CAPACITY);
        const larger = Buffer.alloc(capacity);
        larger.set(this.#bytes.subarray(0, start));
        this.#bytes = larger;
      }
      this.#bytes.set(chunk, start);
    }
    this.#length = length;
  }

  /** Returns the text (JSON is UTF-8) and frees its bytes in the budget. */
  end(): string {
    const text = decoder.decode(this.#bytes.subarray(0, this.#length));
    this.clear();
    return text;
  }

  clear(): void {
    this.#budget.remove(this.#budgeted);
    this.#budgeted = this.#length = 0;
    this.#bytes = Buffer.alloc(0);
  }
}
