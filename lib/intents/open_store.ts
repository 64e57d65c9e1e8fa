/** Opens the store that an option names, or inspects it. */
import { dirname } from "node:path";
import { findFileProblem, findFolderProblem, readStat } from "../files.ts";
import { serviceLog } from "../log/logging.ts";
import { describeCause, StoreError } from "./errors.ts";
import { IN_MEMORY, POSTGRES_URL } from "../database/database_url.ts";
import { LATEST_VERSION, missingMigrations, type SqlDriver } from "./database.ts";
import { requireDatabaseOfLog, SqliteDriver } from "./sqlite_driver.ts";
import { IntentStore } from "./store.ts";

/**
 * Opens a store.
 *
 * @param database A file, `:memory:`, or a `postgres:` URL.
 * @param service Owner of the intents: services may share a database.
 * @throws {StoreError} If the database cannot be used.
 */
export async function openIntentStore(database: string, service: string): Promise<IntentStore> {
  if (POSTGRES_URL.test(database)) {
    const { PostgresDriver } = await importPostgres();
    return new IntentStore(await PostgresDriver.open(database), service);
  }
  const driver = SqliteDriver.open(database);
  if (driver.hadTornLog) {
    // A power failure loses only unacknowledged transactions; other damage may lose more.
    serviceLog(service).warn(
      "Write-ahead log of database {database} ended in an incomplete transaction, which is lost: unless " +
        "the power failed, restore a backup (docs/runbooks.md, Damaged databases)",
      { event: "store_log_torn", database },
    );
  }
  return new IntentStore(driver, service);
}

/** Loaded on demand: SQLite needs none of it. */
function importPostgres() {
  return import("./postgres_driver.ts");
}

/**
 * Inspects a store without changing it.
 *
 * @param stuckBeforeMs Unfinished intents created before this time, Unix ms, count as stuck.
 * @param timeoutMs How long a server may take to connect and to answer; the default of a service.
 * @returns `new` if the first start will create the tables, `memory` for a store in memory.
 * @throws {StoreError} If the service could not use the store.
 */
export async function inspectStore(
  database: string,
  service: string,
  stuckBeforeMs: number,
  timeoutMs?: number,
) {
  if (database === IN_MEMORY) return "memory" as const;
  const isFile = !POSTGRES_URL.test(database);
  const isMissing = isFile && !isExistingFile(database);
  if (isFile) requireDatabaseOfLog(database);
  if (isMissing) return "new" as const;
  let driver: SqlDriver | undefined;
  try {
    driver = isFile
      ? SqliteDriver.openToInspect(database)
      : new (await importPostgres()).PostgresDriver(
        database,
        timeoutMs === undefined ? undefined : { connectMs: timeoutMs, answerMs: timeoutMs },
      );
    return await inspect(driver, service, stuckBeforeMs);
  } catch (thrown) {
    const cause = thrown instanceof StoreError ? thrown.cause : thrown;
    // An error of PostgreSQL has the reasons of all its servers, and no password of the URL.
    if (cause === undefined || !isFile) throw thrown;
    throw new StoreError(`Database ${database} cannot be used: ${describeCause(cause)}`, cause);
  } finally {
    await driver?.close();
  }
}

/** @throws {StoreError} If a file cannot be there, or cannot be used. */
function isExistingFile(path: string): boolean {
  const requireNone = (problem: string | undefined) => {
    if (problem !== undefined) throw new StoreError(`Database ${path} cannot be used: ${problem}`);
  };
  // First, as the file of a closed folder cannot be asked for. SQLite writes files of its own there.
  requireNone(findFolderProblem(dirname(path)));
  const file = readStat(path);
  requireNone(file && findFileProblem(path));
  return file !== undefined;
}

async function inspect(driver: SqlDriver, service: string, stuckBeforeMs: number) {
  const version = await driver.version();
  if (version === 0) return "new" as const;
  // Refuses the tables of a newer program.
  missingMigrations(version);
  const store = new IntentStore(driver, service);
  return {
    /** The account that it is bound to; null if it is bound to none, as that of a bridge. */
    owner: (await store.records.read()).signer,
    /** Version of its tables, and the version that this program migrates them to. */
    version,
    latestVersion: LATEST_VERSION,
    unfinished: await store.countUnfinished(),
    stuck: await store.countUnfinished(stuckBeforeMs),
    /** Without a committed intent, the service does not notice that its node lacks some. */
    hasCommitted: await store.findNewestCommitted() !== undefined,
  };
}
