import { setImmediate } from "node:timers";
import { type ByteBudget, SMALL_BYTES } from "../byte_budget.ts";

/**
 * Lets one large reply to a batch be taken apart in a turn of the event loop. That takes 10 ms for
 * 768 KiB, and the batches of one caller may all be answered at once: notifications and the reads of
 * others come in between.
 */
export class SplitTurns {
  readonly #budget: ByteBudget;
  #last: Promise<void> = Promise.resolve();

  /** @param budget Counts the replies that wait. */
  constructor(budget: ByteBudget) {
    this.#budget = budget;
  }

  /** Resolves when a reply of so many bytes may be taken apart. */
  async next(bytes: number): Promise<void> {
    if (bytes <= SMALL_BYTES) return;
    this.#budget.add(bytes);
    this.#last = this.#last.then(() => new Promise((resolve) => setImmediate(resolve)));
    await this.#last;
    this.#budget.remove(bytes);
  }
}
