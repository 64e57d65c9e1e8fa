import { clearImmediate, setImmediate } from "node:timers";
import { StoreError } from "./intent.ts";

/** Most writes that wait for one commit; further ones are refused. */
export const WRITES_WAITING_MAX = 10_000;

interface Waiting {
  write: () => unknown;
  resolve: (value: unknown) => void;
  reject: (cause: unknown) => void;
}

/**
 * Group commit: the writes of one turn of the event loop form one transaction and share one flush to
 * the disk. Each write resolves when its transaction is committed.
 */
export class WriteQueue {
  readonly #commit: (run: () => void) => void;
  #waiting: Waiting[] = [];
  #next: ReturnType<typeof setImmediate> | undefined;

  /** @param commit Runs a function as a durable transaction, or rolls back and throws. */
  constructor(commit: (run: () => void) => void) {
    this.#commit = commit;
  }

  /** Queues a write. @throws {StoreError} If too many are waiting or the commit fails. */
  run<T>(write: () => T): Promise<T> {
    if (this.#waiting.length >= WRITES_WAITING_MAX) {
      return Promise.reject(
        new StoreError(`Store is busy: ${WRITES_WAITING_MAX} writes are waiting`),
      );
    }
    return new Promise<T>((resolve, reject) => {
      // `flush` calls resolve with the result of this very write.
      this.#waiting.push({ write, resolve: resolve as (value: unknown) => void, reject });
      this.#next ??= setImmediate(() => this.flush());
    });
  }

  /** Commits the waiting writes now. */
  flush(): void {
    clearImmediate(this.#next);
    this.#next = undefined;
    const batch = this.#waiting;
    this.#waiting = [];
    if (batch.length === 0) return;
    const values: unknown[] = [];
    try {
      this.#commit(() => {
        for (const { write } of batch) values.push(write());
      });
    } catch (cause) {
      for (const { reject } of batch) reject(cause);
      return;
    }
    batch.forEach(({ resolve }, index) => resolve(values[index]));
  }
}
