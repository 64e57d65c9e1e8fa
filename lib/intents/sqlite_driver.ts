import { dirname } from "node:path";
import { setImmediate } from "node:timers/promises";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { messageOf } from "../errors.ts";
import { statOf } from "../files.ts";
import { redact } from "../redact.ts";
import { Batches, ITEMS_WAITING_MAX } from "./batches.ts";
import { asStoreError, StoreDamagedError, StoreError } from "./intent.ts";
import { IN_MEMORY } from "./location.ts";
import { missingMigrations } from "./migrations.ts";
import { logDamage } from "./sqlite_log.ts";
import { countOfRow, type SqlDriver, type SqlValue, type Statement, type Steps } from "./sql.ts";

/** How long a write waits while another process locks the file. It blocks this process. */
const BUSY_TIMEOUT_MS = 250;

/** In larger files, indexes are not checked at start: that takes a minute for 10 GB. */
const INDEXES_CHECKED_BYTES = 1_000_000_000;

/** A SQLite file with a write-ahead log; every commit is flushed to the disk. */
export class SqliteDriver implements SqlDriver {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  /** The writes of one turn of the event loop form one transaction and share one flush to the disk. */
  readonly #writes = new Batches<() => unknown, unknown>(ITEMS_WAITING_MAX, async (take) => {
    await setImmediate();
    return commit(this.#db, () => take().map((write) => write()));
  });
  /** The last transaction of the log was incomplete or damaged, and is lost. */
  readonly hadTornLog: boolean;
  #closed: Promise<void> | undefined;

  private constructor(db: DatabaseSync, hadTornLog = false) {
    this.#db = db;
    this.hadTornLog = hadTornLog;
  }

  /**
   * Opens a file and brings its tables up to date. Creates the file (mode 0600) and its folder (0700)
   * if they are missing; `:memory:` keeps nothing.
   *
   * @param pagesMax Bounds the file in pages of 4 KiB, as a quota would.
   * @throws {StoreDamagedError} If the file or its log is damaged.
   * @throws {StoreError} If the file cannot be used.
   * @throws {Deno.errors.NotCapable} If this process may not open it.
   */
  static open(path: string, pagesMax?: number): SqliteDriver {
    let db: DatabaseSync | undefined;
    try {
      if (path !== IN_MEMORY) createPrivately(path);
      // SQLite drops the damaged part when it opens the file.
      const damage = path === IN_MEMORY ? undefined : logDamage(path);
      if (damage === "damaged") throw logDamaged(path);
      db = new DatabaseSync(path);
      db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
      db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
      if (path !== IN_MEMORY) requireIntact(db, path);
      migrate(db);
      if (pagesMax !== undefined) db.exec(`PRAGMA max_page_count = ${pagesMax}`);
      return new SqliteDriver(db, damage === "torn");
    } catch (cause) {
      db?.close();
      // A command explains what this process may not open.
      if (cause instanceof StoreError || cause instanceof Deno.errors.NotCapable) throw cause;
      throw new StoreError(redact(`Database ${path} cannot be opened: ${messageOf(cause)}`), cause);
    }
  }

  /** Opens an existing file for reading, and leaves it as it is. */
  static openToInspect(path: string): SqliteDriver {
    // Closing a connection that may write removes the log and its index. That is right unless they
    // existed before: another process may be using them.
    const readOnly = statOf(`${path}-wal`) !== undefined;
    // The option exists, but the runtime's types lack it.
    return new SqliteDriver(new DatabaseSync(path, { readOnly } as { open?: boolean }));
  }

  read(sql: string, values: SqlValue[]): Promise<unknown[]> {
    return attempt(() => this.#rows(sql, values));
  }

  write(sql: string, values: SqlValue[]): Promise<unknown[]> {
    return this.#write(() => this.#rows(sql, values));
  }

  transaction<T>(steps: () => Steps<T>): Promise<T> {
    // No other statement comes between these: a batch of writes runs from its begin to its commit.
    return this.#write(() => runSteps(steps(), ({ sql, values }) => this.#rows(sql, values)));
  }

  version(): Promise<number> {
    return attempt(() => {
      const version = versionOf(this.#db);
      const tables = this.#db.prepare("SELECT count(*) AS count FROM sqlite_schema").get();
      if (version > 0 || countOfRow(tables) === 0) return version;
      throw new StoreError("Database contains tables of another program");
    });
  }

  close(): Promise<void> {
    return this.#closed ??= this.#close();
  }

  async #close(): Promise<void> {
    await this.#writes.idle();
    this.#db.close();
  }

  #write<T>(write: () => T): Promise<T> {
    if (this.#closed !== undefined) return Promise.reject(new StoreError("Database is closed"));
    return this.#writes.add(write) as Promise<T>; // the result of this very write
  }

  #rows(sql: string, values: SqlValue[]): unknown[] {
    return this.#statement(sql).all(...values);
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** @throws {StoreDamagedError} If tables and indexes do not fit together. */
function requireIntact(db: DatabaseSync, path: string): void {
  const bytes = statOf(path)?.size ?? 0;
  const check = bytes <= INDEXES_CHECKED_BYTES ? "integrity_check" : "quick_check";
  const rows: unknown[] = db.prepare(`PRAGMA ${check}(3)`).all();
  const found = rows.map((row) => String(Object.values(Object(row))[0]));
  if (found.length === 1 && found[0] === "ok") return;
  throw new StoreDamagedError(
    `Database ${path} is damaged: ${found.join("; ")}. Restore it from a backup ` +
      "(docs/operating.md, Damaged databases)",
  );
}

function logDamaged(path: string): StoreDamagedError {
  return new StoreDamagedError(
    `Database ${path} is damaged: its write-ahead log ${path}-wal is damaged before its end, and what ` +
      "was committed after that would be lost. Restore it from a backup (docs/operating.md, Damaged " +
      "databases)",
  );
}

/**
 * Creates a database file and its folder, readable by their owner only: they hold signatures and
 * amounts. SQLite gives its log the mode of the file. What exists keeps its mode.
 */
function createPrivately(path: string): void {
  Deno.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  Deno.openSync(path, { create: true, append: true, mode: 0o600 }).close();
}

function attempt<T>(work: () => T): Promise<T> {
  try {
    return Promise.resolve(work());
  } catch (cause) {
    return Promise.reject(asStoreError(cause));
  }
}

/** Runs a function as one transaction: rolls back and throws if anything fails. */
function commit<T>(db: DatabaseSync, run: () => T): T {
  try {
    db.exec("BEGIN IMMEDIATE");
    const result = run();
    db.exec("COMMIT");
    return result;
  } catch (cause) {
    rollBack(db);
    throw asStoreError(cause);
  }
}

function rollBack(db: DatabaseSync): void {
  try {
    db.exec("ROLLBACK");
  } catch (cause) {
    // SQLite rolls back by itself after some failures, such as a full disk.
    if (!/no transaction is active/.test(messageOf(cause))) throw asStoreError(cause);
  }
}

function runSteps<T>(running: Steps<T>, run: (statement: Statement) => unknown[]): T {
  let step = running.next();
  while (!step.done) step = running.next(step.value.map(run));
  return step.value;
}

function migrate(db: DatabaseSync): void {
  commit(db, () => {
    for (const { number, sqlite } of missingMigrations(versionOf(db))) {
      db.exec(sqlite);
      db.exec(`PRAGMA user_version = ${number}`);
    }
  });
}

function versionOf(db: DatabaseSync): number {
  return countOfRow(db.prepare("SELECT user_version AS count FROM pragma_user_version").get());
}
