import { messageOf, RangemakerError } from "../../../lib/errors.ts";
import { isDiskFull, SqliteDatabase } from "../../../lib/database/sqlite.ts";

/** Mode of a chain's files: only the owner can read them. */
export const PRIVATE_FILE = 0o600;

/** The chain cannot be read or written. */
export class StorageError extends RangemakerError {
  /** The node writes nothing more until it is restarted. */
  readonly isFinal: boolean;

  constructor(message: string, options: { cause?: unknown; isFinal?: boolean } = {}) {
    super("STORAGE", message, { cause: options.cause });
    this.isFinal = options.isFinal ?? false;
  }
}

/** The data directory cannot be used. */
export class DataDirError extends RangemakerError {
  constructor(message: string, cause?: unknown) {
    super("DATA_DIR", message, { cause });
  }
}

/** Runs what uses files directly. @throws {DataDirError} If the system refuses it. */
export function withFileErrors<T>(dir: string, run: () => T): T {
  try {
    return run();
  } catch (cause) {
    // Deno gives only some of them a `code`: none to a full quota, or to errors of NFS.
    const isOfSystem = /\(os error \d+\)/.test(messageOf(cause));
    if (!isOfSystem || cause instanceof RangemakerError) throw cause;
    throw new DataDirError(`${dir} cannot be used: ${messageOf(cause)}`, cause);
  }
}

/** The error for a database whose contents differ from what was written. */
export function damaged(what: string): StorageError {
  return new StorageError(`The chain is damaged (${what}): restore a backup`, { isFinal: true });
}

/** A commit copies a log with this many pages (64 MB) to the database, if not done earlier. */
const LOG_PAGES_MAX = 16_000;

/** The database of the chain: a file, or in memory. */
export class Database extends SqliteDatabase {
  #watchedVersion: unknown;

  /** @throws {StorageError} As every method does where SQLite throws. */
  constructor(path = ":memory:", { readOnly = false } = {}) {
    super(path, { readOnly, errorOf: storageError });
  }

  override useLog(): void {
    super.useLog();
    this.exec(`PRAGMA wal_autocheckpoint = ${LOG_PAGES_MAX}`);
  }

  /** Copies the log to the database, which takes a few milliseconds. Not within a change. */
  copyLog(): void {
    try {
      this.exec("PRAGMA wal_checkpoint(PASSIVE)");
    } catch {
      // Nothing is lost: the log still contains everything. The next commit reports a full disk.
    }
  }

  /** Copies the log to the database and empties it. @throws {StorageError} If a backup reads it. */
  emptyLog(): void {
    if (this.get("PRAGMA wal_checkpoint(TRUNCATE)")?.busy === 0) return;
    throw new StorageError(
      "The chain is being read, for example by a backup: try again after that",
    );
  }

  override watchFiles(): void {
    super.watchFiles();
    this.#watchedVersion = this.#version;
  }

  /** @throws {StorageError} If others have replaced or changed it since {@link watchFiles}. */
  requireUnchanged(): void {
    const problem = this.isReplaced
      ? `${this.path} or its log was removed, moved or replaced: restart the node`
      : this.#version !== this.#watchedVersion
      // SQLite also says so of its own connection once a disk could be neither written nor read.
      ? `Another program has changed ${this.path}, or its disk has failed: restart the node, which checks it`
      : undefined;
    if (problem !== undefined) throw new StorageError(problem, { isFinal: true });
  }

  /** SQLite's `data_version`: changes when another connection has changed the database. */
  get #version(): unknown {
    return this.get("PRAGMA data_version")?.data_version;
  }
}

function storageError(cause: unknown): StorageError {
  if (isDiskFull(cause)) {
    return new StorageError(`The chain cannot be written: ${messageOf(cause)}`, { cause });
  }
  return new StorageError(
    `The chain cannot be read or written: ${messageOf(cause)}; ` +
      "if the file is damaged, restore a backup",
    { cause },
  );
}
