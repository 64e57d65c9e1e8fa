import { crc32 } from "node:zlib";

/** The file operations of storage. Tests pass files that fail. */
export type StorageFile = Pick<
  Deno.FsFile,
  | "readSync"
  | "writeSync"
  | "seekSync"
  | "truncateSync"
  | "statSync"
  | "syncData"
  | "syncDataSync"
  | "close"
>;

/** Opens a file for reading and writing, and creates it if it does not exist. */
export type OpenFile = (path: string) => StorageFile;

/** Mode of the files of a chain: only their owner can read and write them. */
export const PRIVATE_FILE = 0o600;

/** Opens a file on the disk. */
export const openOnDisk: OpenFile = (path) =>
  Deno.openSync(path, { read: true, write: true, create: true, mode: PRIVATE_FILE });

/** Writes all bytes at an offset of a file. @throws {Error} If the write fails. */
export function writeAt(file: StorageFile, offset: number, bytes: Uint8Array): void {
  file.seekSync(offset, Deno.SeekMode.Start);
  for (let done = 0; done < bytes.length;) done += file.writeSync(bytes.subarray(done));
}

/** Reads bytes at an offset of a file; fewer than `length` if it ends before. */
export function readAt(file: StorageFile, offset: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  file.seekSync(offset, Deno.SeekMode.Start);
  let done = 0;
  while (done < length) {
    const read = file.readSync(bytes.subarray(done));
    if (read === null) break;
    done += read;
  }
  return bytes.subarray(0, done);
}

/** The parts, concatenated. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const first = parts[0];
  if (parts.length === 1 && first !== undefined) return first;
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Makes the names of new and renamed files survive a power loss. */
export function syncFolder(path: string): void {
  if (Deno.build.os === "windows") return; // which cannot open folders
  using folder = Deno.openSync(path);
  folder.syncSync();
}

/** Eight hex digits and a space before the text of a line. */
const CHECKSUM_BYTES = 9;
const NEWLINE = 10;

/**
 * A line of text after its checksum. The checksum continues that of the line before, so that a line
 * which is missing, doubled or in the wrong place is detected like a damaged one.
 */
export function encodeLine(text: string, before = 0): { bytes: Uint8Array; checksum: number } {
  const body = new TextEncoder().encode(text);
  const checksum = crc32(body, before);
  const bytes = new Uint8Array(CHECKSUM_BYTES + body.length + 1);
  bytes.set(new TextEncoder().encode(`${checksum.toString(16).padStart(8, "0")} `));
  bytes.set(body, CHECKSUM_BYTES);
  bytes[bytes.length - 1] = NEWLINE;
  return { bytes, checksum };
}

/** The text of a line without its newline; undefined if the checksum does not match. */
export function decodeLine(
  line: Uint8Array,
  before = 0,
): { text: string; checksum: number } | undefined {
  const body = line.subarray(CHECKSUM_BYTES);
  const checksum = crc32(body, before);
  const head = new TextDecoder().decode(line.subarray(0, CHECKSUM_BYTES));
  if (head !== `${checksum.toString(16).padStart(8, "0")} `) return undefined;
  return { text: new TextDecoder().decode(body), checksum };
}

/** One line of a file, without its newline. */
export interface Line {
  bytes: Uint8Array;
  /** Where it starts in the file. */
  offset: number;
  /** Only the last line of a file may lack its newline. */
  hasNewline: boolean;
}

const READ_BYTES = 256 * 1024;

/**
 * The lines of a file in `[from, to)`.
 *
 * @throws {RangeError} If a line is longer than `lineBytesMax`; the message names its offset.
 */
export function* linesOf(
  file: StorageFile,
  lineBytesMax: number,
  from = 0,
  to = Infinity,
): Generator<Line> {
  let rest = new Uint8Array(0);
  let at = from;
  while (at < to) {
    const read = readAt(file, at, Math.min(READ_BYTES, to - at));
    if (read.length === 0) break;
    at += read.length;
    const bytes = new Uint8Array(rest.length + read.length);
    bytes.set(rest);
    bytes.set(read, rest.length);
    const offset = at - bytes.length;
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      yield { bytes: bytes.subarray(start, end), offset: offset + start, hasNewline: true };
      start = end + 1;
    }
    rest = bytes.slice(start);
    if (rest.length > lineBytesMax) {
      throw new RangeError(`has a line over ${lineBytesMax} bytes at byte ${offset + start}`);
    }
  }
  if (rest.length > 0) yield { bytes: rest, offset: at - rest.length, hasNewline: false };
}
