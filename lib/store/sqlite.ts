import { dirname } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { messageOf } from "../errors.ts";
import { redact } from "../redact.ts";
import {
  type Insertion,
  type Intent,
  type IntentOutcome,
  type IntentStore,
  type NewIntent,
  recordedIntent,
  type SignedTransactionText,
  StoreError,
} from "./intent.ts";
import { MIGRATIONS } from "./migrations.ts";
import { countOfRow, INTENT_COLUMNS, intentOfRow } from "./rows.ts";
import { WriteQueue } from "./write_queue.ts";

/** How long another process may hold the file before a write gives up. It blocks this process. */
const BUSY_TIMEOUT_MS = 250;

const UNFINISHED = "state IN ('accepted', 'submitted')";

/** Statements of the store, prepared once. A write that need not be read back is half as much work. */
function prepareAll(db: DatabaseSync) {
  return {
    insert: db.prepare(
      `INSERT INTO intents (service, key, subject, payload, state, tx_hash, transaction_text,
         expires_at_ms, created_at_ms, updated_at_ms)
       VALUES (?, ?, ?, ?, 'accepted', ?, ?, ?, ?, ?)
       ON CONFLICT (service, key) DO NOTHING`,
    ),
    find: db.prepare(`SELECT ${INTENT_COLUMNS} FROM intents WHERE service = ? AND key = ?`),
    listBySubject: db.prepare(
      `SELECT ${INTENT_COLUMNS} FROM intents
       WHERE service = ? AND subject = ? AND sequence < ?
       ORDER BY sequence DESC LIMIT ?`,
    ),
    listUnfinished: db.prepare(
      `SELECT ${INTENT_COLUMNS} FROM intents
       WHERE service = ? AND ${UNFINISHED} AND sequence > ? AND updated_at_ms <= ? ORDER BY sequence LIMIT ?`,
    ),
    countUnfinished: db.prepare(
      `SELECT count(*) AS count FROM intents WHERE service = ? AND ${UNFINISHED}`,
    ),
    setTransaction: db.prepare(
      `UPDATE intents SET tx_hash = ?, transaction_text = ?, state = 'submitted',
         updated_at_ms = ? WHERE service = ? AND key = ? AND ${UNFINISHED} AND tx_hash IS ?`,
    ),
    noteAttempt: db.prepare(
      `UPDATE intents SET updated_at_ms = ?,
         state = CASE WHEN tx_hash IS NULL THEN state ELSE 'submitted' END
       WHERE service = ? AND key = ? AND ${UNFINISHED} RETURNING ${INTENT_COLUMNS}`,
    ),
    finish: db.prepare(
      `UPDATE intents SET state = ?, receipt = ?, failure_code = ?, failure_message = ?,
         updated_at_ms = ?
       WHERE service = ? AND key = ? AND ${UNFINISHED} AND tx_hash IS ?`,
    ),
  } satisfies Record<string, StatementSync>;
}

/** Intents in one SQLite file: write-ahead log, every commit flushed to the disk. */
export class SqliteIntentStore implements IntentStore {
  readonly #db: DatabaseSync;
  readonly #service: string;
  readonly #statements: ReturnType<typeof prepareAll>;
  readonly #writes: WriteQueue;
  #closed = false;

  private constructor(db: DatabaseSync, service: string) {
    this.#db = db;
    this.#service = service;
    this.#statements = prepareAll(db);
    this.#writes = new WriteQueue((run) => commit(db, run));
  }

  /**
   * Opens a file, making it and its directory where they are missing; `:memory:` keeps nothing.
   *
   * @param service Whose intents these are: others in the same file are not seen.
   * @param pagesMax Bounds the file in pages of 4 KiB, as a quota would.
   * @throws {StoreError} Where the file cannot be used.
   */
  static open(path: string, service: string, pagesMax?: number): SqliteIntentStore {
    let db: DatabaseSync | undefined;
    try {
      if (path !== ":memory:") Deno.mkdirSync(dirname(path), { recursive: true });
      db = new DatabaseSync(path);
      db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
      db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
      migrate(db);
      if (pagesMax !== undefined) db.exec(`PRAGMA max_page_count = ${pagesMax}`);
      return new SqliteIntentStore(db, service);
    } catch (cause) {
      db?.close();
      if (cause instanceof StoreError) throw cause;
      throw new StoreError(redact(`Database ${path} cannot be opened: ${messageOf(cause)}`), cause);
    }
  }

  insert(intent: NewIntent): Promise<Insertion> {
    const { key, subject, payload, transaction, expiresAtMs, createdAtMs } = intent;
    return this.#writes.run(() => {
      const { changes, lastInsertRowid } = this.#statements.insert.run(
        this.#service,
        key,
        subject,
        payload,
        transaction?.txHash ?? null,
        transaction?.text ?? null,
        expiresAtMs,
        createdAtMs,
        createdAtMs,
      );
      if (changes === 0) return { inserted: false, intent: this.#existing(key) };
      return { inserted: true, intent: recordedIntent(intent, Number(lastInsertRowid)) };
    });
  }

  find(key: string): Promise<Intent | undefined> {
    return this.#read(() => this.#find(key));
  }

  listBySubject(subject: string, page: { limit: number; before?: number }): Promise<Intent[]> {
    const { limit, before = Number.MAX_SAFE_INTEGER } = page;
    return this.#read(() =>
      this.#statements.listBySubject.all(this.#service, subject, before, limit).map(intentOfRow)
    );
  }

  listUnfinished(
    page: { limit: number; after: number; updatedAtMostMs: number },
  ): Promise<Intent[]> {
    return this.#read(() =>
      this.#statements.listUnfinished.all(
        this.#service,
        page.after,
        page.updatedAtMostMs,
        page.limit,
      )
        .map(intentOfRow)
    );
  }

  countUnfinished(): Promise<number> {
    return this.#read(() => countOfRow(this.#statements.countUnfinished.get(this.#service)));
  }

  setTransaction(
    intent: Intent,
    transaction: SignedTransactionText,
    nowMs: number,
  ): Promise<Intent> {
    const { key } = intent;
    const { txHash, text } = transaction;
    const replaces = intent.transaction?.txHash ?? null;
    return this.#writes.run(() => {
      const { changes } = this.#statements.setTransaction.run(
        txHash,
        text,
        nowMs,
        this.#service,
        key,
        replaces,
      );
      if (changes === 0) return this.#existing(key);
      return { ...intent, transaction, state: "submitted", updatedAtMs: nowMs };
    });
  }

  noteAttempt(key: string, nowMs: number): Promise<Intent> {
    return this.#writes.run(() => {
      const row = this.#statements.noteAttempt.get(nowMs, this.#service, key);
      return row === undefined ? this.#existing(key) : intentOfRow(row);
    });
  }

  finish(intent: Intent, outcome: IntentOutcome, nowMs: number): Promise<Intent> {
    const { key } = intent;
    const { state, receipt, failure } = outcome;
    return this.#writes.run(() => {
      const { changes } = this.#statements.finish.run(
        state,
        receipt,
        failure?.code ?? null,
        failure?.message ?? null,
        nowMs,
        this.#service,
        key,
        intent.transaction?.txHash ?? null,
      );
      if (changes === 0) return this.#existing(key);
      return { ...intent, ...outcome, updatedAtMs: nowMs };
    });
  }

  async check(): Promise<void> {
    // An empty transaction still has to take the write lock.
    await this.#writes.run(() => {});
  }

  close(): Promise<void> {
    return this.#read(() => {
      if (this.#closed) return;
      this.#closed = true;
      this.#writes.flush();
      this.#db.close();
    });
  }

  #find(key: string): Intent | undefined {
    const row = this.#statements.find.get(this.#service, key);
    return row === undefined ? undefined : intentOfRow(row);
  }

  #existing(key: string): Intent {
    const intent = this.#find(key);
    if (intent === undefined) throw new StoreError(`No intent has the key ${key}`);
    return intent;
  }

  #read<T>(read: () => T): Promise<T> {
    try {
      return Promise.resolve(read());
    } catch (cause) {
      return Promise.reject(asStoreError(cause));
    }
  }
}

function asStoreError(cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause;
  return new StoreError(`Database failed: ${messageOf(cause)}`, cause);
}

/** Runs a function between `BEGIN` and `COMMIT`, or undoes it and throws. */
function commit(db: DatabaseSync, run: () => void): void {
  try {
    db.exec("BEGIN IMMEDIATE");
    run();
    db.exec("COMMIT");
  } catch (cause) {
    rollBack(db);
    throw asStoreError(cause);
  }
}

function rollBack(db: DatabaseSync): void {
  try {
    db.exec("ROLLBACK");
  } catch (cause) {
    // SQLite has undone some failures by itself, such as a full disk.
    if (!/no transaction is active/.test(messageOf(cause))) throw asStoreError(cause);
  }
}

function migrate(db: DatabaseSync): void {
  const version = () =>
    countOfRow(db.prepare("SELECT user_version AS count FROM pragma_user_version").get());
  if (version() > MIGRATIONS.length) {
    throw new StoreError(
      `Database has version ${version()}, made by a newer program: expected at most ${MIGRATIONS.length}`,
    );
  }
  commit(db, () => {
    for (const [index, { sqlite }] of MIGRATIONS.entries()) {
      if (index < version()) continue;
      db.exec(sqlite);
      db.exec(`PRAGMA user_version = ${index + 1}`);
    }
  });
}
