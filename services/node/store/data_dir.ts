import { crc32 } from "node:zlib";
import { messageOf, RangemakerError } from "../../../lib/errors.ts";
import { statOf } from "../../../lib/files.ts";

/** Mode of a chain's files: only the owner can read them. */
export const PRIVATE_FILE = 0o600;

/** Mode of a chain's folder: only the owner can enter it. */
const PRIVATE_FOLDER = 0o700;

/** The data directory cannot be used. */
export class DataDirError extends RangemakerError {
  constructor(message: string, cause?: unknown) {
    super("DATA_DIR", message, { cause });
  }
}

export function databasePath(dir: string): string {
  return `${dir}/chain.sqlite`;
}

/** In the header of a database by `node backup`: bytes 60 to 63, SQLite's `user_version`. */
export const BACKUP_RUN = 1;

/**
 * In the header of every database of a chain: bytes 68 to 71, SQLite's `application_id`. Its last
 * digit is the format of the tables.
 */
export const APPLICATION_ID = 0x726d6b35;

/** The lock file's record of the database, which reveals an older database or a lost log. */
export interface LockRecord {
  /** The database belongs to one of these runs of a node: each start has a different number. */
  runs: number[];
  /** Number of the last commit. */
  sequence: number;
}

/** Bytes of the text in a lock file: longer than every record. */
const LOCK_RECORD_BYTES = 128;

/**
 * The file `lock` of a data directory. It is locked while a node runs; the system releases the lock
 * when the process ends. It also contains a record of the last commit.
 */
export class LockFile {
  readonly #file: Deno.FsFile;

  private constructor(file: Deno.FsFile) {
    this.#file = file;
  }

  /** Creates directory and file if they do not exist. @throws {DataDirError} */
  static lock(dir: string): LockFile {
    let file: Deno.FsFile;
    try {
      Deno.mkdirSync(dir, { recursive: true, mode: PRIVATE_FOLDER });
      const options = { read: true, write: true, create: true, mode: PRIVATE_FILE };
      file = Deno.openSync(`${dir}/lock`, options);
    } catch (cause) {
      const problem = `Data directory ${dir} cannot be written: ${messageOf(cause)}`;
      throw new DataDirError(`${problem}; make it writable for this user`, cause);
    }
    if (file.tryLockSync(true)) return new LockFile(file);
    file.close();
    throw new DataDirError(`Another node has ${dir} open: stop it first`);
  }

  /** Whether a process has the directory locked. */
  static isLocked(dir: string): boolean {
    if (statOf(`${dir}/lock`) === undefined) return false;
    using file = Deno.openSync(`${dir}/lock`);
    // A shared lock: concurrent inspections must not be reported as a running node.
    const isFree = file.tryLockSync(false);
    if (isFree) file.unlockSync();
    return !isFree;
  }

  /** The record of a directory's lock file; undefined if unreadable, as after a power loss. */
  static read(dir: string): LockRecord | undefined {
    if (statOf(`${dir}/lock`) === undefined) return undefined;
    const [text = "", checksum] = Deno.readTextFileSync(`${dir}/lock`).split("\n");
    return checksum === `${crc32(text)}` ? JSON.parse(text) : undefined;
  }

  /** Overwrites the record. After a power loss, the record may be older, or unreadable. */
  write(content: LockRecord): void {
    const text = JSON.stringify(content);
    const record = `${text}\n${crc32(text)}\n`.padEnd(LOCK_RECORD_BYTES);
    this.#file.seekSync(0, Deno.SeekMode.Start);
    this.#file.writeSync(new TextEncoder().encode(record));
  }

  /** Makes the record survive a power loss. */
  sync(): void {
    this.#file.syncDataSync();
  }

  close(): void {
    // Unlocked explicitly: a child process that is being spawned may have inherited the descriptor.
    this.#file.unlockSync();
    this.#file.close();
  }
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
  const isOtherFormat = header !== undefined && header.applicationId !== APPLICATION_ID &&
    header.applicationId >>> 8 === APPLICATION_ID >>> 8;
  if (isOtherFormat) {
    throw new DataDirError(
      `${dir} contains a chain of an earlier version, which this version cannot read: ` +
        "choose another --data-dir, or move its files elsewhere to start a new chain there",
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
  const hasLog = (statOf(`${path}-wal`)?.size ?? 0) > 0;
  if (!hasLog || record === undefined || record.runs.includes(header.run)) return "chain";
  throw new DataDirError(
    `${path}-wal is not the log of ${path}: put back the database that it belongs to; ` +
      "or restore a backup",
  );
}

/** Two numbers of a database's header; undefined if there is no file, or an empty one. */
function readHeader(path: string): { run: number; applicationId: number } | undefined {
  if ((statOf(path)?.size ?? 0) === 0) return undefined;
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
  if ((statOf(log)?.size ?? 0) === 0) return () => {};
  let renamed = `${log}.replaced`;
  for (let n = 2; statOf(renamed) !== undefined; n++) renamed = `${log}.replaced-${n}`;
  Deno.renameSync(log, renamed);
  return () => Deno.renameSync(renamed, log);
}

/** Makes the creation or renaming of a file in this folder durable. */
export function syncFolder(path: string): void {
  if (Deno.build.os === "windows") return; // a folder cannot be opened there
  using folder = Deno.openSync(path);
  folder.syncSync();
}
