import { dirname } from "node:path";
import { setImmediate } from "node:timers/promises";
import { messageOf } from "../errors.ts";
import { readStat } from "../files.ts";
import { redact } from "../redact.ts";
import { SqliteDatabase } from "../database/sqlite.ts";
import { Batches, ITEMS_WAITING_MAX } from "./batches.ts";
import { asStoreError, StoreDamagedError, StoreError } from "./errors.ts";
import { IN_MEMORY } from "../database/database_url.ts";
import {
  countOfRow,
  missingMigrations,
  type SqlDriver,
  type SqlSteps,
  type SqlValue,
  type Statement,
} from "./database.ts";
import { findLogDamage } from "../database/sqlite_log.ts";

/** In larger files, indexes are not checked at start: that takes a minute for 10 GB. */
const INDEXES_CHECKED_BYTES = 1_000_000_000;

/** A SQLite file with a write-ahead log; every commit is flushed to the disk. */
export class SqliteDriver implements SqlDriver {
  readonly #db: SqliteDatabase;
  /** The writes of one turn of the event loop share one transaction and one flush to the disk. */
  readonly #writes = new Batches<() => unknown, unknown>(ITEMS_WAITING_MAX, async (take) => {
    await setImmediate();
    return commit(this.#db, () => take().map((write) => write()));
  });
  /** The last transaction of the log was incomplete or damaged, and is lost. */
  readonly hadTornLog: boolean;
  #closed: Promise<void> | undefined;

  private constructor(db: SqliteDatabase, hadTornLog = false) {
    this.#db = db;
    this.hadTornLog = hadTornLog;
  }

  /**
   * Opens a file and brings its tables up to date. Creates the file (mode 0600) and its folder
   * (0700) if they are missing; `:memory:` keeps nothing.
   *
   * @throws {StoreDamagedError} If the file or its log is damaged.
   * @throws {StoreError} If the file cannot be used.
   * @throws {Deno.errors.NotCapable} If this process may not open it.
   */
  static open(path: string): SqliteDriver {
    let db: SqliteDatabase | undefined;
    try {
      if (path !== IN_MEMORY) requireFile(path); // it would wait for the other end of a pipe
      if (path !== IN_MEMORY) requireDatabaseOfLog(path);
      if (path !== IN_MEMORY) createPrivately(path);
      // SQLite drops the damaged part when it opens the file.
      const damage = path === IN_MEMORY ? undefined : findLogDamage(path);
      if (damage === "damaged") throw logDamaged(path);
      db = new SqliteDatabase(path, { errorOf });
      missingMigrations(readVersion(db)); // refuses a file of another program before it is changed
      db.useLog();
      if (path !== IN_MEMORY) requireIntact(db, path);
      migrate(db);
      if (path !== IN_MEMORY) db.watchFiles();
      return new SqliteDriver(db, damage === "torn");
    } catch (cause) {
      db?.close();
      if (cause instanceof Deno.errors.NotCapable) throw cause;
      const reason = cause instanceof StoreError ? cause.cause : cause;
      if (reason === undefined) throw cause; // already our own error
      throw new StoreError(
        redact(`Database ${path} cannot be opened: ${messageOf(reason)}`),
        reason,
      );
    }
  }

  /** Opens an existing file for reading, and leaves it as it is. @throws {StoreError} As `open`. */
  static openToInspect(path: string): SqliteDriver {
    requireFile(path);
    // Closing a connection that may write removes the log and its index. That is right unless they
    // existed before: another process may be using them.
    const readOnly = readStat(`${path}-wal`) !== undefined;
    return new SqliteDriver(new SqliteDatabase(path, { readOnly, errorOf }));
  }

  read(sql: string, values: SqlValue[]): Promise<unknown[]> {
    return Promise.try(() => this.#db.all(sql, ...values));
  }

  write(sql: string, values: SqlValue[]): Promise<unknown[]> {
    return this.#write(() => this.#db.all(sql, ...values));
  }

  transaction<T>(steps: () => SqlSteps<T>): Promise<T> {
    // No other statement comes between these: a batch of writes runs from its begin to its commit.
    return this.#write(() => runSteps(steps(), ({ sql, values }) => this.#db.all(sql, ...values)));
  }

  version(): Promise<number> {
    return Promise.try(() => readVersion(this.#db));
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
}

/** A missing permission is passed on, for commands to explain; other errors become store errors. */
function errorOf(cause: unknown): Error {
  return cause instanceof Deno.errors.NotCapable ? cause : asStoreError(cause);
}

/** @throws {StoreDamagedError} If tables and indexes do not fit together. */
function requireIntact(db: SqliteDatabase, path: string): void {
  const bytes = readStat(path)?.size ?? 0;
  const check = bytes <= INDEXES_CHECKED_BYTES ? "integrity_check" : "quick_check";
  const found = db.all(`PRAGMA ${check}(3)`).map((row) => String(Object.values(row)[0]));
  if (found.length === 1 && found[0] === "ok") return;
  throw new StoreDamagedError(
    `Database ${path} is damaged: ${found.join("; ")}. Restore it from a backup ` +
      "(docs/runbooks.md, Damaged databases)",
  );
}

/** @throws {StoreError} If there is something else at the path. */
function requireFile(path: string): void {
  const found = readStat(path, Deno.lstatSync);
  if (found === undefined || found.isFile) return;
  throw new StoreError(
    found.isSymlink
      ? `Database ${path} is a symbolic link, so its write-ahead log would not be checked for damage: ` +
        "name the file that it leads to"
      : `Database ${path} cannot be opened: it is not a file`,
  );
}

/** @throws {StoreError} If the file of a log is missing: SQLite would delete that log. */
export function requireDatabaseOfLog(path: string): void {
  const [database = 0, log = 0] = [path, `${path}-wal`].map((file) => readStat(file)?.size);
  if (database > 0 || log === 0) return;
  throw new StoreError(
    `Database ${path} is missing or empty, but its write-ahead log ${path}-wal is there, with ` +
      "transactions that would be lost: put the file back, or move the log away with it",
  );
}

function logDamaged(path: string): StoreDamagedError {
  return new StoreDamagedError(
    `Database ${path} is damaged: its write-ahead log ${path}-wal is damaged before its end, and ` +
      "transactions after the damage would be lost. Restore it from a backup (docs/runbooks.md, Damaged " +
      "databases)",
  );
}

/**
 * Creates a database file and its folder, readable by their owner only: they hold signatures and
 * amounts. SQLite gives its log the mode of the file. Existing files keep their mode.
 */
function createPrivately(path: string): void {
  Deno.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  Deno.openSync(path, { create: true, append: true, mode: 0o600 }).close();
}

/** Runs a function as one transaction: rolls back and throws if anything fails. */
function commit<T>(db: SqliteDatabase, run: () => T): T {
  try {
    db.run("BEGIN IMMEDIATE");
    const result = run();
    db.run("COMMIT");
    if (db.isReplaced) throw replaced(db);
    return result;
  } catch (cause) {
    db.rollBack();
    throw asStoreError(cause);
  }
}

function replaced({ path }: SqliteDatabase): StoreError {
  return new StoreError(
    `Database ${path} or its log was removed, moved or replaced: stop the service, put the file or a ` +
      "backup in its place, and start it",
  );
}

function runSteps<T>(running: SqlSteps<T>, run: (statement: Statement) => unknown[]): T {
  let step = running.next();
  while (!step.done) step = running.next(step.value.map(run));
  return step.value;
}

function migrate(db: SqliteDatabase): void {
  commit(db, () => {
    for (const { number, sqlite } of missingMigrations(readVersion(db))) {
      db.exec(sqlite);
      db.exec(`PRAGMA user_version = ${number}`);
    }
  });
}

/** @throws {StoreError} If another program made the tables: it may not like others beside them. */
function readVersion(db: SqliteDatabase): number {
  // Before the version: another process may make the tables between the two.
  const tables = db.get("SELECT count(*) AS count FROM sqlite_schema");
  const version = countOfRow(db.get("SELECT user_version AS count FROM pragma_user_version"));
  if (version > 0 || countOfRow(tables) === 0) return version;
  throw new StoreError(
    "Database contains tables of another program: name another file with --database",
  );
}
