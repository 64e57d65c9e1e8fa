import { messageOf } from "../../../lib/errors.ts";
import { JournalError, type JournalRecord, recordSchema } from "../chain/journal.ts";
import { decodeLine, linesOf, PRIVATE_FILE } from "./files.ts";

/** Longest line: a `BackfillOracle` of 6,000 prices of 20 digits is 140 kB. */
export const LINE_BYTES_MAX = 1024 * 1024;

/** The text of a journal line as a record. @throws {JournalError} If its kind is unknown. */
export function parseRecord(json: string, offset: number, path: string): JournalRecord {
  const parsed = recordSchema.safeParse(JSON.parse(json));
  if (parsed.success) return parsed.data;
  throw new JournalError(
    `Journal ${path} has an unknown record at byte ${offset}: another version wrote it; use that version, or another directory`,
    parsed.error,
  );
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
    for (const { bytes, offset } of linesOf(file, LINE_BYTES_MAX)) {
      const line = decodeLine(bytes);
      return line === undefined ? undefined : parseRecord(line.text, offset, path);
    }
    return undefined;
  } catch (cause) {
    if (cause instanceof JournalError) throw cause;
    throw new JournalError(`Journal ${path} cannot be opened: ${messageOf(cause)}`, cause);
  }
}

/** The error for a complete record with a wrong checksum. */
export function damagedAt(path: string, offset: number): JournalError {
  return new JournalError(
    `Journal ${path} is damaged at byte ${offset}: the record there is complete, but its checksum is wrong. ` +
      "It may have been answered, so the node does not remove it. Restore the whole directory from a backup; " +
      `or copy the journal, cut it at that byte (truncate --size ${offset}), delete the file head, and accept that everything after it is lost`,
  );
}

/** The error for a journal whose end is lost. */
export function tooShort(path: string, bytes: number, synced: number): JournalError {
  return new JournalError(
    `Journal ${path} has ${bytes} valid bytes, but ${synced} were on the disk before: its end is lost. ` +
      "Restore the whole directory from a backup; or delete the file head, and accept the loss",
  );
}

/** Keeps removed bytes in a file, to investigate the cause later. */
export function keepCut(path: string, bytes: Uint8Array): void {
  using file = Deno.openSync(path, { append: true, create: true, mode: PRIVATE_FILE });
  for (let done = 0; done < bytes.length;) done += file.writeSync(bytes.subarray(done));
  file.syncSync();
}
