import { DatabaseSync, type StatementSync } from "node:sqlite";
import { messageOf } from "../../../lib/errors.ts";
import { StorageError } from "../chain/records.ts";

/** A value of a row. */
export type SqlValue = number | string | Uint8Array;

/** The columns of a row by name. */
export type Row = Record<string, unknown>;

/** How long a change waits for a worker that is closing the database. */
const BUSY_TIMEOUT_MS = 250;

/** Pages in the log that make a commit copy them to the database: 16 MB. */
const CHECKPOINT_PAGES = 4_000;

/** The result code of SQLite where the disk is full. */
const SQLITE_FULL = 13;

/** A SQLite database whose statements are prepared once. */
export class Database {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  /**
   * Opens a file, or a database in memory. The file must never be opened by other means while it is
   * open here: closing it would release the locks of SQLite.
   */
  constructor(path = ":memory:", options: { readOnly?: boolean } = {}) {
    // The option exists, but the runtime's types lack it.
    this.#db = attempt(() => new DatabaseSync(path, options as object));
  }

  /** From now on, every commit is on the disk when it returns. */
  useLog(): void {
    this.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    this.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    this.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  }

  /** Whether nobody else can read or write the file: no other process, and no worker of this one. */
  setExclusive(isExclusive: boolean): void {
    this.exec(`PRAGMA locking_mode = ${isExclusive ? "EXCLUSIVE" : "NORMAL"}`);
    this.exec("SELECT 1 FROM meta LIMIT 1"); // takes the lock, or releases it
  }

  exec(sql: string): void {
    attempt(() => this.#db.exec(sql));
  }

  run(sql: string, ...values: SqlValue[]): void {
    attempt(() => this.#statement(sql).run(...values));
  }

  /** The first row of a query. */
  get(sql: string, ...values: SqlValue[]): Row | undefined {
    // A row is an object of its columns.
    return attempt(() => this.#statement(sql).get(...values)) as Row | undefined;
  }

  all(sql: string, ...values: SqlValue[]): Row[] {
    return attempt(() => this.#statement(sql).all(...values)) as Row[]; // as above
  }

  /** Undoes everything since `BEGIN`, unless SQLite has done so itself, as on a full disk. */
  rollBack(): void {
    try {
      this.#db.exec("ROLLBACK");
    } catch (thrown) {
      if (!/no transaction is active/.test(messageOf(thrown))) throw thrown;
    }
  }

  close(): void {
    this.#db.close();
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) this.#statements.set(sql, statement = this.#db.prepare(sql));
    return statement;
  }
}

/** @throws {StorageError} What SQLite throws. */
function attempt<T>(run: () => T): T {
  try {
    return run();
  } catch (cause) {
    if (Object(cause).errcode === SQLITE_FULL) {
      throw new StorageError(`The chain cannot be written: ${messageOf(cause)}`, { cause });
    }
    throw new StorageError(
      `The chain cannot be read or written: ${messageOf(cause)}; ` +
        "if the file is damaged, restore a backup",
      { cause },
    );
  }
}
