import type { Logger } from "@logtape/logtape";
import { RangemakerError } from "../errors.ts";
import { TIMESTAMP_DRIFT_MAX_MS } from "../protocol/constants.ts";

/** Beyond this difference to the node's clock, transactions and deadlines fail, or soon will. */
export const CLOCK_DIFFERENCE_MAX_MS = TIMESTAMP_DRIFT_MAX_MS / 2;

/** A new block shows the node's clock only if the last observation is more recent than this. */
const HEAD_AGE_MAX_MS = 10_000;

/** Compares this machine's clock with the node's, by the blocks it makes and by its refusals. */
export class ClockComparison {
  readonly #log: Logger;
  #problem: RangemakerError | undefined;
  /** Number of the newest block when it was last observed. */
  #lastNumber = 0;
  #lastObservedAtMs = -Infinity;
  #blockTimeMs = 0;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** The reason why the clocks differ too much; undefined if they agree. */
  get problem(): RangemakerError | undefined {
    return this.#problem;
  }

  /** Time of the node's newest block; 0 until it is known. */
  get blockTimeMs(): number {
    return this.#blockTimeMs;
  }

  /**
   * Compares the time of the node's newest block. Only a block newer than the last observation
   * shows the node's clock: a chain may make no blocks while it is idle.
   */
  observe({ number, timestampMs }: { number: number; timestampMs: number }, nowMs: number): void {
    this.#blockTimeMs = timestampMs;
    const isNew = number > this.#lastNumber && nowMs - this.#lastObservedAtMs <= HEAD_AGE_MAX_MS;
    this.#lastNumber = number;
    this.#lastObservedAtMs = nowMs;
    if (!isNew) return;
    const aheadMs = nowMs - timestampMs;
    if (Math.abs(aheadMs) <= CLOCK_DIFFERENCE_MAX_MS) return this.recordAgreement();
    const direction = aheadMs > 0 ? "ahead of" : "behind";
    this.recordDifference(
      `it is ${Math.abs(aheadMs)} ms ${direction} that of the core node`,
      aheadMs,
    );
  }

  /**
   * Records that the clocks differ, and logs it once.
   *
   * @param evidence What shows it, such as the node's reason to refuse a transaction.
   * @param aheadMs By how much our clock is ahead of the node's, if that is known.
   */
  recordDifference(evidence: string, aheadMs?: number): RangemakerError {
    const problem = new RangemakerError(
      "CLOCKS_DIFFER",
      `The clock of this machine is wrong, or that of the core node: ${evidence}. Transactions ` +
        "wait until their deadline: synchronise both clocks (NTP)",
      { retry: "later" },
    );
    if (this.#problem === undefined) {
      const { message } = problem;
      this.#log.error("{reason}", { event: "clocks_differ", reason: message, aheadMs });
    }
    return this.#problem = problem;
  }

  /** Records that the clocks agree, and logs it if they differed before. */
  recordAgreement(): void {
    if (this.#problem === undefined) return;
    this.#problem = undefined;
    this.#log.info("The clock agrees with the node's again", { event: "clocks_agree" });
  }
}
