import { crc32 } from "node:zlib";
import { databasePath } from "./data_dir.ts";
import { damaged, type Database } from "./database.ts";
import { SUM_MODULUS } from "./table.ts";
import { TABLE_NAMES } from "./tables.ts";

/** The input of {@link findDamage}; a worker makes its own. */
interface DamageSearch {
  rows(sql: string): Iterable<Record<string, unknown>>;
  crc32(text: string): number;
  tables: readonly string[];
  modulus: number;
  /** Whether to stop early. */
  isStopped(): boolean;
}

/**
 * Reads all rows, and compares each with its checksum, and each table with its totals. The function
 * is serialised into a worker, so it may use only its argument.
 *
 * @returns The damage; undefined if there is none.
 */
function findDamage(search: DamageSearch): string | undefined {
  const { rows, crc32, tables, modulus, isStopped } = search;
  const keyText = (key: unknown) => key instanceof Uint8Array ? key.toHex() : `${key}`;
  let state = "";
  for (const table of ["meta", ...tables]) {
    let [count, sum] = [0, 0];
    for (const { key, value, crc } of rows(`SELECT key, value, crc FROM ${table}`)) {
      if (crc32(`${table}\n${keyText(key)}\n${value}`) !== crc) {
        return `row ${keyText(key)} of the table ${table}`;
      }
      if (table === "meta" && key === "state") state = `${value}`;
      count += 1;
      sum = (sum + Number(crc)) % modulus;
      if (count % 1_000 === 0 && isStopped()) return undefined;
    }
    if (table === "meta") continue;
    const totals = JSON.parse(state).totals[table];
    if (totals.rows !== count || totals.sum !== sum) {
      return `table ${table}: ${count} rows instead of ${totals.rows}, or older ones`;
    }
  }
  for (const row of rows("PRAGMA integrity_check(1)")) {
    if (row.integrity_check !== "ok") return `${row.integrity_check}`;
  }
}

/** Checks a whole database. @throws {StorageError} If it is damaged. */
export function requireUndamaged(db: Database): void {
  const damage = findDamage({
    rows: (sql) => db.iterate(sql),
    crc32,
    tables: TABLE_NAMES,
    modulus: SUM_MODULUS,
    isStopped: () => false,
  });
  if (damage !== undefined) throw damaged(damage);
}

/** A running check of a whole database. */
export interface BackgroundCheck {
  /** The damage; undefined if there is none, or if the check was stopped early. */
  readonly damage: Promise<string | undefined>;
  /** Stops the check; resolves when it has stopped. */
  stop(): Promise<void>;
}

/** The answer of a worker. */
type CheckResult = { damage?: string } | { error: string };

/**
 * Checks the database of a directory in a worker, on a separate connection, while the node runs.
 * Changes that are committed meanwhile are not checked.
 */
export function checkInBackground(dir: string): BackgroundCheck {
  const url = `data:text/javascript,${encodeURIComponent(PROGRAM)}`;
  const worker = new Worker(url, { type: "module" });
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  worker.onmessage = ({ data }: MessageEvent<CheckResult>) => {
    if ("error" in data) reject(new Error(data.error));
    else resolve(data.damage);
  };
  worker.onerror = (event) => {
    event.preventDefault();
    reject(new Error(event.message));
  };
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const path = databasePath(dir);
  worker.postMessage({ path, stop, tables: TABLE_NAMES, modulus: SUM_MODULUS });
  const damage = promise.finally(() => worker.terminate());
  return {
    damage,
    async stop() {
      Atomics.store(stop, 0, 1);
      await damage.catch(() => {}); // the caller that awaits the result gets the error
    },
  };
}

/** The program of the worker. It is text, since a bundled program has no separate file. */
const PROGRAM = `
import { DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";
${findDamage}
onmessage = ({ data: { path, stop, tables, modulus } }) => {
  try {
    const db = new DatabaseSync(path);
    db.exec("BEGIN");
    const rows = (sql) => db.prepare(sql).iterate();
    const isStopped = () => Atomics.load(stop, 0) === 1;
    const damage = findDamage({ rows, crc32, tables, modulus, isStopped });
    db.close();
    postMessage({ damage });
  } catch (thrown) {
    postMessage({ error: String(thrown?.message ?? thrown) });
  }
};
`;
