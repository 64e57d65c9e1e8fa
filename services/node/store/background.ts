import { messageOf } from "../../../lib/errors.ts";
import { statOf } from "../../../lib/files.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import type { StorageError } from "../chain/records.ts";
import { BACKUP_RUN, databasePath, PRIVATE_FILE } from "./data_dir.ts";
import type { Database } from "./database.ts";
import { SUM_MODULUS } from "./rows.ts";
import { TABLE_NAMES } from "./tables.ts";
import { damaged, findDamage } from "./verify.ts";

/** Files by which `node backup` and the node that has the directory open talk to each other. */
export function backupFiles(dir: string) {
  return {
    /** Asks for a backup. */
    request: `${dir}/backup.request`,
    /** A backup that is being written. */
    draft: `${dir}/backup.draft`,
    /** A finished backup. */
    done: `${dir}/backup.done`,
    /** Why there is none. */
    failed: `${dir}/backup.failed`,
  };
}

/** How long a worker waits until the node has released the database. */
const WORKER_TIMEOUT_MS = 10_000;

/** A task of the worker. */
interface Task {
  path: string;
  /** Where to write a backup; undefined to check the database. */
  copyTo?: string;
  tables: readonly string[];
  modulus: number;
  backupRun: number;
  /** Its first element becomes 1 to end a check early. */
  stop: Int32Array;
}

/** What a worker answers. */
interface TaskResult {
  damage?: string | undefined;
  error?: string;
}

/** Long tasks with the database in a worker, one at a time, while the node goes on. */
export class BackgroundWork {
  readonly #dir: string;
  readonly #db: Database;
  readonly #fail: (failure: StorageError) => void;
  readonly #log = serviceLog("node");
  readonly #stop = new Int32Array(new SharedArrayBuffer(4));
  #running: Promise<void> | undefined;

  /** @param fail Called if the database is damaged. */
  constructor(dir: string, db: Database, fail: (failure: StorageError) => void) {
    this.#dir = dir;
    this.#db = db;
    this.#fail = fail;
    for (const path of Object.values(backupFiles(dir))) {
      if (statOf(path) !== undefined) Deno.removeSync(path); // of a process that was killed
    }
  }

  /** Checks every row of the database. */
  check(): void {
    this.#start(async () => {
      const { damage, error } = await this.#run({});
      if (damage !== undefined) this.#fail(damaged(damage));
      else if (error !== undefined) {
        this.#log.error("The chain was not checked: {error}", { error });
      } else this.#log.info("All rows of the chain are as they were written");
    });
  }

  /** Makes a backup if one is asked for. */
  serveBackups(): void {
    const { request, draft, done, failed } = backupFiles(this.#dir);
    if (this.#running !== undefined || statOf(request) === undefined) return;
    this.#start(async () => {
      try {
        Deno.removeSync(request);
        await writeBackup(databasePath(this.#dir), draft, this.#stop);
        Deno.renameSync(draft, done);
        this.#log.info("Backup made");
      } catch (thrown) {
        this.#log.error("Backup failed: {reason}", { reason: messageOf(thrown) });
        Deno.writeTextFileSync(failed, messageOf(thrown), { mode: PRIVATE_FILE });
      }
    });
  }

  /** Resolves when nothing runs any more. A check ends early, a backup is finished. */
  async stop(): Promise<void> {
    Atomics.store(this.#stop, 0, 1);
    await this.#running;
  }

  #start(task: () => Promise<void>): void {
    this.#db.setExclusive(false);
    this.#running = task().finally(() => {
      this.#db.setExclusive(true);
      this.#running = undefined;
    });
  }

  #run(task: { copyTo?: string }): Promise<TaskResult> {
    return runTask(databasePath(this.#dir), this.#stop, task);
  }
}

/**
 * Writes a checked copy of a database that is open in this process, or in none, and syncs it.
 *
 * @throws {StorageError} If the copy is damaged. @throws {Error} If it cannot be written.
 */
export async function writeBackup(
  path: string,
  copyTo: string,
  stop = new Int32Array(new SharedArrayBuffer(4)),
): Promise<void> {
  // SQLite accepts an empty file, which nobody else can read.
  Deno.writeFileSync(copyTo, new Uint8Array(), { mode: PRIVATE_FILE });
  try {
    const { damage, error } = await runTask(path, stop, { copyTo });
    if (damage !== undefined) throw damaged(damage);
    if (error !== undefined) throw new Error(error);
    using file = Deno.openSync(copyTo, { write: true });
    file.syncSync();
  } catch (thrown) {
    Deno.removeSync(copyTo);
    throw thrown;
  }
}

async function runTask(
  path: string,
  stop: Int32Array,
  given: { copyTo?: string },
): Promise<TaskResult> {
  const worker = new Worker(PROGRAM, { type: "module" });
  const { promise, resolve } = Promise.withResolvers<TaskResult>();
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = (event) => {
    event.preventDefault();
    resolve({ error: event.message });
  };
  const names = { tables: TABLE_NAMES, modulus: SUM_MODULUS, backupRun: BACKUP_RUN };
  const task: Task = { path, stop, ...names, ...given };
  worker.postMessage(task);
  try {
    return await promise;
  } finally {
    worker.terminate();
  }
}

/** Runs in the worker: a text, because a bundled program has no file of its own for a worker. */
const PROGRAM = `data:text/javascript,${
  encodeURIComponent(`
import { backup, DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";
${findDamage}
function search(db, { tables, modulus, stop }) {
  const rows = (sql) => db.prepare(sql).iterate();
  return findDamage({ rows, crc32, tables, modulus, isStopped: () => Atomics.load(stop, 0) === 1 });
}
async function perform({ path, copyTo, backupRun, ...rest }) {
  const db = new DatabaseSync(path);
  try {
    db.exec("PRAGMA busy_timeout = ${WORKER_TIMEOUT_MS}");
    if (copyTo === undefined) {
      db.exec("BEGIN");
      return search(db, rest);
    }
    // At one go: it would begin again with every change. VACUUM INTO is not permitted.
    await backup(db, copyTo, { rate: 2 ** 30 });
  } finally {
    db.close();
  }
  const copy = new DatabaseSync(copyTo);
  try {
    copy.exec("PRAGMA user_version = " + backupRun);
    return search(copy, { ...rest, stop: new Int32Array(1) });
  } finally {
    copy.close();
  }
}
onmessage = async ({ data }) => {
  try {
    postMessage({ damage: await perform(data) });
  } catch (thrown) {
    postMessage({ error: String(thrown?.message ?? thrown) });
  }
};
`)
}`;
