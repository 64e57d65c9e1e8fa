import { setImmediate } from "node:timers/promises";
import { StoreError } from "./intent.ts";

/** Most writes that wait for one commit; further ones are refused. */
export const WRITES_WAITING_MAX = 10_000;

interface Waiting {
  write: () => unknown;
  resolve: (value: unknown) => void;
  reject: (cause: unknown) => void;
}

/** How a {@link WriteQueue} makes its writes durable. */
export interface WriteQueueOptions {
  /** Runs a function as a transaction, or rolls back and throws. */
  commit(run: () => void): void;
  /** Resolves when all that is committed is on the disk. It does not block. */
  flush(): Promise<void>;
}

/**
 * Group commit: the writes of one turn of the event loop, and those that arrive during a flush, form
 * one transaction and share one flush to the disk. Each write resolves when it is on the disk.
 */
export class WriteQueue {
  readonly #options: WriteQueueOptions;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  #flushing: Promise<void> | undefined;

  constructor(options: WriteQueueOptions) {
    this.#options = options;
  }

  /** Queues a write. @throws {StoreError} If too many are waiting, or the commit or flush fails. */
  run<T>(write: () => T): Promise<T> {
    if (this.#waiting.length >= WRITES_WAITING_MAX) {
      return Promise.reject(
        new StoreError(`Store is busy: ${WRITES_WAITING_MAX} writes are waiting`),
      );
    }
    return new Promise<T>((resolve, reject) => {
      // The batch calls resolve with the result of this very write.
      this.#waiting.push({ write, resolve: resolve as (value: unknown) => void, reject });
      this.#running ??= this.#runBatches();
    });
  }

  /** Resolves when all that is committed now is on the disk. Throws what its flush throws. */
  async flushed(): Promise<void> {
    await this.#flushing;
  }

  /** Resolves when no write is waiting. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #runBatches(): Promise<void> {
    while (this.#waiting.length > 0) {
      await setImmediate();
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        const values = this.#commit(batch);
        this.#flushing = this.#options.flush();
        await this.#flushing;
        batch.forEach(({ resolve }, index) => resolve(values[index]));
      } catch (cause) {
        for (const { reject } of batch) reject(cause);
      }
      this.#flushing = undefined;
    }
    this.#running = undefined;
  }

  #commit(batch: readonly Waiting[]): unknown[] {
    const values: unknown[] = [];
    this.#options.commit(() => {
      for (const { write } of batch) values.push(write());
    });
    return values;
  }
}
