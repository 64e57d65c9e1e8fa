import { StoreError } from "./errors.ts";

/** Most waiting items; further items are refused. */
export const ITEMS_WAITING_MAX = 10_000;

interface Waiting<T, R> {
  item: T;
  resolve: (result: R) => void;
  reject: (cause: unknown) => void;
}

/** Group commit: while `concurrency` batches run, further items wait and form the next batch. */
export class Batches<T, R> {
  readonly #sizeMax: number;
  readonly #run: (take: () => T[]) => Promise<R[]>;
  readonly #concurrency: number;
  readonly #waiting: Waiting<T, R>[] = [];
  #running = 0;
  #ended: Promise<void> = Promise.resolve();

  /**
   * @param run Runs one batch. It calls `take` once, when it is ready to write: items that were
   *   added before belong to the batch. Returns a result for each; if it throws, all of them fail.
   * @param concurrency Most batches that run at the same time.
   */
  constructor(sizeMax: number, run: (take: () => T[]) => Promise<R[]>, concurrency = 1) {
    this.#sizeMax = sizeMax;
    this.#run = run;
    this.#concurrency = concurrency;
  }

  /** Adds an item. @returns The result of its batch. @throws {StoreError} If too many wait. */
  add(item: T): Promise<R> {
    if (this.#waiting.length >= ITEMS_WAITING_MAX) {
      const message = `Store is busy: ${ITEMS_WAITING_MAX} requests are waiting`;
      return Promise.reject(new StoreError(message));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (this.#running < this.#concurrency) {
        // Without `then`, each promise would keep the results of all before it.
        this.#ended = Promise.all([this.#ended, this.#runAll()]).then(() => {});
      }
    });
  }

  /** Resolves when all items that were added have their result. */
  async idle(): Promise<void> {
    await this.#ended;
  }

  async #runAll(): Promise<void> {
    this.#running += 1;
    while (this.#waiting.length > 0) await this.#runBatch();
    this.#running -= 1;
  }

  async #runBatch(): Promise<void> {
    let batch: Waiting<T, R>[] = [];
    const take = () => {
      batch = this.#waiting.splice(0, this.#sizeMax);
      return batch.map(({ item }) => item);
    };
    try {
      const results = await this.#run(take);
      batch.forEach(({ resolve }, index) => resolve(results[index]!)); // one for each
    } catch (cause) {
      if (batch.length === 0) take();
      for (const { reject } of batch) reject(cause);
    }
  }
}
