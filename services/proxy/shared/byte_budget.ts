/**
 * Answers up to this size may use the whole budget. Larger ones stop at {@link LARGE_SHARE}, so
 * that a few callers of huge answers cannot crowd out plain reads.
 */
export const SMALL_BYTES = 64 * 1024;

/** The part of a budget that answers over {@link SMALL_BYTES} may use together. */
export const LARGE_SHARE = 0.75;

/** Bytes that the whole process may hold for its callers (`--max-buffered-bytes`). */
export class ByteBudget {
  readonly max: number;
  #used = 0;

  constructor(max: number) {
    this.max = max;
  }

  get used(): number {
    return this.#used;
  }

  /** Whether this many more bytes of a small answer fit. */
  fits(bytes: number): boolean {
    return this.#used + bytes <= this.max;
  }

  /** Whether this many more bytes fit next to the part that is reserved for small answers. */
  fitsLarge(bytes: number): boolean {
    return this.#used + bytes <= this.max * LARGE_SHARE;
  }

  add(bytes: number): void {
    this.#used += bytes;
  }

  /** Counts bytes as free again. */
  remove(bytes: number): void {
    this.#used -= bytes;
  }
}
