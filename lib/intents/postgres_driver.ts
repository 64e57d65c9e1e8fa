import postgres from "postgres";
import { asStoreError, codeOf, StoreConnectionLostError, StoreError } from "./intent.ts";
import { missingMigrations } from "./migrations.ts";
import { countOfRow, type SqlDriver, type SqlValue, type Steps } from "./sql.ts";

/** Connections of one process. */
const CONNECTIONS_MAX = 10;

/** How long connecting may take before the call fails. */
const CONNECT_TIMEOUT_SECONDS = 3;

/** How long the server may work on one statement. */
const STATEMENT_TIMEOUT_MS = 3_000;

/** How long running statements may take when the driver is closed. */
const CLOSE_TIMEOUT_SECONDS = 1;

/** Attempts at the migrations: a process that starts at the same time can make one fail. */
const MIGRATION_ATTEMPTS = 5;

/** Transactions that share one commit. Each holds the locks of all, so there are not too many. */
const BATCH_MAX = 100;

interface WaitingTransaction {
  steps: () => Steps<unknown>;
  resolve: (value: unknown) => void;
  reject: (cause: unknown) => void;
}

/** The library's codes for a connection that broke after something was sent. */
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

/** Errors of the slower of two processes that migrate: classes 23 and 40, and "already exists". */
const LOST_RACE_CODE = /^(23|40)|^42P0[67]$|^42710$/;

/**
 * PostgreSQL, or a database that speaks its protocol, for several processes that share one store. It
 * gets plain SQL only: no advisory locks, no notifications.
 */
export class PostgresDriver implements SqlDriver {
  readonly #sql: postgres.Sql;
  readonly #waiting: WaitingTransaction[] = [];
  #batches: Promise<void> | undefined;

  /**
   * Connects with the first statement, and leaves the tables as they are.
   *
   * @param url `postgres://user:password@host:port/database`; `?search_path=` chooses a schema.
   */
  constructor(url: string) {
    this.#sql = postgres(url, {
      max: CONNECTIONS_MAX,
      connect_timeout: CONNECT_TIMEOUT_SECONDS,
      // Reconnects with the next statement, not after a growing pause.
      backoff: false,
      onnotice: () => {},
      connection: {
        statement_timeout: STATEMENT_TIMEOUT_MS,
        // A process that dies within a transaction must not keep its locks.
        idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
        synchronous_commit: "on",
      },
    });
  }

  /**
   * Connects and brings the tables up to date.
   *
   * @throws {StoreError} If the server cannot be used.
   */
  static async open(url: string): Promise<PostgresDriver> {
    const driver = new PostgresDriver(url);
    try {
      await migrate(driver.#sql);
      return driver;
    } catch (cause) {
      await driver.close();
      throw storeErrorOf(cause);
    }
  }

  read(sql: string, values: SqlValue[]): Promise<unknown[]> {
    return this.#run(sql, values);
  }

  write(sql: string, values: SqlValue[]): Promise<unknown[]> {
    // The server makes each statement a transaction, and answers once it is flushed.
    return this.#run(sql, values);
  }

  transaction<T>(steps: () => Steps<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      // The batch calls resolve with the result of these very steps.
      this.#waiting.push({ steps, resolve: resolve as (value: unknown) => void, reject });
      this.#batches ??= this.#runBatches();
    });
  }

  /** Group commit: the transactions that wait while one runs form the next one. */
  async #runBatches(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH_MAX);
      try {
        const results = await this.#sql.begin((sql) => runInOrder(sql, batch));
        batch.forEach(({ resolve }, index) => resolve(results[index]));
      } catch (cause) {
        for (const { reject } of batch) reject(storeErrorOf(cause));
      }
    }
    this.#batches = undefined;
  }

  async checkWritable(): Promise<void> {
    const readOnly = "(current_setting('transaction_read_only') = 'on')::int";
    if (await this.#count(readOnly) > 0) throw new StoreError("Database is read-only");
  }

  async version(): Promise<number> {
    await this.checkWritable();
    const tables = "to_regclass('migrations') IS NOT NULL AND to_regclass('intents') IS NOT NULL";
    if (await this.#count(`(${tables})::int`) > 0) {
      return await this.#count(`(${NEWEST_MIGRATION})`);
    }
    const allowed = "has_schema_privilege(current_schema(), 'CREATE')::int";
    if (await this.#count(allowed) > 0) return 0;
    throw new StoreError("Database has no tables yet, and its user may not create them");
  }

  async close(): Promise<void> {
    await this.#sql.end({ timeout: CLOSE_TIMEOUT_SECONDS });
  }

  async #run(sql: string, values: SqlValue[]): Promise<unknown[]> {
    try {
      return await this.#sql.unsafe(numbered(sql), values, { prepare: true });
    } catch (cause) {
      throw storeErrorOf(cause);
    }
  }

  async #count(expression: string): Promise<number> {
    const [row] = await this.#run(`SELECT ${expression} AS count`, []);
    return countOfRow(row);
  }
}

async function runInOrder(
  sql: postgres.TransactionSql,
  batch: readonly WaitingTransaction[],
): Promise<unknown[]> {
  const results: unknown[] = [];
  for (const { steps } of batch) {
    const running = steps();
    let step = running.next();
    while (!step.done) {
      // Sent together, they run one after the other.
      const rows = step.value.map(({ sql: text, values }) =>
        sql.unsafe(numbered(text), values, { prepare: true })
      );
      step = running.next(await Promise.all(rows));
    }
    results.push(step.value);
  }
  return results;
}

/** The statement with PostgreSQL's placeholders. */
function numbered(sql: string): string {
  let number = 0;
  return sql.replaceAll("?", () => `$${number += 1}`);
}

function storeErrorOf(cause: unknown): StoreError {
  return LOST_CODES.has(codeOf(cause)) ? new StoreConnectionLostError(cause) : asStoreError(cause);
}

/** Version of the tables. */
const NEWEST_MIGRATION = "SELECT coalesce(max(number), 0) AS count FROM migrations";

/** Runs the missing steps in one transaction. If processes race, one runs them and the others see it. */
async function migrate(sql: postgres.Sql): Promise<void> {
  for (let attempt = 1;; attempt += 1) {
    try {
      return await migrateOnce(sql);
    } catch (cause) {
      if (!LOST_RACE_CODE.test(codeOf(cause)) || attempt === MIGRATION_ATTEMPTS) throw cause;
    }
  }
}

async function migrateOnce(sql: postgres.Sql): Promise<void> {
  await sql`CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY)`;
  await sql.begin(async (tx) => {
    const [row] = await tx.unsafe(NEWEST_MIGRATION);
    for (const { number, postgres } of missingMigrations(countOfRow(row))) {
      await tx`INSERT INTO migrations (number) VALUES (${number})`;
      await tx.unsafe(postgres);
    }
  });
}
