import { messageOf } from "../../../lib/errors.ts";
import { folderProblem, statOf } from "../../../lib/files.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import { BLOCKS_RESERVED } from "./chain_records.ts";
import { Database } from "./database.ts";
import {
  APPLICATION_ID,
  BACKUP_RUN,
  databasePath,
  DataDirError,
  inspectFiles,
  LockFile,
  type LockRecord,
  PRIVATE_FILE,
  renameReplacedLog,
  syncFolder,
} from "./data_dir.ts";
import { openMeta, openTables, SCHEMA, TABLE_NAMES, type Totals } from "./schema.ts";

/** Genesis of a new chain; an existing chain must match it. */
export interface ChainIdentity {
  chainId: number;
  /** USDC with 6 decimals. If undefined, an existing chain may have any, a new one has none. */
  balances: ReadonlyMap<Address, bigint> | undefined;
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
  record: LockRecord | undefined,
  identity: ChainIdentity,
  nowMs: number,
): OpenedDatabase {
  const path = databasePath(dir);
  const found = inspectFiles(dir, record);
  const isRestored = found === "backup";
  const restoreLog = isRestored ? renameReplacedLog(dir) : undefined;
  try {
    if (found !== "nothing") requireMatchingChain(dir, isRestored ? undefined : record, identity);
  } catch (thrown) {
    restoreLog?.();
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

/** Creates the tables and the first rows of a chain. */
export function createChain(
  db: Database,
  { chainId, balances }: ChainIdentity,
  nowMs: number,
): void {
  const funds = [...balances ?? []].filter(([, balance]) => balance > 0n);
  const totals = Object.fromEntries(TABLE_NAMES.map((name) => [name, { rows: 0, sum: 0 }]));
  const state = {
    sequence: 1,
    lastThesisId: 0,
    droppedBeforeMs: 0,
    reservedTo: BLOCKS_RESERVED,
    issued: funds.reduce((sum, [, balance]) => sum + balance, 0n),
    totals: totals as Totals, // one for each name
  };
  db.exec("BEGIN IMMEDIATE");
  db.exec(SCHEMA);
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
  const { accounts } = openTables(db, state.totals);
  for (const [address, balance] of funds) accounts.add(address, { balance, locked: 0n });
  const meta = openMeta(db);
  meta.chain.put({ chainId, createdAtMs: nowMs, balances: Object.fromEntries(funds) });
  meta.state.put(state);
  db.exec("COMMIT");
}

/** Compares a database with the settings and with its lock file, without changing it. */
function requireMatchingChain(
  dir: string,
  record: LockRecord | undefined,
  identity: ChainIdentity,
): void {
  const path = databasePath(dir);
  const hadIndex = statOf(`${path}-shm`) !== undefined;
  const db = new Database(path, { readOnly: true });
  try {
    const meta = openMeta(db);
    const chain = meta.chain.get();
    const sequence = meta.state.get()?.sequence ?? 0;
    if (chain === undefined) throw new DataDirError(`${path} is damaged: restore a backup`);
    const { chainId, balances } = identity;
    const isOther = chain.chainId !== chainId ||
      (balances !== undefined &&
        balancesText(balances) !== balancesText(Object.entries(chain.balances)));
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
    if (!hadIndex && statOf(`${path}-shm`) !== undefined) Deno.removeSync(`${path}-shm`);
  }
}

/** A text that is equal for equal balances in any order. */
function balancesText(balances: Iterable<readonly [string, bigint]>): string {
  return [...balances].filter(([, balance]) => balance > 0n).map(String).sort().join();
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
  const { sequence = 0 } = openMeta(db).state.get() ?? {};
  lock.write({ runs: [Number(last), run], sequence });
  lock.sync();
  db.exec(`PRAGMA user_version = ${run}`);
  db.emptyLog();
  return run;
}

/** SQLite gives its log the mode of the database. */
function createDatabaseFile(dir: string, path: string): void {
  if (statOf(path) !== undefined) return;
  try {
    Deno.openSync(path, { write: true, createNew: true, mode: PRIVATE_FILE }).close();
  } catch (cause) {
    throw new DataDirError(`A chain cannot be created in ${dir}: ${messageOf(cause)}`, cause);
  }
}

/** Result of {@link inspectDataDir}. */
interface DataDirInspection {
  /** A running node has it open. */
  isLocked: boolean;
  bytes: number;
}

/**
 * Inspects a data directory without changing it.
 *
 * @returns Undefined if it contains no chain yet.
 * @throws {DataDirError} @throws {StorageError} If it cannot be used.
 */
export function inspectDataDir(
  dir: string,
  identity: ChainIdentity,
): DataDirInspection | undefined {
  const problem = folderProblem(dir);
  if (problem !== undefined) throw new DataDirError(problem);
  const isLocked = LockFile.isLocked(dir);
  // The files of a database that this process has open must not be opened in any other way.
  if (!isLocked) {
    const record = LockFile.read(dir);
    const found = inspectFiles(dir, record);
    if (found === "nothing") return undefined;
    if (found === "chain") requireMatchingChain(dir, record, identity);
  }
  const sizes = ["", "-wal"].map((end) => statOf(`${databasePath(dir)}${end}`)?.size ?? 0);
  return { isLocked, bytes: sizes.reduce((sum, size) => sum + size) };
}
