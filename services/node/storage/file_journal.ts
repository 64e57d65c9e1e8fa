import { crc32 } from "node:zlib";
import { messageOf } from "../../../lib/errors.ts";
import {
  type Journal,
  JournalError,
  type JournalRecord,
  recordSchema,
  recordToJson,
} from "../chain/journal.ts";

/** The file operations that a journal needs. */
export type JournalFile = Pick<
  Deno.FsFile,
  "readSync" | "writeSync" | "seekSync" | "truncateSync" | "statSync" | "syncData" | "close"
>;

/** Opens a journal file for reading and writing, and creates it if it does not exist. */
export type OpenJournalFile = (path: string) => JournalFile;

const openOnDisk: OpenJournalFile = (path) =>
  Deno.openSync(path, { read: true, write: true, create: true, mode: PRIVATE_FILE });

/** Mode of the files of a chain: the owner alone reads and writes them. */
export const PRIVATE_FILE = 0o600;

/** Longest line: a `BackfillOracle` of 6,000 prices of 20 digits is 140 kB. */
const LINE_BYTES_MAX = 1024 * 1024;
const READ_BYTES = 256 * 1024;
const NEWLINE = 10;

/**
 * An append-only file of records, one per line, each with a checksum. If the process dies during a
 * write, the last record is incomplete and was never acknowledged: it is removed at the next start.
 */
export class FileJournal implements Journal {
  readonly #path: string;
  readonly #file: JournalFile;
  /** Bytes written, and bytes known to be on the disk. */
  #writtenBytes = 0;
  #syncedBytes = 0;
  /** Resolves when no sync is in progress; never rejects. */
  #syncing: Promise<void> = Promise.resolve();
  #nextSync: Promise<void> | undefined;
  #failure: JournalError | undefined;

  private constructor(path: string, file: JournalFile) {
    this.#path = path;
    this.#file = file;
  }

  /**
   * Opens a journal, and creates it if it does not exist. Passes all its records to `onRecord`, in order.
   *
   * @param openFile Opens its file: on the disk by default.
   * @returns The journal, and how many bytes of an incomplete record were removed from its end.
   * @throws {JournalError} If it cannot be read, or is damaged before its last record.
   */
  static open(
    path: string,
    onRecord: (record: JournalRecord) => void,
    openFile: OpenJournalFile = openOnDisk,
  ): { journal: FileJournal; cutBytes: number } {
    let file: JournalFile;
    try {
      file = openFile(path);
    } catch (cause) {
      throw new JournalError(`Journal ${path} cannot be opened: ${messageOf(cause)}`, cause);
    }
    try {
      const journal = new FileJournal(path, file);
      return { journal, cutBytes: journal.#replay(onRecord) };
    } catch (thrown) {
      file.close();
      throw thrown;
    }
  }

  get failure(): JournalError | undefined {
    return this.#failure;
  }

  append(records: readonly JournalRecord[]): void {
    if (this.#failure !== undefined) throw this.#failure;
    const bytes = new TextEncoder().encode(
      records.map((record) => encodeLine(recordToJson(record))).join(""),
    );
    try {
      for (let done = 0; done < bytes.length;) {
        done += this.#file.writeSync(bytes.subarray(done));
      }
    } catch (cause) {
      this.#truncate();
      throw new JournalError(
        `Journal ${this.#path} cannot be written: ${messageOf(cause)}`,
        cause,
      );
    }
    this.#writtenBytes += bytes.length;
  }

  synced(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#syncedBytes === this.#writtenBytes) return Promise.resolve();
    // One sync serves all callers; records appended after its start wait for the next one.
    this.#nextSync ??= this.#syncing.then(() => this.#sync());
    return this.#nextSync;
  }

  /** Closes the file after everything is synced. */
  async close(): Promise<void> {
    try {
      await this.synced();
    } finally {
      this.#file.close();
    }
  }

  async #sync(): Promise<void> {
    this.#nextSync = undefined;
    // A second sync could succeed although the failed one lost bytes.
    if (this.#failure !== undefined) throw this.#failure;
    const upToBytes = this.#writtenBytes;
    const sync = this.#file.syncData();
    this.#syncing = sync.catch(() => {});
    try {
      await sync;
      this.#syncedBytes = upToBytes;
    } catch (cause) {
      // After a failed sync it is unknown what is on the disk: no more records are accepted.
      this.#failure = new JournalError(
        `Journal ${this.#path} cannot be synced: ${messageOf(cause)}`,
        cause,
      );
      throw this.#failure;
    }
  }

  /** Truncates the file to its valid records. */
  #truncate(): void {
    try {
      this.#file.truncateSync(this.#writtenBytes);
      this.#file.seekSync(this.#writtenBytes, Deno.SeekMode.Start);
    } catch (cause) {
      this.#failure = new JournalError(
        `Journal ${this.#path} cannot be repaired: ${messageOf(cause)}`,
        cause,
      );
    }
  }

  /** @returns Bytes removed from the end. */
  #replay(onRecord: (record: JournalRecord) => void): number {
    let tornAt: number | undefined;
    for (const { bytes, offset, isWhole } of linesOf(this.#file, this.#path)) {
      const json = isWhole ? decodeLine(bytes) : undefined;
      if (json === undefined) tornAt ??= offset;
      else if (tornAt !== undefined) {
        throw new JournalError(`Journal ${this.#path} is damaged at byte ${tornAt}`);
      } else {
        onRecord(parseRecord(json, offset, this.#path));
        this.#writtenBytes = offset + bytes.length + 1;
      }
    }
    const cutBytes = this.#file.statSync().size - this.#writtenBytes;
    // What was read may be in the page cache only: the first sync after opening covers it, too.
    this.#truncate();
    if (this.#failure !== undefined) throw this.#failure;
    return cutBytes;
  }
}

/**
 * Reads the first record of a journal without changing it.
 *
 * @returns Undefined for a journal without a complete record.
 * @throws {JournalError} If the file cannot be read, or its first record is invalid.
 */
export function readFirstRecord(path: string): JournalRecord | undefined {
  try {
    using file = Deno.openSync(path);
    for (const { bytes, offset, isWhole } of linesOf(file, path)) {
      const json = isWhole ? decodeLine(bytes) : undefined;
      return json === undefined ? undefined : parseRecord(json, offset, path);
    }
    return undefined;
  } catch (cause) {
    if (cause instanceof JournalError) throw cause;
    throw new JournalError(`Journal ${path} cannot be opened: ${messageOf(cause)}`, cause);
  }
}

function parseRecord(json: string, offset: number, path: string): JournalRecord {
  const parsed = recordSchema.safeParse(JSON.parse(json));
  if (parsed.success) return parsed.data;
  throw new JournalError(
    `Journal ${path} has an unknown record at byte ${offset}: a newer version may have written it`,
    parsed.error,
  );
}

/** The lines of a file without their newline. The last one may lack it. */
function* linesOf(file: JournalFile, path: string) {
  const chunk = new Uint8Array(READ_BYTES);
  let rest = new Uint8Array(0);
  let offset = 0;
  file.seekSync(0, Deno.SeekMode.Start);
  for (let read = file.readSync(chunk); read !== null; read = file.readSync(chunk)) {
    const bytes = new Uint8Array(rest.length + read);
    bytes.set(rest);
    bytes.set(chunk.subarray(0, read), rest.length);
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      yield { bytes: bytes.subarray(start, end), offset: offset + start, isWhole: true };
      start = end + 1;
    }
    rest = bytes.slice(start);
    offset += start;
    if (rest.length > LINE_BYTES_MAX) {
      throw new JournalError(
        `Journal ${path} has a line over ${LINE_BYTES_MAX} bytes at byte ${offset}`,
      );
    }
  }
  if (rest.length > 0) yield { bytes: rest, offset, isWhole: false };
}

/** Eight hex digits and a space before the text. */
const CHECKSUM_BYTES = 9;

/** A line of text after its checksum, so that an incomplete or damaged line is detected. */
export function encodeLine(text: string): string {
  return `${checksum(new TextEncoder().encode(text))} ${text}\n`;
}

/** The text of a line without its newline; undefined if the checksum does not match. */
export function decodeLine(line: Uint8Array): string | undefined {
  const text = line.subarray(CHECKSUM_BYTES);
  const expected = new TextDecoder().decode(line.subarray(0, CHECKSUM_BYTES - 1));
  return checksum(text) === expected ? new TextDecoder().decode(text) : undefined;
}

function checksum(bytes: Uint8Array): string {
  return crc32(bytes).toString(16).padStart(8, "0");
}
