import { databasePath } from "./data_dir.ts";
import { SUM_MODULUS } from "./rows.ts";
import { TABLE_NAMES } from "./tables.ts";
import { findDamage } from "./verify.ts";

/** A check of a whole database that is going on. */
export interface BackgroundCheck {
  /** What is damaged; undefined if nothing is, or if it was ended early. */
  readonly damage: Promise<string | undefined>;
  /** Ends the check; resolves when it has ended. */
  stop(): Promise<void>;
}

/** What a worker answers. */
type CheckResult = { damage?: string } | { error: string };

/**
 * Checks the database of a directory in a worker, on a connection of its own, while the node goes on.
 * What is committed meanwhile is not checked.
 */
export function checkInBackground(dir: string): BackgroundCheck {
  const worker = new Worker(PROGRAM, { type: "module" });
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

/** Runs in the worker: a text, because a bundled program has no file of its own for a worker. */
const PROGRAM = `data:text/javascript,${
  encodeURIComponent(`
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
`)
}`;
