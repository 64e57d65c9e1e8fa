import { setImmediate } from "node:timers";
import { RangemakerError } from "../../../lib/errors.ts";

/** Tasks that may wait: with 2,000 transactions a second, the last of them waits for half a second. */
export const WAITING_MAX = 1_024;

/** {@link WAITING_MAX} tasks wait already. */
export class NodeBusyError extends RangemakerError {
  constructor() {
    super("NODE_BUSY", `The node is busy: ${WAITING_MAX} requests wait already, try again later`, {
      retryable: true,
    });
  }
}

/**
 * Runs costly tasks one at a time, with a turn of the event loop between two of them, so that timers
 * and sockets are served however many tasks there are. Nothing runs while it is closed.
 */
export class SerialQueue {
  readonly #waiting: (() => void)[] = [];
  readonly #nextTurn: (task: () => void) => void;
  #isClosed = false;
  #isTurning = false;

  /** @param nextTurn Runs a task after what the event loop has to do now. */
  constructor(nextTurn: (task: () => void) => void = setImmediate) {
    this.#nextTurn = nextTurn;
  }

  /** Tasks that wait. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /**
   * Runs a task when its turn comes; rejects with what the task throws.
   *
   * @throws {NodeBusyError} If {@link WAITING_MAX} tasks wait already.
   */
  run<T>(task: () => T): Promise<T> {
    if (this.#waiting.length >= WAITING_MAX) return Promise.reject(new NodeBusyError());
    return new Promise((resolve, reject) => {
      this.#waiting.push(() => {
        try {
          resolve(task());
        } catch (thrown) {
          reject(thrown);
        }
      });
      this.#turn();
    });
  }

  /** Stays closed until the promise is settled. */
  async closedDuring<T>(run: () => Promise<T>): Promise<T> {
    this.#isClosed = true;
    try {
      return await run();
    } finally {
      this.#isClosed = false;
      this.#turn();
    }
  }

  #turn(): void {
    if (this.#isTurning || this.#isClosed || this.#waiting.length === 0) return;
    this.#isTurning = true;
    this.#nextTurn(() => {
      this.#isTurning = false;
      if (!this.#isClosed) this.#waiting.shift()?.();
      this.#turn();
    });
  }
}
