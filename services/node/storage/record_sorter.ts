import type { Address, Hex } from "../../../lib/protocol/scalars.ts";
import { isUnsettled, type Thesis } from "../../../lib/protocol/thesis.ts";
import type { BackfillOracle } from "../../../lib/protocol/transaction.ts";
import { stakesOf } from "../chain/refusals.ts";
import {
  DROPPED_PER_RECORD,
  type JournalRecord,
  type TransactionRecord,
} from "../chain/journal.ts";
import type { ChainState } from "../chain/state.ts";
import { SLOT_MS } from "../../../lib/prices/price_slots.ts";
import type { ArchivedRows } from "./sqlite_archive.ts";

/**
 * Decides which records of a journal a rewrite keeps, and sums up the changes of the others.
 *
 * It drops records older than `beforeMs`: theses that were settled and whose window had ended, so that
 * their quotes cannot be used again, with all their records; deposits, failures, and backfills whose
 * prices nobody needs any more. Balances and the external hashes of deposits stay forever.
 */
export class RecordSorter {
  /** Theses and receipts that are dropped. */
  readonly droppedTheses: readonly Thesis[];
  readonly droppedHashes: Hex[] = [];
  readonly #state: ChainState;
  readonly #beforeMs: number;
  readonly #droppedIds: ReadonlySet<number>;
  readonly #balances = new Map<Address, bigint>();
  #issued = 0n;
  #externalTxHashes: Hex[] = [];
  #reservation: JournalRecord | undefined;
  #rows: ArchivedRows = { theses: [], receipts: [] };

  constructor(state: ChainState, beforeMs: number) {
    this.#state = state;
    this.#beforeMs = beforeMs;
    this.droppedTheses = state.ledger.theses.filter(({ status, settledAt = Infinity, endTime }) =>
      !isUnsettled(status) && settledAt < beforeMs && endTime < beforeMs
    );
    this.#droppedIds = new Set(this.droppedTheses.map(({ id }) => id));
  }

  /** The record for the new journal; undefined if it is dropped. */
  keep(record: JournalRecord): JournalRecord | undefined {
    switch (record.kind) {
      case "genesis":
        return { ...record, rewrites: record.rewrites + 1 };
      case "transaction":
        return this.#isDropped(record) ? this.#dropTransaction(record) : record;
      case "failure":
        if (record.atMs >= this.#beforeMs) return record;
        return this.#archive(record.receipt, record.atMs);
      case "settlement":
        return this.#droppedIds.has(record.id) ? undefined : record;
      case "reservation":
        this.#reservation = record;
        return undefined;
      case "dropped":
        this.#issued += record.issued;
        // Object.entries types the keys as strings; the schema has parsed them as addresses.
        for (const [address, change] of Object.entries(record.balances)) {
          this.#credit(address as Address, change);
        }
        return undefined;
      case "deposits":
        return record;
    }
  }

  /** Rows dropped since the last call. */
  takeRows(): ArchivedRows {
    const rows = this.#rows;
    this.#rows = { theses: [], receipts: [] };
    return rows;
  }

  /** The records that summarise the dropped ones; they follow the kept ones. */
  *summary(): Generator<JournalRecord> {
    const shared = {
      ...{ kind: "dropped" as const, beforeMs: this.#beforeMs },
      lastThesisId: this.#state.ledger.lastThesisId,
    };
    yield { ...shared, issued: this.#issued, balances: {} };
    for (const some of chunksOf([...this.#balances])) {
      yield { ...shared, issued: 0n, balances: Object.fromEntries(some) };
    }
    for (const externalTxHashes of chunksOf(this.#externalTxHashes)) {
      yield { kind: "deposits", externalTxHashes };
    }
    if (this.#reservation !== undefined) yield this.#reservation;
  }

  #isDropped({ tx, receipt, atMs }: TransactionRecord): boolean {
    if (tx.type === "RfqSubmit") return this.#droppedIds.has(receipt.thesisId ?? 0);
    if (atMs >= this.#beforeMs) return false;
    return tx.type === "Deposit" || !this.#isNeeded(tx);
  }

  /** Whether prices of a backfill may still be read, from the ring or by an open thesis. */
  #isNeeded(tx: BackfillOracle): boolean {
    const to = tx.startTime + tx.prices.length * SLOT_MS;
    const { oldest } = this.#state.historyOf(tx).ring;
    const needed = this.#state.settler.neededSpans(tx.base, tx.quote);
    return to > oldest || needed.some((span) => span.from < to && span.to > tx.startTime);
  }

  #dropTransaction({ tx, receipt, atMs }: TransactionRecord): undefined {
    if (tx.type === "Deposit") {
      this.#credit(tx.user, tx.amount);
      this.#issued += tx.amount;
      this.#externalTxHashes.push(tx.externalTxHash);
    }
    const thesis = this.#state.ledger.thesis(receipt.thesisId ?? 0);
    if (tx.type === "RfqSubmit" && thesis !== undefined) {
      for (const [address, amount] of stakesOf(tx)) this.#credit(address, -amount);
      this.#credit(thesis.status === "won" ? thesis.user : thesis.solver, thesis.payout);
      this.#rows.theses.push(thesis);
    }
    return this.#archive(receipt, atMs);
  }

  #archive(receipt: TransactionRecord["receipt"], atMs: number): undefined {
    this.#rows.receipts.push({ receipt, atMs });
    this.droppedHashes.push(receipt.txHash);
  }

  #credit(address: Address, change: bigint): void {
    this.#balances.set(address, (this.#balances.get(address) ?? 0n) + change);
  }
}

function chunksOf<T>(items: readonly T[]): T[][] {
  const chunks: T[][] = [];
  for (let from = 0; from < items.length; from += DROPPED_PER_RECORD) {
    chunks.push(items.slice(from, from + DROPPED_PER_RECORD));
  }
  return chunks;
}
