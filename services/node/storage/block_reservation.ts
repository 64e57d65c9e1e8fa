import type { BlockNumbers } from "../chain/block_log.ts";
import type { FileJournal } from "./file_journal.ts";

/** Block numbers that one record reserves: 10 s of checkpoints. */
export const BLOCKS_RESERVED = 100;

/**
 * Block numbers that may be announced. Each is reserved in the journal, on the disk, before its block
 * is announced, so that a restarted node never announces a number again, even after a crash.
 */
export class BlockReservation implements BlockNumbers {
  readonly #journal: FileJournal;
  #reservedTo: number;
  #requestedTo: number;

  /** Reserves the first numbers before it returns. @throws {JournalError} */
  constructor(journal: FileJournal, reservedTo: number) {
    this.#journal = journal;
    this.#reservedTo = reservedTo + BLOCKS_RESERVED;
    this.#requestedTo = this.#reservedTo;
    journal.append([{ kind: "reservation", upTo: this.#reservedTo }]);
    journal.syncNow();
  }

  get reservedTo(): number {
    return this.#reservedTo;
  }

  reserve(nextNumber: number): void {
    if (this.#requestedTo - nextNumber >= BLOCKS_RESERVED / 2) return;
    const upTo = nextNumber + BLOCKS_RESERVED;
    try {
      this.#journal.append([{ kind: "reservation", upTo }]);
    } catch {
      return; // The journal reports its failure itself; the next checkpoint tries again.
    }
    this.#requestedTo = upTo;
    this.#journal.synced().then(() => this.#reservedTo = upTo, () => {});
  }

  /** Returns the numbers after the last announced block: the next start needs no others. */
  release(lastNumber: number): void {
    this.#journal.append([{ kind: "reservation", upTo: lastNumber }]);
  }
}
