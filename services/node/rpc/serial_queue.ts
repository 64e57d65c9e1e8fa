import { setImmediate } from "node:timers";
import { RangemakerError } from "../../../lib/errors.ts";

/** Tasks that may wait in each lane: 1,024 transactions take about half a second. */
export const WAITING_MAX = 1_024;

/** While both lanes have tasks, every fourth turn is for a read. */
const TURNS_PER_READ = 4;

/** {@link WAITING_MAX} tasks wait already. */
export class NodeBusyError extends RangemakerError {
  constructor() {
    super("NODE_BUSY", `The node is busy: ${WAITING_MAX} requests wait already, try again later`, {
      retryable: true,
    });
  }
}

/** Reads wait apart from writes, so that no number of reads delays or displaces a write. */
export type Lane = "write" | "read";

/**
 * Runs costly tasks one at a time, with a turn of the event loop between two of them, so that timers
 * and sockets are served however many tasks there are. Nothing runs while it is closed.
 */
export class SerialQueue {
  readonly #lanes: Readonly<Record<Lane, (() => void)[]>> = { write: [], read: [] };
  readonly #nextTurn: (task: () => void) => void;
  #isClosed = false;
  #isTurning = false;
  #turns = 0;

  /** @param nextTurn Runs a task after what the event loop has to do now. */
  constructor(nextTurn: (task: () => void) => void = setImmediate) {
    this.#nextTurn = nextTurn;
  }

  /** Tasks that wait. */
  get waiting(): number {
    return this.#lanes.write.length + this.#lanes.read.length;
  }

  /**
   * Runs a task when its turn comes; rejects with what the task throws.
   *
   * @throws {NodeBusyError} If {@link WAITING_MAX} tasks of the lane wait already.
   */
  run<T>(lane: Lane, task: () => T): Promise<T> {
    const waiting = this.#lanes[lane];
    if (waiting.length >= WAITING_MAX) return Promise.reject(new NodeBusyError());
    return new Promise((resolve, reject) => {
      waiting.push(() => {
        try {
          resolve(task());
        } catch (thrown) {
          reject(thrown);
        }
      });
      this.#turn();
    });
  }

  /** Resolves after what the event loop has to do now. */
  turn(): Promise<void> {
    return new Promise((resolve) => this.#nextTurn(resolve));
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
    if (this.#isTurning || this.#isClosed || this.waiting === 0) return;
    this.#isTurning = true;
    this.#nextTurn(() => {
      this.#isTurning = false;
      if (!this.#isClosed) this.#next()?.();
      this.#turn();
    });
  }

  #next(): (() => void) | undefined {
    const { write, read } = this.#lanes;
    this.#turns = (this.#turns + 1) % TURNS_PER_READ;
    const [first, second] = this.#turns === 0 ? [read, write] : [write, read];
    return first.shift() ?? second.shift();
  }
}
