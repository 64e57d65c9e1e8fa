import type { Market, Markets } from "../../../lib/protocol/markets.ts";
import { isUnsettled } from "../../../lib/protocol/thesis.ts";
import { Accounts } from "./accounts.ts";
import { damaged, type Database, StorageError } from "./database.ts";
import { StoredPrices } from "./stored_prices.ts";
import { GroupCommit } from "./group_commit.ts";
import {
  backfilledKey,
  CLOSED_AT,
  createMeta,
  createTables,
  FIRST_SEQUENCE,
  type HeadRow,
  quoteKey,
  type StoredState,
  type StoredThesis,
  type StoredTokens,
  type Tables,
} from "./schema.ts";

/** Block numbers that are reserved in advance, once a second: 10 s of checkpoints. */
export const BLOCKS_RESERVED = 100;

/** Bytes that must fit on the disk before changes are accepted again. */
const SPACE_TEST_BYTES = 64 * 1024;

/** Most rows per table that one checkpoint deletes, which takes a few milliseconds. */
const ROWS_PER_DROP = 50;

/** What may differ at each start. */
interface ChainRecordsOptions {
  /** Time of the start, Unix milliseconds. */
  nowMs: number;
  markets: Markets;
  ringSlots: number;
  /** Whether the database is a file; otherwise block numbers need no reservation. */
  isDurable: boolean;
  /** Called after each commit. @throws {StorageError} If the commit must not count as stored. */
  onCommit?(sequence: number): void;
}

/** The position at which a stopped chain continues. */
export interface ResumePoint {
  /** The last known block; undefined if that is the genesis block. */
  head: HeadRow | undefined;
  /** No block above this number was ever announced. */
  announcedTo: number;
}

/**
 * What is stored of a chain. Changes are made within {@link commits}. Accounts, counters and price
 * rings are in memory; each commit writes the changed accounts and the counters.
 */
export class ChainRecords {
  readonly createdAtMs: number;
  /** Where the chain continues; undefined for one that was only created. */
  readonly resumeFrom: ResumePoint | undefined;
  readonly commits: GroupCommit;
  readonly #db: Database;
  readonly #options: ChainRecordsOptions;
  readonly #meta: ReturnType<typeof createMeta>;
  #prices: StoredPrices;
  /** What a rollback replaces. */
  #loaded: { state: StoredState; tables: Tables; accounts: Accounts };
  #reservedTo = 0;
  #onRollback = () => {};

  /** @param db Has the tables of a chain. @throws {StorageError} If a row is damaged. */
  constructor(db: Database, options: ChainRecordsOptions) {
    this.#db = db;
    this.#options = options;
    this.#meta = createMeta(db);
    this.#loaded = this.#load();
    this.#prices = this.#readPrices();
    this.createdAtMs = this.#meta.chain.get()?.createdAtMs ?? 0;
    this.resumeFrom = this.#resumePoint();
    // A chain in memory is one endless transaction, in which snapshots are savepoints.
    if (!options.isDurable) db.exec("BEGIN");
    this.commits = new GroupCommit(db, options.isDurable, {
      write: () => this.#write(),
      onCommitted: () => options.onCommit?.(this.state.sequence),
      onRolledBack: () => {
        this.#loaded = this.#load();
        this.#onRollback();
      },
    });
  }

  /** Counters that each change may update. */
  get state(): StoredState {
    return this.#loaded.state;
  }

  get tables(): Tables {
    return this.#loaded.tables;
  }

  get accounts(): Accounts {
    return this.#loaded.accounts;
  }

  get prices(): StoredPrices {
    return this.#prices;
  }

  /** Sets what is called after a rollback: it reloads all state that was made from these records. */
  onRollback(reload: () => void): void {
    this.#onRollback = reload;
  }

  /** No block above this number may be announced yet. */
  get reservedTo(): number {
    return this.#options.isDurable ? this.#reservedTo : Infinity;
  }

  /** The tokens of each symbol that ever was a market's: prices are stored by symbol. */
  get tokens(): StoredTokens {
    return this.#meta.tokens.get() ?? {};
  }

  saveTokens(tokens: StoredTokens): void {
    this.commits.change(() => this.#meta.tokens.put(tokens));
  }

  /** The theses that still lock money, by id. */
  unsettledTheses(): StoredThesis[] {
    const rows = this.tables.theses.select(`WHERE ${CLOSED_AT} IS NULL ORDER BY key`);
    return rows.map(([id, stored]) => {
      if (isUnsettled(stored.thesis.status)) return stored;
      throw damaged(`thesis ${id} is settled, but its index lists it as unsettled`);
    });
  }

  backfilledPages(): { symbol: string; page: number; prices: BigUint64Array }[] {
    return this.tables.backfilled.select().map(([key, prices]) => {
      const [symbol = "", page] = `${key}`.split(" ");
      return { symbol, page: Number(page), prices };
    });
  }

  /** Stores a page of backfilled prices; deletes it if there are none. */
  saveBackfilled(symbol: string, page: number, prices: BigUint64Array | undefined): void {
    const key = backfilledKey(symbol, page);
    if (prices === undefined) this.tables.backfilled.delete(key);
    else this.tables.backfilled.put(key, prices);
  }

  /** Stores the prices and the head, and reserves block numbers; tries again after a failure. */
  saveHead(head: HeadRow | undefined, lastNumber = head?.number ?? 0): void {
    const write = () => this.#writeHead(head, lastNumber + BLOCKS_RESERVED);
    if (this.commits.failure === undefined) return this.commits.tryChange(write);
    // The disk must have space for more than the head, or the next change would fail again.
    this.commits.retry(() => {
      this.#meta.spaceTest.put("0".repeat(SPACE_TEST_BYTES));
      write();
    });
    if (this.commits.failure === undefined) {
      this.commits.tryChange(() => this.#meta.spaceTest.delete());
    }
  }

  /**
   * Deletes some of the receipts before a time, and of the theses that were settled and past the
   * end of their window before it: until then, only that record prevents a second use of a quote.
   */
  dropBefore(timeMs: number): void {
    if (this.commits.failure !== undefined) return;
    const { theses, receipts, quotes } = this.tables;
    try {
      const oldTheses = theses.select(
        `WHERE ${CLOSED_AT} < ? ORDER BY ${CLOSED_AT} LIMIT ?`,
        timeMs,
        ROWS_PER_DROP,
      );
      const oldReceipts = receipts.select(
        "WHERE rowid IN (SELECT rowid FROM receipts ORDER BY rowid LIMIT ?) " +
          "AND value ->> '$.atMs' < ?",
        ROWS_PER_DROP,
        timeMs,
      );
      if (oldTheses.length + oldReceipts.length === 0) return;
      this.commits.change(() => {
        for (const [id, { thesis }] of oldTheses) {
          const { startTime, endTime, quoteHash } = thesis;
          theses.delete(id);
          quotes.delete(quoteKey(startTime, quoteHash));
          this.#raiseDroppedBefore(endTime);
        }
        for (const [key, { atMs }] of oldReceipts) {
          receipts.delete(key);
          this.#raiseDroppedBefore(atMs);
        }
      });
    } catch (thrown) {
      // If the rows cannot be read, nothing is written either.
      if (!(thrown instanceof StorageError)) throw thrown;
      this.commits.fail(thrown);
    }
  }

  /** Creates a savepoint of a chain in memory for {@link revertTo}. */
  createSavepoint(name: string, head: HeadRow): void {
    this.#writeHead(head, head.number);
    this.#write();
    this.#db.exec(`SAVEPOINT ${name}`);
  }

  /** Stores the prices recorded so far, by default of all markets, as part of a change. */
  savePrices(markets?: Iterable<Market>): void {
    this.commits.afterCommit(this.#prices.save(markets));
  }

  /** Returns to a savepoint and deletes later ones. */
  revertTo(name: string): void {
    this.#db.exec(`ROLLBACK TO ${name}`);
    this.#loaded = this.#load();
    this.#prices = this.#readPrices();
  }

  /**
   * No block number is used twice, unless a backup is restored and the clock is also set back: every
   * start continues at least at the number of milliseconds since the chain was created, and a running
   * chain announces one number per 100 ms. So a restored backup continues above the blocks it lacks.
   */
  #resumePoint(): ResumePoint | undefined {
    if (this.state.sequence === FIRST_SEQUENCE) return undefined;
    const ageMs = this.#options.nowMs - this.createdAtMs;
    return {
      head: this.#meta.head.get(),
      announcedTo: Math.max(this.state.reservedTo, ageMs),
    };
  }

  #raiseDroppedBefore(timeMs: number): void {
    this.state.droppedBeforeMs = Math.max(this.state.droppedBeforeMs, timeMs + 1);
  }

  #writeHead(head: HeadRow | undefined, reservedTo: number): void {
    if (head !== undefined) {
      const { number, hash, parentHash, timestampMs } = head;
      this.#meta.head.put({ number, hash, parentHash, timestampMs });
    }
    this.state.reservedTo = reservedTo;
    this.savePrices();
    this.commits.afterCommit(() => this.#reservedTo = reservedTo);
  }

  #write(): void {
    this.accounts.write();
    this.state.sequence += 1;
    this.#meta.state.put(this.state); // with the totals after all other writes
  }

  #load() {
    const state = this.#meta.state.get();
    if (state === undefined) throw new StorageError("The database has no chain");
    const tables = createTables(this.#db, state.totals);
    return { state, tables, accounts: new Accounts(tables.accounts) };
  }

  #readPrices(): StoredPrices {
    const { markets, ringSlots } = this.#options;
    return new StoredPrices(this.#db, markets, ringSlots);
  }
}
