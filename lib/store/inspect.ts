/** A look at a store that a service is going to use, which changes nothing in it. */
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { statOf, whyFileIsClosed, whyFolderIsClosed } from "../files.ts";
import { messageOf } from "../errors.ts";
import { StoreError } from "./intent.ts";
import { MIGRATIONS } from "./migrations.ts";
import { POSTGRES_URL } from "./location.ts";
import { countOfRow } from "./rows.ts";

/** What a store holds. */
export interface StoreInspection {
  /** Version of its tables, and of those that this program makes of them. */
  version: number;
  latestVersion: number;
  /** Intents of the service without a final state. */
  unfinished: number;
  /** Those of them that were accepted before the time asked for. */
  stuck: number;
}

/**
 * Looks at the store that an option names.
 *
 * @param stuckBeforeMs Unfinished intents accepted before this time, Unix ms, count as stuck.
 * @returns What it holds; `new` where it is to be made yet, `memory` where it will keep nothing.
 * @throws {StoreError} If the service could not use it.
 */
export async function inspectStore(
  database: string,
  service: string,
  stuckBeforeMs: number,
): Promise<StoreInspection | "new" | "memory"> {
  if (database === ":memory:") return "memory";
  if (!POSTGRES_URL.test(database)) return inspectSqlite(database, service, stuckBeforeMs);
  const { inspectPostgres } = await import("./inspect_postgres.ts");
  return await inspectPostgres(database, service, stuckBeforeMs);
}

function inspectSqlite(
  path: string,
  service: string,
  stuckBeforeMs: number,
): StoreInspection | "new" {
  const file = statOf(path);
  if (file?.isDirectory) throw new StoreError(`Database ${path} is a folder`);
  // SQLite keeps files of its own beside the database.
  const problem = whyFolderIsClosed(dirname(path)) ?? (file && whyFileIsClosed(path));
  if (problem !== undefined) throw new StoreError(`Database ${path} cannot be used: ${problem}`);
  if (file === undefined) return "new";
  // Beside a log, another connection may be at work: then it is read only. Without one, a connection
  // that may write takes the files that every connection makes away again when it is closed.
  const readOnly = statOf(`${path}-wal`) !== undefined;
  let db: DatabaseSync | undefined;
  try {
    // The option is there, but the runtime's own types do not know it.
    db = new DatabaseSync(path, { readOnly } as { open?: boolean });
    return read(db, service, stuckBeforeMs);
  } catch (cause) {
    if (cause instanceof StoreError) throw cause;
    throw new StoreError(`Database ${path} cannot be read: ${messageOf(cause)}`, cause);
  } finally {
    db?.close();
  }
}

function read(db: DatabaseSync, service: string, stuckBeforeMs: number): StoreInspection | "new" {
  const count = (sql: string, ...values: (string | number)[]) =>
    countOfRow(db.prepare(sql).get(...values));
  const version = count("SELECT user_version AS count FROM pragma_user_version");
  requireKnown(version);
  if (version === 0) {
    const tables = count("SELECT count(*) AS count FROM sqlite_schema");
    if (tables > 0) throw new StoreError("Database holds tables of another program");
    return "new";
  }
  const unfinished = "SELECT count(*) AS count FROM intents WHERE service = ? AND " +
    "state IN ('accepted', 'submitted')";
  return {
    version,
    latestVersion: MIGRATIONS.length,
    unfinished: count(unfinished, service),
    stuck: count(`${unfinished} AND created_at_ms < ?`, service, stuckBeforeMs),
  };
}

/** @throws {StoreError} If a newer program has made the tables. */
export function requireKnown(version: number): void {
  if (version <= MIGRATIONS.length) return;
  throw new StoreError(
    `Database has version ${version}, made by a newer program: expected at most ${MIGRATIONS.length}`,
  );
}
