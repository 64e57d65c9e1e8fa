import type { Receipt } from "../../../lib/protocol/receipt.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";

/**
 * Failures of strangers that are kept in memory, oldest dropped first, so that a repeated transaction
 * gets its first receipt. Such failures are not recorded ({@link Ledger.recordsFailureOf}).
 */
export const STRANGER_FAILURES_MAX = 1_024;

/** The newest failures of strangers. */
export class UnrecordedFailures {
  readonly #receipts = new Map<Hex, Receipt>();

  get(txHash: Hex): Receipt | undefined {
    return this.#receipts.get(txHash);
  }

  add(receipt: Receipt): void {
    this.#receipts.set(receipt.txHash, receipt);
    if (this.#receipts.size <= STRANGER_FAILURES_MAX) return;
    for (const oldest of this.#receipts.keys()) {
      this.#receipts.delete(oldest);
      return;
    }
  }

  /** Deletes all. */
  clear(): void {
    this.#receipts.clear();
  }
}
