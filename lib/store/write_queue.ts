import { clearImmediate, setImmediate } from "node:timers";
import { StoreError } from "./intent.ts";

/** Writes that may wait for one commit; beyond it the store says that it is busy. */
export const WRITES_WAITING_MAX = 10_000;

interface Waiting {
  write: () => unknown;
  resolve: (value: unknown) => void;
  reject: (cause: unknown) => void;
}

/**
 * Joins the writes of one turn of the event loop into one transaction, so that they share one flush
 * to the disk. Each write resolves when the transaction that holds it has been committed.
 */
export class WriteQueue {
  readonly #commit: (run: () => void) => void;
  #waiting: Waiting[] = [];
  #next: ReturnType<typeof setImmediate> | undefined;

  /** @param commit Runs a function inside a durable transaction, or throws having undone it. */
  constructor(commit: (run: () => void) => void) {
    this.#commit = commit;
  }

  /** Queues a write. @throws {StoreError} Where too many wait, or the commit fails. */
  run<T>(write: () => T): Promise<T> {
    if (this.#waiting.length >= WRITES_WAITING_MAX) {
      return Promise.reject(
        new StoreError(`Store is busy: ${WRITES_WAITING_MAX} writes are waiting`),
      );
    }
    return new Promise<T>((resolve, reject) => {
      // The value handed to resolve is what this very write returned.
      this.#waiting.push({ write, resolve: resolve as (value: unknown) => void, reject });
      this.#next ??= setImmediate(() => this.flush());
    });
  }

  /** Commits what waits, now. */
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
