import { setImmediate } from "node:timers";
import { afterInput } from "../../../lib/clock.ts";
import { RangemakerError } from "../../../lib/errors.ts";
import { FairQueue } from "../../../lib/fair_share.ts";

/**
 * Most tasks that wait in each lane. The first caller gets at most half of the places and the
 * second a quarter: enough for two proxies with 1,024 open requests each. A waiting task costs less
 * than a refusal, after which callers ask again at once. Callers take turns, so the tasks of one
 * caller do not delay another.
 */
const TASKS_WAITING_MAX = 4_096;

/** While both lanes have tasks, every fourth turn is for a read. */
const TASKS_PER_READ = 4;

/** The group of a caller's own tasks: they take turns with those of callers behind it. */
const OWN_TASKS = "own tasks";

/** Tasks run for this long before timers are served again. */
const SLICE_MS = 1;

/**
 * Tasks run for this long before sockets are served again, see {@link afterInput}. With 4 ms the node
 * would take a third fewer bets, since a timer costs one or two.
 */
const INPUT_EVERY_MS = 16;

/** The caller's share of the places for waiting tasks is used up. */
export class NodeBusyError extends RangemakerError {
  constructor() {
    super(
      "NODE_BUSY",
      "The node is busy: this caller's share of the requests that may wait is used up, " +
        "try again later",
    );
  }
}

/** Reads and writes wait separately, so that no number of reads can delay or displace a write. */
type Lane = "write" | "read";

/** Runs a task in a later turn of the event loop: at once, or after new input. */
type NextTurn = (task: () => void, isAfterInput: boolean) => void;

const nextTurnOfLoop: NextTurn = (task, isAfterInput) =>
  void (isAfterInput ? afterInput(task) : setImmediate(task));

/**
 * Runs costly tasks for {@link SLICE_MS} in each turn of the event loop, so that timers are always
 * served in time, and sockets after {@link INPUT_EVERY_MS}. Callers take turns, and each has a share
 * of the places. No task runs while the queue is paused.
 */
export class SerialQueue {
  readonly #lanes = { write: new FairQueue<() => void>(), read: new FairQueue<() => void>() };
  readonly #nextTurn: NextTurn;
  readonly #nowMs: () => number;
  #isPaused = false;
  #isScheduled = false;
  #turnOfCycle = 0;
  /** How long tasks have run since the last turn after new input. */
  #workedMs = 0;

  constructor(
    nextTurn: NextTurn = nextTurnOfLoop,
    nowMs: () => number = () => performance.now(),
  ) {
    this.#nextTurn = nextTurn;
    this.#nowMs = nowMs;
  }

  get waiting(): number {
    return this.#lanes.write.size + this.#lanes.read.size;
  }

  /**
   * Runs a task when its turn comes; rejects with what the task throws.
   *
   * @param groups The groups of the caller, see {@link FairQueue.canAdd}.
   * @throws {NodeBusyError} If the share of the caller, or of one of its groups, is used up.
   */
  run<T>(lane: Lane, groups: readonly string[], task: () => T): Promise<T> {
    const waiting = this.#lanes[lane];
    if (!waiting.canAdd(groups, TASKS_WAITING_MAX)) return Promise.reject(new NodeBusyError());
    return new Promise((resolve, reject) => {
      waiting.add([...groups, OWN_TASKS], () => {
        try {
          resolve(task());
        } catch (thrown) {
          reject(thrown);
        }
      });
      this.#schedule();
    });
  }

  /** Resolves after timers and sockets have been served. */
  yieldToEventLoop(): Promise<void> {
    return new Promise((resolve) => this.#nextTurn(resolve, true));
  }

  /** Runs no task while `run` is pending. */
  async pausedDuring<T>(run: () => Promise<T>): Promise<T> {
    this.#isPaused = true;
    try {
      return await run();
    } finally {
      this.#isPaused = false;
      this.#schedule();
    }
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isPaused || this.waiting === 0) return;
    this.#isScheduled = true;
    const isAfterInput = this.#workedMs >= INPUT_EVERY_MS;
    if (isAfterInput) this.#workedMs = 0;
    this.#nextTurn(() => {
      const startedAtMs = this.#nowMs();
      let elapsedMs = 0;
      while (elapsedMs < SLICE_MS && !this.#isPaused && this.waiting > 0) {
        this.#removeNext()?.();
        elapsedMs = this.#nowMs() - startedAtMs;
      }
      this.#workedMs += elapsedMs;
      this.#isScheduled = false;
      this.#schedule();
    }, isAfterInput);
  }

  #removeNext(): (() => void) | undefined {
    const { write, read } = this.#lanes;
    this.#turnOfCycle = (this.#turnOfCycle + 1) % TASKS_PER_READ;
    const [first, second] = this.#turnOfCycle === 0 ? [read, write] : [write, read];
    return first.removeNext() ?? second.removeNext();
  }
}
