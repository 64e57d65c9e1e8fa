/** The files of a data directory: whether they belong together, are opened and are undamaged. */
import { isDeepStrictEqual } from "node:util";
import { afterInput } from "../../../lib/clock.ts";
import { messageOf } from "../../../lib/errors.ts";
import { findFileProblem, findFolderProblem, readStat } from "../../../lib/files.ts";
import { damaged, Database, DataDirError, PRIVATE_FILE } from "./database.ts";
import { LockFile, type LockRecord } from "./lock_file.ts";
import {
  APPLICATION_ID,
  type ChainIdentity,
  createChain,
  createMeta,
  createTables,
  genesisBalances,
} from "./schema.ts";
import { Table } from "./table.ts";

/** What `node backup` writes into bytes 60 to 63 of the header, SQLite's `user_version`. */
export const BACKUP_RUN = 1;

export function databasePath(dir: string): string {
  return `${dir}/chain.sqlite`;
}

/** Size of the database with its log. */
export function readBytes(dir: string): number {
  const path = databasePath(dir);
  return (readStat(path)?.size ?? 0) + (readStat(`${path}-wal`)?.size ?? 0);
}

/** An open database with the tables of a chain. */
interface OpenedDatabase {
  db: Database;
  isNew: boolean;
  /** The database was restored from a backup, and now continues. */
  isRestored: boolean;
  /** Number of this run, in the header of the database. */
  run: number;
}

/**
 * Opens the database of a directory that this process has locked, and creates it if there is none.
 *
 * @throws {DataDirError} If it is another chain, older than it was, or its files do not belong
 *   together. In that case nothing is changed.
 * @throws {StorageError} If it cannot be read or written.
 */
export function openDatabase(
  dir: string,
  lock: LockFile,
  identity: ChainIdentity,
  nowMs: number,
): OpenedDatabase {
  const path = databasePath(dir);
  const record = LockFile.read(dir);
  requireWritable(path);
  const found = inspectFiles(dir, record);
  const isRestored = found === "backup";
  const restoreLog = isRestored ? renameReplacedLog(dir) : () => {};
  try {
    if (found !== "nothing") requireMatchingChain(dir, isRestored ? undefined : record, identity);
  } catch (thrown) {
    restoreLog();
    throw thrown;
  }
  createDatabaseFile(dir, path);
  const db = new Database(path);
  try {
    db.useLog();
    const isNew = db.get("PRAGMA application_id")?.application_id !== APPLICATION_ID;
    if (isNew) createChain(db, identity, nowMs);
    const run = beginRun(db, lock);
    syncFolder(dir);
    return { db, isNew, isRestored, run };
  } catch (thrown) {
    db.close();
    throw thrown;
  }
}

/** @throws {DataDirError} If this user cannot write the database, such as one that root restored. */
function requireWritable(path: string): void {
  const problem = readStat(path) && findFileProblem(path);
  if (problem !== undefined) throw new DataDirError(`${problem}; make it writable for this user`);
}

/** Contents of a data directory, found without opening its database. */
type DataDirContents = "nothing" | "chain" | "backup";

/**
 * Inspects the files of a directory that no node has open.
 *
 * @throws {DataDirError} If no chain can be opened, or its files do not belong together.
 */
export function inspectFiles(dir: string, record: LockRecord | undefined): DataDirContents {
  const path = databasePath(dir);
  const header = readHeader(path);
  // The first versions had no database.
  const isOtherFormat = header === undefined
    ? readStat(`${dir}/chain.journal`) !== undefined
    : header.applicationId !== APPLICATION_ID &&
      header.applicationId >>> 8 === APPLICATION_ID >>> 8;
  if (isOtherFormat) {
    throw new DataDirError(
      `${dir} contains a chain of an earlier version, which this version cannot read: ` +
        "choose another --data-dir, or move its files elsewhere to start a new chain there",
    );
  }
  // Also one that leads to no chain yet: the next start would find one there.
  if (readStat(path, Deno.lstatSync)?.isSymlink) {
    throw new DataDirError(
      `${path} is a symbolic link, and SQLite keeps the log beside the file that it leads to, where a ` +
        "restored backup would not replace it: move the files here, or choose their folder as --data-dir",
    );
  }
  if (header === undefined) {
    if ((record?.sequence ?? 0) === 0) return "nothing";
    throw new DataDirError(
      `${path} is missing or empty, but ${dir} had a chain: put a backup in its place; ` +
        `or remove ${dir}/lock to start a new chain`,
    );
  }
  // A node was interrupted while it created the chain.
  if (header.applicationId === 0 && (record?.sequence ?? 0) === 0) return "nothing";
  if (header.applicationId !== APPLICATION_ID) {
    throw new DataDirError(`${path} is damaged, or not a chain: restore a backup`);
  }
  if (header.run === BACKUP_RUN) return "backup";
  const hasLog = (readStat(`${path}-wal`)?.size ?? 0) > 0;
  if (!hasLog || record === undefined || record.runs.includes(header.run)) return "chain";
  throw new DataDirError(
    `${path}-wal is not the log of ${path}: put back the database that it belongs to; ` +
      "or restore a backup",
  );
}

/** Two numbers of a database's header; undefined if there is no file, or an empty one. */
function readHeader(path: string): { run: number; applicationId: number } | undefined {
  if ((readStat(path)?.size ?? 0) === 0) return undefined;
  using file = Deno.openSync(path);
  const bytes = new Uint8Array(100);
  file.readSync(bytes);
  const view = new DataView(bytes.buffer);
  return { run: view.getUint32(60), applicationId: view.getUint32(68) };
}

/**
 * Renames the log of a database that a backup replaced: the backup starts without a log.
 *
 * @returns Undoes it.
 */
export function renameReplacedLog(dir: string): () => void {
  const log = `${databasePath(dir)}-wal`;
  if ((readStat(log)?.size ?? 0) === 0) return () => {};
  let renamed = `${log}.replaced`;
  for (let n = 2; readStat(renamed) !== undefined; n++) renamed = `${log}.replaced-${n}`;
  Deno.renameSync(log, renamed);
  return () => Deno.renameSync(renamed, log);
}

/** Makes the creation or renaming of a file in this folder durable. */
export function syncFolder(path: string): void {
  if (Deno.build.os === "windows") return; // a folder cannot be opened there
  using folder = Deno.openSync(path);
  folder.syncSync();
}

/** Compares a database with the settings and with its lock file, without changing it. */
function requireMatchingChain(
  dir: string,
  record: LockRecord | undefined,
  identity: ChainIdentity,
): void {
  const path = databasePath(dir);
  const hadIndex = readStat(`${path}-shm`) !== undefined;
  const db = new Database(path, { readOnly: true });
  try {
    const meta = createMeta(db);
    const chain = meta.chain.get();
    const sequence = meta.state.get()?.sequence ?? 0;
    if (chain === undefined) throw new DataDirError(`${path} is damaged: restore a backup`);
    const isOther = chain.chainId !== identity.chainId ||
      (identity.balances !== undefined &&
        !isDeepStrictEqual(genesisBalances(identity), chain.balances));
    if (isOther) {
      throw new DataDirError(
        `${dir} contains a chain with another genesis or chain id: use the settings it was created with, ` +
          "or choose another directory",
      );
    }
    const missing = (record?.sequence ?? 0) - sequence;
    if (missing <= 0) return;
    throw new DataDirError(
      `${path} lacks ${missing} commits that were on the disk: it is an older copy, ` +
        `or its log ${path}-wal is damaged or lost. Restore a backup; or remove ${dir}/lock to ` +
        "continue from this state, without later changes",
    );
  } finally {
    db.close();
    // A read-only connection leaves this file behind.
    if (!hadIndex && readStat(`${path}-shm`) !== undefined) Deno.removeSync(`${path}-shm`);
  }
}

/**
 * Writes a number for this run to the header of the database, and syncs it before the log has other
 * changes. A log is then never applied to the database of another run.
 */
function beginRun(db: Database, lock: LockFile): number {
  db.emptyLog();
  const { user_version: last } = db.get("PRAGMA user_version") ?? {};
  const random = crypto.getRandomValues(new Uint32Array(1))[0]!; // it has one element
  const run = BACKUP_RUN + 1 + random % (2 ** 31 - BACKUP_RUN - 1);
  const { sequence = 0 } = createMeta(db).state.get() ?? {};
  lock.write({ runs: [Number(last), run], sequence });
  lock.sync();
  db.exec(`PRAGMA user_version = ${run}`);
  db.emptyLog();
  return run;
}

/** Creates the file, readable by its owner only. SQLite gives its log the same mode. */
function createDatabaseFile(dir: string, path: string): void {
  if (readStat(path) !== undefined) return;
  try {
    Deno.openSync(path, { write: true, createNew: true, mode: PRIVATE_FILE }).close();
  } catch (cause) {
    throw new DataDirError(`A chain cannot be created in ${dir}: ${messageOf(cause)}`, cause);
  }
}

/**
 * Inspects a data directory without changing it.
 *
 * @returns Its size, and whether a running node has it open; undefined without a chain.
 * @throws {DataDirError} If it is not that of a chain, or is in use.
 * @throws {StorageError} If it cannot be read or written.
 */
export function inspectDataDir(
  dir: string,
  identity: ChainIdentity,
): { isLocked: boolean; bytes: number } | undefined {
  const problem = findFolderProblem(dir);
  if (problem !== undefined) throw new DataDirError(problem);
  using shared = LockFile.share(dir);
  const isLocked = shared === undefined;
  // The files of a database that this process has open must not be opened in any other way.
  if (!isLocked) {
    const record = LockFile.read(dir);
    requireWritable(databasePath(dir));
    const found = inspectFiles(dir, record);
    if (found === "nothing") return undefined;
    if (found === "chain") requireMatchingChain(dir, record, identity);
  }
  return { isLocked, bytes: readBytes(dir) };
}

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
    for (let isSecond = false;; isSecond = true) {
      db.exec("BEGIN");
      try {
        for (const _ of checkRows(db)) {
          await new Promise<void>(afterInput);
          if (signal.aborted) return false;
        }
        return true;
      } catch (thrown) {
        // A read that fails may end the transaction: the totals are then older than the rows.
        if (db.isTransaction || isSecond) throw thrown;
      }
    }
  } finally {
    db.close();
  }
}
