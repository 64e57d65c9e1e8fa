import { setImmediate } from "node:timers";
import { type ByteBudget, SMALL_BYTES } from "../byte_budget.ts";

/**
 * Allows one large reply to a batch to be split per turn of the event loop. Splitting 768 KiB takes 10
 * ms, and all batches of one caller may be answered at once: notifications and other callers' reads
 * are served in between.
 */
export class SplitTurns {
  readonly #budget: ByteBudget;
  #last: Promise<void> = Promise.resolve();

  /** @param budget Counts the replies that wait. */
  constructor(budget: ByteBudget) {
    this.#budget = budget;
  }

  /** Resolves when a reply of so many bytes may be split. */
  async next(bytes: number): Promise<void> {
    if (bytes <= SMALL_BYTES) return;
    this.#budget.add(bytes);
    this.#last = this.#last.then(() => new Promise((resolve) => setImmediate(resolve)));
    await this.#last;
    this.#budget.remove(bytes);
  }
}
