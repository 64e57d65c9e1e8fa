import { resolve } from "node:path";
import * as sqlite from "node:sqlite";
import { readStat } from "../files.ts";
import { IN_MEMORY } from "./database_url.ts";

export type SqliteValue = number | string | Uint8Array | null;

/** The columns of a row by name. */
export type Row = Record<string, unknown>;

/** How long a change waits while another connection locks the database. It blocks this process. */
const BUSY_TIMEOUT_MS = 250;

/** What the runtime has and its types lack. */
type StatementSync = sqlite.StatementSync & { iterate(): Iterable<Row> };
type DatabaseSync = sqlite.DatabaseSync & { readonly isTransaction: boolean };
const { backup, DatabaseSync } = sqlite as typeof sqlite & {
  backup(from: sqlite.DatabaseSync, to: string, options: { rate: number }): Promise<number>;
};

interface SqliteDatabaseOptions {
  readOnly?: boolean;
  /** The error to throw in place of one of SQLite's. */
  errorOf(cause: unknown): Error;
}

/** SQLite's code for a locked file, a damaged page, a full disk, and a file of another kind. */
const [BUSY, CORRUPT, FULL, NOT_A_DATABASE] = [5, 11, 13, 26];

/** Whether an error of SQLite means that the file is damaged or not a database. */
export function isDamage(cause: unknown): boolean {
  const code = resultCodeOf(cause);
  return code === CORRUPT || code === NOT_A_DATABASE;
}

/** Whether an error of SQLite means that the disk is full. */
export function isDiskFull(cause: unknown): boolean {
  return resultCodeOf(cause) === FULL;
}

/** Whether an error of SQLite means that another connection locks the file. */
export function isLocked(cause: unknown): boolean {
  return resultCodeOf(cause) === BUSY;
}

function resultCodeOf(cause: unknown): number | undefined {
  const hasCode = cause instanceof Error && "errcode" in cause;
  return hasCode ? Number(cause.errcode) & 0xff : undefined; // without the extended part
}

/** A SQLite database whose statements are prepared once. */
export class SqliteDatabase {
  readonly path: string;
  readonly #db: DatabaseSync;
  readonly #errorOf: SqliteDatabaseOptions["errorOf"];
  readonly #statements = new Map<string, StatementSync>();
  /** The files that are open, from {@link watchFiles} on. */
  #files: string | undefined;

  /**
   * Opens a file, or a database in memory. The file must never be opened by other means while it is
   * open here: closing it would release the locks of SQLite.
   */
  constructor(path: string, { readOnly = false, errorOf }: SqliteDatabaseOptions) {
    this.path = path;
    this.#errorOf = errorOf;
    // SQLite takes `file:…` for a URI, which names another file.
    const file = path === IN_MEMORY ? path : resolve(path);
    // The option exists, but the runtime's types lack it. For `isTransaction`, see above.
    this.#db = this.#attempt(() => new DatabaseSync(file, { readOnly } as object)) as DatabaseSync;
    this.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  }

  /** Turns on the write-ahead log: from now on, every commit is on the disk when it returns. */
  useLog(): void {
    this.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  }

  /** Remembers which files are open. Not for a database in memory. */
  watchFiles(): void {
    this.#files = this.#fileIds();
  }

  /**
   * Whether the file or its log was removed, moved or replaced since {@link watchFiles}: what is
   * committed then is in no file that a later start finds.
   */
  get isReplaced(): boolean {
    return this.#files !== undefined && this.#files !== this.#fileIds();
  }

  /**
   * Runs statements one by one, since an error of the runtime's `exec` has no code of SQLite. They
   * are not kept: names of savepoints are many.
   */
  exec(sql: string): void {
    for (const statement of sql.split(";")) {
      if (statement.trim() !== "") this.#attempt(() => this.#db.prepare(statement).run());
    }
  }

  run(sql: string, ...values: SqliteValue[]): void {
    this.#attempt(() => this.#statement(sql).run(...values));
  }

  get(sql: string, ...values: SqliteValue[]): Row | undefined {
    // A row is an object of its columns.
    return this.#attempt(() => this.#statement(sql).get(...values)) as Row | undefined;
  }

  all(sql: string, ...values: SqliteValue[]): Row[] {
    return this.#attempt(() => this.#statement(sql).all(...values)) as Row[]; // as above
  }

  /** The rows of a query, one by one. The runtime ends them early at a damaged page. */
  *iterate(sql: string): Iterable<Row> {
    try {
      yield* this.#statement(sql).iterate();
    } catch (cause) {
      throw this.#errorOf(cause);
    }
  }

  /** False also after SQLite itself has undone everything since `BEGIN`: even a read that fails may. */
  get isTransaction(): boolean {
    return this.#db.isTransaction;
  }

  /** Undoes everything since `BEGIN`, unless SQLite has done so itself, as on a full disk. */
  rollBack(): void {
    if (this.isTransaction) this.exec("ROLLBACK");
  }

  /** Copies everything that is committed now, while other connections may go on to write. */
  async copyTo(path: string): Promise<void> {
    // Copies in one step, since a change between two steps would make the backup start over. VACUUM
    // INTO is not permitted.
    await backup(this.#db, resolve(path), { rate: 2 ** 30 }).catch((cause: unknown) => {
      throw this.#errorOf(cause);
    });
  }

  close(): void {
    this.#db.close();
  }

  #statement(sql: string): StatementSync {
    const prepare = () => this.#db.prepare(sql) as StatementSync; // it has `iterate`, see above
    return this.#statements.getOrInsertComputed(sql, prepare);
  }

  /** Device and inode of the file and its log. */
  #fileIds(): string {
    return [this.path, `${this.path}-wal`].map((file) => {
      const info = readStat(file);
      return `${info?.dev} ${info?.ino}`;
    }).join();
  }

  #attempt<T>(run: () => T): T {
    try {
      return run();
    } catch (cause) {
      throw this.#errorOf(cause);
    }
  }
}
