interface Waiting<T, R> {
  item: T;
  resolve: (result: R) => void;
  reject: (cause: unknown) => void;
}

/** Group commit: items that wait while a batch runs form the next one. */
export class Batches<T, R> {
  readonly #sizeMax: number;
  readonly #run: (take: () => T[]) => Promise<R[]>;
  readonly #waiting: Waiting<T, R>[] = [];
  #isRunning = false;

  /**
   * @param run Runs one batch. It calls `take` once, when it can begin: until then, items join. Returns
   * a result for each; if it throws, all items of the batch fail.
   */
  constructor(sizeMax: number, run: (take: () => T[]) => Promise<R[]>) {
    this.#sizeMax = sizeMax;
    this.#run = run;
  }

  /** Number of items whose batch has not begun. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Adds an item. @returns Its result, once its batch is done. */
  add(item: T): Promise<R> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (!this.#isRunning) void this.#runAll();
    });
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) await this.#runBatch();
    this.#isRunning = false;
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
