import { crc32 } from "node:zlib";
import { messageOf } from "../../../lib/errors.ts";
import { readStat } from "../../../lib/files.ts";
import { DataDirError, PRIVATE_FILE } from "./database.ts";

/** Mode of a chain's folder: only the owner can enter it. */
const PRIVATE_FOLDER = 0o700;

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
export class LockFile implements Disposable {
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
    throw new DataDirError(`Another process has ${dir} open: stop it first`);
  }

  /** Whether a node has the directory locked. */
  static isLocked(dir: string): boolean {
    using shared = LockFile.share(dir);
    return shared === undefined;
  }

  /**
   * Keeps nodes from starting on a directory whose files are being inspected. Several inspections may
   * run at once.
   *
   * @returns Released when it is disposed of; undefined if a node has the directory locked.
   */
  static share(dir: string): Disposable | undefined {
    if (readStat(`${dir}/lock`) === undefined) return { [Symbol.dispose]() {} };
    const file = Deno.openSync(`${dir}/lock`);
    if (file.tryLockSync(false)) return new LockFile(file);
    file.close();
    return undefined;
  }

  /** The record of a directory's lock file; undefined if unreadable, as after a power loss. */
  static read(dir: string): LockRecord | undefined {
    if (readStat(`${dir}/lock`) === undefined) return undefined;
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

  [Symbol.dispose](): void {
    this.close();
  }

  close(): void {
    // Unlocked explicitly: a child process that is being spawned may have inherited the descriptor.
    this.#file.unlockSync();
    this.#file.close();
  }
}
