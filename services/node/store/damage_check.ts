import { setImmediate } from "node:timers/promises";
import { databasePath } from "./data_dir.ts";
import { damaged, Database } from "./database.ts";
import { checksumOf, keyText, SUM_MODULUS, type TableTotals } from "./table.ts";
import { openMeta, TABLE_NAMES } from "./tables.ts";

/** Rows of one step, which takes about a millisecond. */
const ROWS_PER_STEP = 100;

/**
 * Compares all rows with their checksums, and each table with its totals, in short steps.
 *
 * @throws {StorageError} If something is damaged.
 */
function* checkRows(db: Database): Generator<void, void> {
  yield* readTotals(db, "meta");
  const totals = openMeta(db).state.get("state")?.totals;
  for (const table of TABLE_NAMES) {
    const { rows, sum } = yield* readTotals(db, table);
    const expected = totals?.[table];
    if (rows === expected?.rows && sum === expected.sum) continue;
    throw damaged(`table ${table}: ${rows} rows instead of ${expected?.rows}, or older ones`);
  }
}

function* readTotals(db: Database, table: string): Generator<void, TableTotals> {
  let [rows, sum] = [0, 0];
  for (const { key, value, crc } of db.iterate(`SELECT key, value, crc FROM ${table}`)) {
    if (rows % ROWS_PER_STEP === 0) yield;
    if (checksumOf(table, keyText(key), `${value}`) !== crc) {
      throw damaged(`row ${keyText(key)} of the table ${table}`);
    }
    rows += 1;
    sum = (sum + Number(crc)) % SUM_MODULUS;
  }
  return { rows, sum };
}

/** Checks all rows, pages and indexes. @throws {StorageError} If something is damaged. */
export function requireUndamaged(db: Database): void {
  for (const _ of checkRows(db));
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
