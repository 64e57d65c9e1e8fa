import { setImmediate } from "node:timers/promises";
import { databasePath } from "./data_dir.ts";
import { damaged, Database } from "./database.ts";
import { createMeta, createTables } from "./schema.ts";
import { Table } from "./table.ts";

/** Checks all rows in short steps. @throws {StorageError} If something is damaged. */
function* checkRows(db: Database): Generator<void, void> {
  yield* new Table(db, "meta", { encode: String, decode: String }).check();
  const state = createMeta(db).state.get();
  if (state === undefined) throw damaged("no state");
  for (const table of Object.values(createTables(db, state.totals))) yield* table.check();
}

/** Checks all rows, pages and indexes. @throws {StorageError} If something is damaged. */
export function requireUndamaged(db: Database): void {
  checkRows(db).forEach(() => {});
  const [row] = db.all("PRAGMA integrity_check(1)");
  if (row?.integrity_check !== "ok") throw damaged(`${row?.integrity_check}`);
}

/**
 * Checks all rows of a directory's database on a connection of its own, while the node runs.
 * Changes that are committed meanwhile are not checked.
 *
 * @returns Whether everything was checked: `signal` ends it early.
 * @throws {StorageError} If a row is damaged.
 */
export async function checkInBackground(dir: string, signal: AbortSignal): Promise<boolean> {
  const db = new Database(databasePath(dir), { readOnly: true });
  try {
    db.exec("BEGIN");
    for (const _ of checkRows(db)) {
      await setImmediate();
      if (signal.aborted) return false;
    }
    return true;
  } finally {
    db.close();
  }
}
