import { RangemakerError } from "../../../lib/errors.ts";
import { type ByteBudget, SMALL_BYTES } from "../shared/limits.ts";

/** The largest answer of a node, over HTTP and over its WebSocket. */
export const REPLY_BYTES_MAX = 64 * 1024 * 1024;

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

/**
 * The body of an answer as it arrives. Its chunks are decoded at once: they are parts of larger
 * buffers, which would stay in memory with them.
 */
export class ReplyBody {
  readonly #budget: ByteBudget;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** Bytes counted in the budget: all of a large body. */
  #budgeted = 0;
  #bytes = 0;
  #text = "";

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
  expect(bytes: number): void {
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

  /** Adds the next chunk. @throws As {@link expect}. */
  add(chunk: Uint8Array): void {
    this.expect(this.#bytes + chunk.length);
    this.#bytes += chunk.length;
    this.#text += this.#decoder.decode(chunk, { stream: true });
  }

  /** Returns the text (JSON is UTF-8) and frees its bytes in the budget. */
  end(): string {
    const text = this.#text + this.#decoder.decode();
    this.clear();
    return text;
  }

  clear(): void {
    this.#budget.remove(this.#budgeted);
    this.#budgeted = this.#bytes = 0;
    this.#text = "";
    this.#decoder.decode(); // forgets half a character
  }
}
