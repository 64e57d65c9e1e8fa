import { Batches } from "./batches.ts";
import {
  asStoreError,
  driverCodeOf,
  sqlStateKindOf,
  StoreConnectionLostError,
  StoreError,
} from "./errors.ts";
import { postgresServers } from "../database/database_url.ts";
import {
  countOfRow,
  missingMigrations,
  type SqlDriver,
  type SqlSteps,
  type SqlValue,
  type Statement,
} from "./database.ts";
import {
  type PostgresConnection,
  PostgresServers,
  type PostgresTimeouts,
} from "./postgres_servers.ts";

/** Most statements that are sent together over one connection. */
const STATEMENTS_TOGETHER_MAX = 20;

/** Connections for statements. A transaction has one more. */
const STATEMENT_CONNECTIONS_MAX = 9;

/** Attempts at the migrations: of processes that start at the same time, the slower one fails. */
const MIGRATION_ATTEMPTS = 5;

/** Counts the tables of some names where a start would create them: other schemas may have them too. */
const tablesNamed = (...names: string[]) =>
  `(SELECT count(*)::int FROM pg_tables WHERE schemaname = current_schema()
  AND tablename IN ('${names.join("', '")}'))`;

const NEWEST_MIGRATION = "SELECT coalesce(max(number), 0) AS count FROM migrations";

/** Runs a statement on one connection. */
type Run = (sql: string, values?: SqlValue[]) => ReturnType<PostgresConnection["run"]>;

/**
 * PostgreSQL, or a database that speaks its protocol, for several processes that share one store.
 * It gets plain SQL only: no advisory locks, no notifications.
 */
export class PostgresDriver implements SqlDriver {
  readonly #servers: PostgresServers;
  readonly #texts = new Map<string, { text: string; name: string }>();
  readonly #statements = new Batches<Statement, PromiseSettledResult<{ rows: unknown[] }>>(
    STATEMENTS_TOGETHER_MAX,
    (take) =>
      this.#withConnection((run) =>
        Promise.allSettled(take().map(({ sql, values }) => run(sql, values)))
      ),
    STATEMENT_CONNECTIONS_MAX,
  );
  /** Transactions of one process run one after the other: they change its books. */
  readonly #transactions = new Batches<() => Promise<unknown>, unknown>(
    1,
    (take) => Promise.all(take().map((run) => run())),
  );

  /**
   * Connects with the first statement, and does not change the tables.
   *
   * @param url `postgres://user:password@host:port,host:port/database`, with all servers of which
   *   one accepts writes; `?search_path=` chooses a schema.
   */
  constructor(url: string, timeouts?: PostgresTimeouts) {
    this.#servers = new PostgresServers(postgresServers(url), timeouts);
  }

  /**
   * Connects and brings the tables up to date.
   *
   * @throws {StoreError} If the server cannot be used.
   */
  static async open(url: string): Promise<PostgresDriver> {
    const driver = new PostgresDriver(url);
    try {
      await driver.#migrate();
      return driver;
    } catch (cause) {
      await driver.close();
      throw asStoreError(cause);
    }
  }

  /** Runs a statement together with those that wait. */
  async read(sql: string, values: SqlValue[]): Promise<unknown[]> {
    const result = await this.#statements.add({ sql, values });
    if (result.status === "fulfilled") return result.value.rows;
    throw result.reason;
  }

  /** The server runs each statement as a transaction, and answers once it is flushed. */
  write(sql: string, values: SqlValue[]): Promise<unknown[]> {
    return this.read(sql, values);
  }

  transaction<T>(steps: () => SqlSteps<T>): Promise<T> {
    const run = () =>
      this.#withConnection((run) => inTransaction(run, () => runSteps(run, steps())));
    return this.#transactions.add(run) as Promise<T>; // the result of this very transaction
  }

  async version(): Promise<number> {
    const hasMigrations = await this.#count(tablesNamed("migrations")) > 0;
    const version = hasMigrations ? await this.#count(`(${NEWEST_MIGRATION})`) : 0;
    const taken = tablesNamed("intents", "reservation_locks", "services", "saved_values");
    if (version === 0 && await this.#count(taken) > 0) {
      throw new StoreError(
        "Database contains tables of another program, with names that a start needs: name another " +
          "database with --database, or another schema with ?search_path=",
      );
    }
    // Each start needs it, also if there is nothing to create.
    const allowed = "has_schema_privilege(current_schema(), 'CREATE')::int";
    if (await this.#count(allowed) > 0) return version;
    throw new StoreError(
      "Database cannot be used: its user may not create tables: grant it CREATE on the schema",
    );
  }

  close(): Promise<void> {
    return this.#servers.close();
  }

  async #count(expression: string): Promise<number> {
    const [row] = await this.read(`SELECT ${expression} AS count`, []);
    return countOfRow(row);
  }

  #withConnection<T>(work: (run: Run) => Promise<T>): Promise<T> {
    return this.#servers.use((connection) =>
      work((sql, values = []) => connection.run(this.#textOf(sql), values))
    );
  }

  /** A statement with PostgreSQL's placeholders, and its name on every connection. */
  #textOf(sql: string): { text: string; name: string } {
    return this.#texts.getOrInsertComputed(sql, () => {
      let number = 0;
      const text = sql.replaceAll("?", () => `$${number += 1}`);
      return { text, name: `s${this.#texts.size}` };
    });
  }

  /** Runs the missing steps in one transaction. Of processes that race, one runs them. */
  async #migrate(): Promise<void> {
    for (let attempt = 1;; attempt += 1) {
      try {
        await this.#withConnection((run) =>
          run("CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY)")
        );
        return await this.#withConnection((run) => inTransaction(run, () => runMissing(run)));
      } catch (thrown) {
        const cause = thrown instanceof StoreError ? thrown.cause : thrown;
        if (sqlStateKindOf(driverCodeOf(cause)) !== "race") throw thrown;
        if (attempt === MIGRATION_ATTEMPTS) throw thrown;
      }
    }
  }
}

async function runMissing(run: Run): Promise<void> {
  const { rows: [row] } = await run(NEWEST_MIGRATION);
  for (const { number, postgres } of missingMigrations(countOfRow(row))) {
    await run(`INSERT INTO migrations (number) VALUES (${number})`);
    await run(postgres);
  }
}

/** Runs work as one transaction. The outcome is unknown only if its commit loses the connection. */
async function inTransaction<T>(run: Run, work: () => Promise<T>): Promise<T> {
  let result: T;
  try {
    await run("BEGIN");
    result = await work();
  } catch (thrown) {
    if (!(thrown instanceof StoreConnectionLostError)) throw thrown;
    throw new StoreError("Database connection was lost: nothing was recorded", thrown.cause);
  }
  await run("COMMIT");
  return result;
}

async function runSteps<T>(run: Run, running: SqlSteps<T>): Promise<T> {
  // Sent together, they run one after the other.
  const runAll = async (statements: readonly Statement[]) => {
    const answers = await Promise.all(statements.map(({ sql, values }) => run(sql, values)));
    return answers.map(({ rows }) => rows);
  };
  let step = running.next();
  while (!step.done) step = running.next(await runAll(step.value));
  return step.value;
}
