import { messageOf } from "../../../lib/errors.ts";
import { type Journal, JournalError, type JournalRecord, recordToJson } from "../chain/journal.ts";
import {
  decodeLine,
  encodeLine,
  joined,
  linesOf,
  type OpenFile,
  openOnDisk,
  type StorageFile,
  writeAt,
} from "./files.ts";
import { damagedAt, keepCut, LINE_BYTES_MAX, parseRecord, tooShort } from "./journal_text.ts";

/** After a failed write, the journal accepts records again once it can write this many bytes. */
const PROBE_BYTES = 64 * 1024;

/** Options of {@link FileJournal.open}. */
export interface FileJournalOptions {
  openFile?: OpenFile | undefined;
  /** Called after all records were read: bytes of this file that are known to be synced. */
  syncedBytes?: () => number;
}

/**
 * An append-only file of records, one per line. Each line has a checksum over all lines up to it.
 *
 * A process that dies during a write leaves an incomplete last line, which was never acknowledged: the
 * next start moves it to a file beside the journal. Any other damage is refused.
 */
export class FileJournal implements Journal, Disposable {
  readonly #path: string;
  #file: StorageFile;
  /** Checksum of the last line. */
  #checksum = 0;
  #bytes = 0;
  /** Bytes appended since the start, and those known to be on the disk. */
  #appended = 0;
  #synced = -1;
  /** Resolves when no sync is in progress; never rejects. */
  #syncing: Promise<void> = Promise.resolve();
  #nextSync: Promise<void> | undefined;
  #failure: JournalError | undefined;
  #problem: JournalError | undefined;

  private constructor(path: string, file: StorageFile) {
    this.#path = path;
    this.#file = file;
  }

  /**
   * Opens a journal, and creates it if it does not exist. Passes all its records to `onRecord`, in order.
   *
   * @returns The journal, and how many bytes of an incomplete record were removed from its end.
   * @throws {JournalError} If it cannot be read, is damaged, or is shorter than it was.
   */
  static open(
    path: string,
    onRecord: (record: JournalRecord) => void,
    options: FileJournalOptions = {},
  ): { journal: FileJournal; cutBytes: number } {
    let file: StorageFile;
    try {
      file = (options.openFile ?? openOnDisk)(path);
    } catch (cause) {
      throw new JournalError(`Journal ${path} cannot be opened: ${messageOf(cause)}`, cause);
    }
    try {
      const journal = new FileJournal(path, file);
      return { journal, cutBytes: journal.#replay(onRecord, options) };
    } catch (cause) {
      file.close();
      if (!(cause instanceof RangeError)) throw cause;
      throw new JournalError(`Journal ${path} ${cause.message}`, cause);
    }
  }

  /** Length of the file in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Number of bytes of the file that are known to be on the disk. */
  get syncedBytes(): number {
    return this.#synced < 0 ? 0 : this.#bytes - (this.#appended - this.#synced);
  }

  get failure(): JournalError | undefined {
    return this.#failure ?? this.#problem;
  }

  append(records: readonly JournalRecord[]): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#problem !== undefined && !this.probe()) throw this.#problem;
    let checksum = this.#checksum;
    const lines = records.map((record) => {
      const line = encodeLine(recordToJson(record), checksum);
      checksum = line.checksum;
      return line.bytes;
    });
    const bytes = joined(lines);
    try {
      writeAt(this.#file, this.#bytes, bytes);
    } catch (cause) {
      this.#problem = new JournalError(
        `The journal cannot be written: ${messageOf(cause)}`,
        cause,
      );
      this.#truncate();
      throw this.#problem;
    }
    this.#checksum = checksum;
    this.#bytes += bytes.length;
    this.#appended += bytes.length;
  }

  /** After a failed write: checks for free space. @returns Whether records are accepted. */
  probe(): boolean {
    if (this.#failure !== undefined) return false;
    if (this.#problem === undefined) return true;
    try {
      writeAt(this.#file, this.#bytes, new Uint8Array(PROBE_BYTES));
      this.#problem = undefined;
    } catch {
      // The problem is already known.
    }
    this.#truncate();
    return this.failure === undefined;
  }

  synced(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#synced === this.#appended) return Promise.resolve();
    // One sync serves all callers; records appended after its start wait for the next one.
    this.#nextSync ??= this.#syncing.then(() => this.#sync());
    return this.#nextSync;
  }

  /** Syncs synchronously, at the start. @throws {JournalError} If that fails. */
  syncNow(): void {
    if (this.#failure !== undefined) throw this.#failure;
    try {
      this.#file.syncDataSync();
      this.#synced = this.#appended;
    } catch (cause) {
      throw this.#failed("synced", cause);
    }
  }

  /**
   * The texts of the records in `[from, bytes)`.
   *
   * @param before Checksum of the line before `from`; 0 at the start.
   * @throws {JournalError} If a record is damaged.
   */
  *texts(from: number, before: number): Generator<{ text: string; checksum: number; end: number }> {
    let checksum = before;
    for (const { bytes, offset } of linesOf(this.#file, LINE_BYTES_MAX, from, this.#bytes)) {
      const line = decodeLine(bytes, checksum);
      if (line === undefined) throw damagedAt(this.#path, offset);
      ({ checksum } = line);
      yield { ...line, end: offset + bytes.length + 1 };
    }
  }

  /**
   * Continues in another file, which has the same state on the disk.
   *
   * @param bytes Length of that file. @param checksum Of its last line.
   */
  continueIn(file: StorageFile, bytes: number, checksum: number): void {
    const old = this.#file;
    this.#file = file;
    this.#bytes = bytes;
    this.#checksum = checksum;
    this.#synced = this.#appended;
    this.#syncing.finally(() => old.close());
  }

  /** Closes the file after everything is synced. */
  async close(): Promise<void> {
    try {
      await this.synced();
    } finally {
      this.#file.close();
    }
  }

  /** Closes the file at once, when a start fails. */
  [Symbol.dispose](): void {
    this.#file.close();
  }

  async #sync(): Promise<void> {
    this.#nextSync = undefined;
    // A second sync could succeed although the failed one lost bytes.
    if (this.#failure !== undefined) throw this.#failure;
    const upTo = this.#appended;
    const file = this.#file;
    const sync = file.syncData();
    this.#syncing = sync.catch(() => {});
    try {
      await sync;
      this.#synced = Math.max(this.#synced, upTo);
    } catch (cause) {
      // Meanwhile, the file may have been replaced by one that is completely on the disk.
      if (this.#file === file) throw this.#failed("synced", cause);
    }
  }

  /** After a failed sync or repair it is unknown what is on the disk: no more records are accepted. */
  #failed(what: string, cause: unknown): JournalError {
    this.#failure = new JournalError(
      `The journal cannot be ${what}: ${messageOf(cause)}; restart the node`,
      cause,
    );
    return this.#failure;
  }

  /** Truncates the file to its valid records. */
  #truncate(): void {
    try {
      this.#file.truncateSync(this.#bytes);
    } catch (cause) {
      this.#failed("repaired", cause);
    }
  }

  /** @returns Bytes removed from the end. */
  #replay(onRecord: (record: JournalRecord) => void, options: FileJournalOptions): number {
    let lacksNewline = false;
    let torn = new Uint8Array(0);
    for (const { bytes, offset, hasNewline } of linesOf(this.#file, LINE_BYTES_MAX)) {
      const line = decodeLine(bytes, this.#checksum) ??
        // The record may be complete, and only its newline damaged.
        (hasNewline ? undefined : decodeLine(bytes.subarray(0, -1), this.#checksum));
      if (line !== undefined) {
        onRecord(parseRecord(line.text, offset, this.#path));
        this.#checksum = line.checksum;
        lacksNewline = !hasNewline;
        this.#bytes = offset + encodeLine(line.text).bytes.length;
      } else if (hasNewline) throw damagedAt(this.#path, offset);
      else torn = bytes.slice();
    }
    const synced = options.syncedBytes?.() ?? 0;
    if (synced > this.#bytes) throw tooShort(this.#path, this.#bytes, synced);
    if (torn.length > 0) keepCut(`${this.#path}.cut-${this.#bytes}`, torn);
    this.#truncate();
    if (this.#failure !== undefined) throw this.#failure;
    if (lacksNewline) writeAt(this.#file, this.#bytes - 1, new TextEncoder().encode("\n"));
    return torn.length;
  }
}
