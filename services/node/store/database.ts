import { messageOf, RangemakerError } from "../../../lib/errors.ts";
import { SqliteDatabase } from "../../../lib/sqlite.ts";

/** The chain cannot be read or written. */
export class StorageError extends RangemakerError {
  /** Nothing is written again before the node is restarted. */
  readonly isFinal: boolean;

  constructor(message: string, options: { cause?: unknown; isFinal?: boolean } = {}) {
    super("STORAGE", message, { cause: options.cause });
    this.isFinal = options.isFinal ?? false;
  }
}

/** The error for a database whose contents are not what was written. */
export function damaged(what: string): StorageError {
  return new StorageError(`The chain is damaged (${what}): restore a backup`, { isFinal: true });
}

/** Pages in the log that make a commit copy them to the database, unless it is done before: 64 MB. */
const LOG_PAGES_MAX = 16_000;

/** SQLite's words for a full disk. Errors of the runtime's `exec`, such as of a commit, have no code. */
const DISK_FULL = "database or disk is full";

/** The database of the chain: a file, or in memory. */
export class Database extends SqliteDatabase {
  /** @throws {StorageError} As every method does where SQLite throws. */
  constructor(path = ":memory:", { readOnly }: { readOnly?: boolean } = {}) {
    super(path, { ...(readOnly && { readOnly }), errorOf: storageError });
  }

  override useLog(): void {
    super.useLog();
    this.exec(`PRAGMA wal_autocheckpoint = ${LOG_PAGES_MAX}`);
  }

  /** Copies the log to the database, which takes some milliseconds. Must not be within a change. */
  copyLog(): void {
    try {
      this.exec("PRAGMA wal_checkpoint(PASSIVE)");
    } catch {
      // The log still contains everything. On a full disk, the next commit fails and says so.
    }
  }

  /** Copies the log to the database and empties it. @throws {StorageError} If a backup reads it. */
  emptyLog(): void {
    if (this.get("PRAGMA wal_checkpoint(TRUNCATE)")?.busy === 0) return;
    throw new StorageError(
      "The chain is being read, as by a backup: try again when that has ended",
    );
  }

  /** Changes when another connection has changed the database. */
  get foreignChanges(): number {
    return Number(this.get("PRAGMA data_version")?.data_version);
  }
}

function storageError(cause: unknown): StorageError {
  if (messageOf(cause).includes(DISK_FULL)) {
    return new StorageError(`The chain cannot be written: ${messageOf(cause)}`, { cause });
  }
  return new StorageError(
    `The chain cannot be read or written: ${messageOf(cause)}; ` +
      "if the file is damaged, restore a backup",
    { cause },
  );
}
