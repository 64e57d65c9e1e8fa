import * as sqlite from "node:sqlite";
import { messageOf, RangemakerError } from "../../../lib/errors.ts";

/** The chain cannot be read or written. */
export class StorageError extends RangemakerError {
  /** Nothing is written again before the node is restarted. */
  readonly isFinal: boolean;

  constructor(message: string, options: { cause?: unknown; isFinal?: boolean } = {}) {
    super("STORAGE", message, { cause: options.cause });
    this.isFinal = options.isFinal ?? false;
  }
}

/** The error for a database whose contents are not what was written. */
export function damaged(what: string): StorageError {
  return new StorageError(`The chain is damaged (${what}): restore a backup`, { isFinal: true });
}

/** A value of a row. */
export type SqlValue = number | string | Uint8Array;

/** The columns of a row by name. */
export type Row = Record<string, unknown>;

/** What the runtime has and its types lack. */
type StatementSync = sqlite.StatementSync & { iterate(): Iterable<Row> };
const { backup, DatabaseSync } = sqlite as typeof sqlite & {
  backup(from: sqlite.DatabaseSync, to: string, options: { rate: number }): Promise<number>;
};

/** How long a change waits for a backup or a check that is opening or closing the database. */
const BUSY_TIMEOUT_MS = 250;

/** Pages in the log that make a commit copy them to the database, unless it is done before: 64 MB. */
const LOG_PAGES_MAX = 16_000;

/** SQLite's words for a full disk. Errors of the runtime's `exec`, such as of a commit, have no code. */
const DISK_FULL = "database or disk is full";

/** A SQLite database whose statements are prepared once. */
export class Database {
  readonly #db: sqlite.DatabaseSync;
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
    this.exec(`PRAGMA wal_autocheckpoint = ${LOG_PAGES_MAX}`);
  }

  /** Copies the log to the database, which takes some milliseconds. Must not be within a change. */
  copyLog(): void {
    try {
      this.#db.exec("PRAGMA wal_checkpoint(PASSIVE)");
    } catch {
      // The log still contains everything. On a full disk, the next commit fails and says so.
    }
  }

  /** Copies the log to the database and empties it. @throws {StorageError} If a backup reads it. */
  emptyLog(): void {
    if (this.get("PRAGMA wal_checkpoint(TRUNCATE)")?.busy === 0) return;
    throw new StorageError(
      "The chain is being read, as by a backup: try again when that has ended",
    );
  }

  /** Changes when another connection has changed the database. */
  get foreignChanges(): number {
    return Number(this.get("PRAGMA data_version")?.data_version);
  }

  /** Copies everything that is committed now, while other connections may go on to write. */
  async copyTo(path: string): Promise<void> {
    // In one step: between two, any change would make it start over. VACUUM INTO is not permitted.
    await backup(this.#db, path, { rate: 2 ** 30 });
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

  /** The rows of a query, one by one. */
  *iterate(sql: string): Iterable<Row> {
    try {
      yield* this.#statement(sql).iterate();
    } catch (cause) {
      throw storageError(cause);
    }
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
    if (statement === undefined) {
      statement = this.#db.prepare(sql) as StatementSync; // it has `iterate`, see above
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** @throws {StorageError} What SQLite throws. */
function attempt<T>(run: () => T): T {
  try {
    return run();
  } catch (cause) {
    throw storageError(cause);
  }
}

function storageError(cause: unknown): StorageError {
  if (messageOf(cause).includes(DISK_FULL)) {
    return new StorageError(`The chain cannot be written: ${messageOf(cause)}`, { cause });
  }
  return new StorageError(
    `The chain cannot be read or written: ${messageOf(cause)}; ` +
      "if the file is damaged, restore a backup",
    { cause },
  );
}
