import { Batches } from "./batches.ts";
import { asStoreError, codeOf, StoreConnectionLostError, StoreError } from "./intent.ts";
import { postgresServers } from "./location.ts";
import { missingMigrations } from "./migrations.ts";
import type { PostgresConnection, Rows } from "./postgres_connection.ts";
import { PostgresPool, PostgresServers } from "./postgres_pool.ts";
import { countOfRow, type SqlDriver, type SqlValue, type Statement, type Steps } from "./sql.ts";

/** Connections of one process: for single statements, and one more for transactions. */
const STATEMENT_CONNECTIONS_MAX = 9;

/** Attempts at the migrations: a process that starts at the same time can cause a failure. */
const MIGRATION_ATTEMPTS = 5;

/** How long one step of a migration may take: it may rewrite a large table. */
const MIGRATION_DEADLINE_MS = 600_000;

/** Most transactions that share one commit. The locks of all of them last until it ends. */
const BATCH_MAX = 100;

/** Errors of the slower of two processes that migrate: classes 23 and 40, and "already exists". */
const LOST_RACE_CODE = /^(23|40)|^42P0[67]$|^42710$/;

/**
 * PostgreSQL, or a database that speaks its protocol, for several processes that share one store. It
 * gets plain SQL only: no advisory locks, no notifications.
 */
export class PostgresDriver implements SqlDriver {
  readonly #statements: PostgresPool;
  readonly #transactions: PostgresPool;
  readonly #batches = new Batches<() => Steps<unknown>, unknown>(
    BATCH_MAX,
    (take) =>
      this.#transactions.use((connection) =>
        inTransaction(connection, () => runInOrder(connection, take()))
      ),
  );

  /**
   * Connects with the first statement, and leaves the tables as they are.
   *
   * @param url `postgres://user:password@host:port,host:port/database`, with all servers of which one
   * accepts writes; `?search_path=` chooses a schema.
   */
  constructor(url: string) {
    const servers = new PostgresServers(postgresServers(url));
    this.#statements = new PostgresPool(servers, STATEMENT_CONNECTIONS_MAX);
    this.#transactions = new PostgresPool(servers, 1);
  }

  /**
   * Connects and brings the tables up to date.
   *
   * @throws {StoreError} If the server cannot be used.
   */
  static async open(url: string): Promise<PostgresDriver> {
    const driver = new PostgresDriver(url);
    try {
      await driver.#transactions.use(migrate);
      return driver;
    } catch (cause) {
      await driver.close();
      throw asStoreError(cause);
    }
  }

  read(sql: string, values: SqlValue[]): Promise<unknown[]> {
    return this.#run(sql, values);
  }

  write(sql: string, values: SqlValue[]): Promise<unknown[]> {
    // The server runs each statement as a transaction, and answers once it is flushed.
    return this.#run(sql, values);
  }

  async change(sql: string, values: SqlValue[]): Promise<number> {
    return (await this.#run(sql, values)).count;
  }

  transaction<T>(steps: () => Steps<T>): Promise<T> {
    // The result of these very steps.
    return this.#batches.add(steps) as Promise<T>;
  }

  async version(): Promise<number> {
    const tables = "to_regclass('migrations') IS NOT NULL AND to_regclass('intents') IS NOT NULL";
    if (await this.#count(`(${tables})::int`) > 0) {
      return await this.#count(`(${NEWEST_MIGRATION})`);
    }
    const allowed = "has_schema_privilege(current_schema(), 'CREATE')::int";
    if (await this.#count(allowed) > 0) return 0;
    throw new StoreError("Database has no tables yet, and its user may not create them");
  }

  async close(): Promise<void> {
    await Promise.all([this.#statements.close(), this.#transactions.close()]);
  }

  #run(sql: string, values: SqlValue[]): Promise<Rows> {
    return this.#statements.use((connection) => connection.run(numbered(sql), values));
  }

  async #count(expression: string): Promise<number> {
    const [row] = await this.#run(`SELECT ${expression} AS count`, []);
    return countOfRow(row);
  }
}

/**
 * Runs work as one transaction. The outcome is unknown only if the connection is lost during the
 * commit.
 */
async function inTransaction<T>(
  connection: PostgresConnection,
  work: () => Promise<T>,
): Promise<T> {
  let result: T;
  try {
    await connection.run("BEGIN");
    result = await work();
  } catch (thrown) {
    // A session that cannot roll back must not be used again.
    await connection.run("ROLLBACK").catch(() => connection.destroy());
    throw asUncommitted(thrown);
  }
  await connection.run("COMMIT");
  return result;
}

/** Nothing is recorded before the commit, so nothing is unknown. */
function asUncommitted(thrown: unknown): unknown {
  if (!(thrown instanceof StoreConnectionLostError)) return thrown;
  return new StoreError("Database connection was lost: nothing was recorded", thrown.cause);
}

async function runInOrder(
  connection: PostgresConnection,
  batch: readonly (() => Steps<unknown>)[],
): Promise<unknown[]> {
  const results: unknown[] = [];
  for (const steps of batch) results.push(await runSteps(connection, steps()));
  return results;
}

async function runSteps<T>(
  connection: PostgresConnection,
  running: Steps<T>,
  deadlineMs?: number,
): Promise<T> {
  // Sent together, they run one after the other. All finish before the transaction continues.
  const run = async (statements: readonly Statement[]) => {
    const rows = statements.map(({ sql, values }) =>
      connection.run(numbered(sql), values, deadlineMs)
    );
    await Promise.allSettled(rows);
    return await Promise.all(rows);
  };
  let step = running.next();
  while (!step.done) step = running.next(await run(step.value));
  return step.value;
}

/** The statement with PostgreSQL's placeholders. */
function numbered(sql: string): string {
  let number = 0;
  return sql.replaceAll("?", () => `$${number += 1}`);
}

/** Version of the tables. */
const NEWEST_MIGRATION = "SELECT coalesce(max(number), 0) AS count FROM migrations";

/** Runs the missing steps in one transaction. If processes race, one runs them and the others see it. */
async function migrate(connection: PostgresConnection): Promise<void> {
  for (let attempt = 1;; attempt += 1) {
    try {
      return await migrateOnce(connection);
    } catch (thrown) {
      const cause = thrown instanceof StoreError ? thrown.cause : thrown;
      if (!LOST_RACE_CODE.test(codeOf(cause)) || attempt === MIGRATION_ATTEMPTS) throw thrown;
    }
  }
}

async function migrateOnce(connection: PostgresConnection): Promise<void> {
  const run = (sql: string) => connection.run(sql, [], MIGRATION_DEADLINE_MS);
  await run("CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY)");
  await inTransaction(connection, async () => {
    const [row] = await run(NEWEST_MIGRATION);
    const missing = missingMigrations(countOfRow(row));
    if (missing.length > 0) await run(`SET LOCAL statement_timeout = ${MIGRATION_DEADLINE_MS}`);
    for (const { number, postgres, fill } of missing) {
      await run(`INSERT INTO migrations (number) VALUES (${number})`);
      await run(postgres);
      if (fill !== undefined) await runSteps(connection, fill(), MIGRATION_DEADLINE_MS);
    }
  });
}
