import postgres from "postgres";
import { messageOf } from "../errors.ts";
import {
  type Insertion,
  type Intent,
  type IntentOutcome,
  type IntentStore,
  type NewIntent,
  recordedIntent,
  type SignedTransactionText,
  StoreConnectionLostError,
  StoreError,
} from "./intent.ts";
import { MIGRATIONS } from "./migrations.ts";
import { countOfRow, INTENT_COLUMNS, intentOfRow, sequenceOfRow } from "./rows.ts";

/** Connections that one process holds at most. */
const CONNECTIONS_MAX = 10;

/** How long opening a connection may take before the store counts as away. */
const CONNECT_TIMEOUT_SECONDS = 3;

/** How long the server may work on one statement before it gives up. */
const STATEMENT_TIMEOUT_MS = 3_000;

/** How long statements may still take when the store is closed. */
const CLOSE_TIMEOUT_SECONDS = 1;

/** Attempts at the migrations: another process that starts at the same time makes one of them fail. */
const MIGRATION_ATTEMPTS = 5;

/** Codes of the driver for a connection that broke after something was sent. */
const LOST_CODES = new Set([
  "CONNECTION_CLOSED",
  "CONNECTION_DESTROYED",
  "ECONNABORTED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EPIPE",
  "ETIMEDOUT",
]);

/**
 * Intents in PostgreSQL, or in an engine that speaks its protocol: for several processes that share
 * one store. Only plain SQL is used: no advisory locks, no notifications.
 */
export class PostgresIntentStore implements IntentStore {
  readonly #sql: postgres.Sql;
  readonly #service: string;

  private constructor(sql: postgres.Sql, service: string) {
    this.#sql = sql;
    this.#service = service;
  }

  /**
   * Connects and brings the tables up to date.
   *
   * @param url `postgres://user:password@host:port/database`; `?search_path=` chooses a schema.
   * @param service Whose intents these are: others in the same database are not seen.
   * @throws {StoreError} Where the server cannot be used.
   */
  static async open(url: string, service: string): Promise<PostgresIntentStore> {
    const sql = postgres(url, {
      max: CONNECTIONS_MAX,
      connect_timeout: CONNECT_TIMEOUT_SECONDS,
      // A connection that failed is tried again at the next statement, not after a growing pause.
      backoff: false,
      onnotice: () => {},
      connection: { statement_timeout: STATEMENT_TIMEOUT_MS, synchronous_commit: "on" },
    });
    try {
      await migrate(sql);
      return new PostgresIntentStore(sql, service);
    } catch (cause) {
      await sql.end({ timeout: CLOSE_TIMEOUT_SECONDS });
      throw asStoreError(cause);
    }
  }

  insert(intent: NewIntent): Promise<Insertion> {
    const { key, subject, payload, transaction, expiresAtMs, createdAtMs } = intent;
    return this.#run(async (sql) => {
      const [row] = await sql`
        INSERT INTO intents (service, key, subject, payload, state, tx_hash, transaction_text,
          expires_at_ms, created_at_ms, updated_at_ms)
        VALUES (${this.#service}, ${key}, ${subject}, ${payload}, 'accepted', ${
        transaction?.txHash ?? null
      },
          ${transaction?.text ?? null}, ${expiresAtMs}, ${createdAtMs}, ${createdAtMs})
        ON CONFLICT (service, key) DO NOTHING RETURNING sequence`;
      if (row === undefined) return { inserted: false, intent: await this.#existing(key) };
      return { inserted: true, intent: recordedIntent(intent, sequenceOfRow(row)) };
    });
  }

  find(key: string): Promise<Intent | undefined> {
    return this.#run(async (sql) => {
      const [row] = await sql`
        SELECT ${sql.unsafe(INTENT_COLUMNS)} FROM intents
        WHERE service = ${this.#service} AND key = ${key}`;
      return row === undefined ? undefined : intentOfRow(row);
    });
  }

  listBySubject(subject: string, page: { limit: number; before?: number }): Promise<Intent[]> {
    const { limit, before = Number.MAX_SAFE_INTEGER } = page;
    return this.#run(async (sql) => {
      const rows = await sql`
        SELECT ${sql.unsafe(INTENT_COLUMNS)} FROM intents
        WHERE service = ${this.#service} AND subject = ${subject} AND sequence < ${before}
        ORDER BY sequence DESC LIMIT ${limit}`;
      return rows.map(intentOfRow);
    });
  }

  listUnfinished(
    page: { limit: number; after: number; updatedAtMostMs: number },
  ): Promise<Intent[]> {
    return this.#run(async (sql) => {
      const rows = await sql`
        SELECT ${sql.unsafe(INTENT_COLUMNS)} FROM intents
        WHERE service = ${this.#service} AND state IN ('accepted', 'submitted')
          AND sequence > ${page.after} AND updated_at_ms <= ${page.updatedAtMostMs}
        ORDER BY sequence LIMIT ${page.limit}`;
      return rows.map(intentOfRow);
    });
  }

  countUnfinished(): Promise<number> {
    return this.#run(async (sql) => {
      const [row] = await sql`
        SELECT count(*) AS count FROM intents
        WHERE service = ${this.#service} AND state IN ('accepted', 'submitted')`;
      return countOfRow(row);
    });
  }

  setTransaction(
    intent: Intent,
    transaction: SignedTransactionText,
    nowMs: number,
  ): Promise<Intent> {
    const { key } = intent;
    const { txHash, text } = transaction;
    return this.#run(async (sql) => {
      const { count } = await sql`
        UPDATE intents SET tx_hash = ${txHash}, transaction_text = ${text}, state = 'submitted',
          updated_at_ms = ${nowMs}
        WHERE service = ${this.#service} AND key = ${key} AND state IN ('accepted', 'submitted')
          AND tx_hash IS NOT DISTINCT FROM ${intent.transaction?.txHash ?? null}`;
      if (count === 0) return await this.#existing(key);
      return { ...intent, transaction, state: "submitted", updatedAtMs: nowMs };
    });
  }

  noteAttempt(key: string, nowMs: number): Promise<Intent> {
    return this.#run(async (sql) => {
      const [row] = await sql`
        UPDATE intents SET updated_at_ms = ${nowMs},
          state = CASE WHEN tx_hash IS NULL THEN state ELSE 'submitted' END
        WHERE service = ${this.#service} AND key = ${key} AND state IN ('accepted', 'submitted')
        RETURNING ${sql.unsafe(INTENT_COLUMNS)}`;
      return row === undefined ? await this.#existing(key) : intentOfRow(row);
    });
  }

  finish(intent: Intent, outcome: IntentOutcome, nowMs: number): Promise<Intent> {
    const { key } = intent;
    const { state, receipt, failure } = outcome;
    return this.#run(async (sql) => {
      const { count } = await sql`
        UPDATE intents SET state = ${state}, receipt = ${receipt},
          failure_code = ${failure?.code ?? null}, failure_message = ${failure?.message ?? null},
          updated_at_ms = ${nowMs}
        WHERE service = ${this.#service} AND key = ${key} AND state IN ('accepted', 'submitted')
          AND tx_hash IS NOT DISTINCT FROM ${intent.transaction?.txHash ?? null}`;
      if (count === 0) return await this.#existing(key);
      return { ...intent, ...outcome, updatedAtMs: nowMs };
    });
  }

  check(): Promise<void> {
    return this.#run(async (sql) => {
      const [row] = await sql`SHOW transaction_read_only`;
      if (row?.transaction_read_only === "on") throw new StoreError("Database is read-only");
    });
  }

  async close(): Promise<void> {
    await this.#sql.end({ timeout: CLOSE_TIMEOUT_SECONDS });
  }

  async #existing(key: string): Promise<Intent> {
    const intent = await this.find(key);
    if (intent === undefined) throw new StoreError(`No intent has the key ${key}`);
    return intent;
  }

  async #run<T>(work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
    try {
      return await work(this.#sql);
    } catch (cause) {
      throw asStoreError(cause);
    }
  }
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && "code" in cause ? String(cause.code) : "";
}

function asStoreError(cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause;
  const code = codeOf(cause);
  if (LOST_CODES.has(code)) return new StoreConnectionLostError(cause);
  // An error that gathers several, as of a host with two addresses, has no message of its own.
  const message = messageOf(cause) || code || "no reason given";
  return new StoreError(`Database failed: ${message}`, cause);
}

/** Runs the missing steps in one transaction; of several processes one does it, the others see it. */
async function migrate(sql: postgres.Sql): Promise<void> {
  for (let attempt = 1;; attempt += 1) {
    try {
      return await migrateOnce(sql);
    } catch (cause) {
      // Class 23 and 40 and "already exists" are what the slower of two processes is told.
      const lostRace = /^(23|40)|^42P0[67]$|^42710$/.test(codeOf(cause));
      if (!lostRace || attempt === MIGRATION_ATTEMPTS) throw cause;
    }
  }
}

async function migrateOnce(sql: postgres.Sql): Promise<void> {
  await sql`CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY)`;
  await sql.begin(async (tx) => {
    const [row] = await tx`SELECT coalesce(max(number), 0) AS count FROM migrations`;
    const done = countOfRow(row);
    if (done > MIGRATIONS.length) {
      throw new StoreError(
        `Database has version ${done}, made by a newer program: expected at most ${MIGRATIONS.length}`,
      );
    }
    for (const [index, migration] of MIGRATIONS.entries()) {
      if (index < done) continue;
      await tx`INSERT INTO migrations (number) VALUES (${index + 1})`;
      await tx.unsafe(migration.postgres);
    }
  });
}
