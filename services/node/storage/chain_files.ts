import { messageOf } from "../../../lib/errors.ts";
import { statOf } from "../../../lib/files.ts";
import type { Market, Markets } from "../../../lib/protocol/markets.ts";
import { type GenesisRecord, recordToJson } from "../chain/journal.ts";
import { LINE_BYTES_MAX } from "./journal_text.ts";
import {
  encodeLine,
  linesOf,
  type OpenFile,
  PRIVATE_FILE,
  type StorageFile,
  syncFolder,
  writeAt,
} from "./files.ts";
import { DataDirError } from "./images.ts";

/** Mode of the folders that a node creates: only their owner can enter them. */
const PRIVATE_FOLDER = 0o700;

/** The journal of the chain in a folder. */
export function journalPath(path: string): string {
  return `${path}/chain.journal`;
}

/** Settled theses and receipts that the journal does not contain any more. */
export function archivePath(path: string): string {
  return `${path}/archive.sqlite`;
}

/** The file of the newest block. */
export function headPath(path: string): string {
  return `${path}/head`;
}

/** The price image of a market. */
export function imagePath(path: string, { symbol }: Market): string {
  return `${path}/prices/${symbol.replace("/", "-")}.ring`;
}

/** Files of a chain apart from its journal. */
export function leftoverFiles(path: string, markets: Markets): string[] {
  const images = markets.list.map((market) => imagePath(path, market));
  const archive = archivePath(path);
  return [headPath(path), ...images, archive, `${archive}-wal`, `${archive}-shm`].filter((file) =>
    (statOf(file)?.size ?? 0) > 0
  );
}

/**
 * Creates the journal of a new chain before any other file, so that other files without a journal
 * always mean a lost one.
 *
 * @returns Whether the chain is new.
 */
export function createJournal(
  path: string,
  markets: Markets,
  genesis: GenesisRecord,
  openFile: OpenFile,
): boolean {
  if (leftoverFiles(path, markets).length > 0) return false;
  let file: StorageFile | undefined;
  try {
    file = openFile(journalPath(path));
    // A first start that was killed may have left a part of the first record.
    for (const { hasNewline } of linesOf(file, LINE_BYTES_MAX)) if (hasNewline) return false;
    file.truncateSync(0);
    writeAt(file, 0, encodeLine(recordToJson(genesis)).bytes);
    file.syncDataSync();
  } catch (cause) {
    throw new DataDirError(`A chain cannot be created in ${path}: ${messageOf(cause)}`, cause);
  } finally {
    file?.close();
  }
  syncFolder(path);
  return true;
}

/** Removes the files of an unfinished rewrite of the journal. */
export function removeDraft(path: string): void {
  const draft = `${journalPath(path)}.new`;
  if (statOf(draft) !== undefined) Deno.removeSync(draft);
}

/** Moves the files of a chain whose journal is lost to a new subfolder. */
export function moveToSubfolder(path: string, markets: Markets): void {
  if ((statOf(journalPath(path))?.size ?? 0) > 0) {
    throw new DataDirError(
      `${path} contains a chain: remove --new-chain to continue it, or choose another directory for a new one`,
    );
  }
  const left = leftoverFiles(path, markets);
  if (left.length === 0) return;
  let number = 1;
  while (statOf(`${path}/old-${number}`) !== undefined) number += 1;
  Deno.mkdirSync(`${path}/old-${number}/prices`, { recursive: true, mode: PRIVATE_FOLDER });
  for (const file of left) Deno.renameSync(file, `${path}/old-${number}${file.slice(path.length)}`);
}

export function makeDirectories(path: string): void {
  try {
    Deno.mkdirSync(`${path}/prices`, { recursive: true, mode: PRIVATE_FOLDER });
  } catch (cause) {
    throw new DataDirError(`Data directory ${path} cannot be created: ${messageOf(cause)}`, cause);
  }
}

/**
 * Locks the directory for this process until it is closed; the system releases the lock when the
 * process ends.
 */
export function lock(path: string): { close(): void } {
  let file: Deno.FsFile;
  try {
    file = Deno.openSync(`${path}/lock`, { write: true, create: true, mode: PRIVATE_FILE });
  } catch (cause) {
    throw new DataDirError(
      `Data directory ${path} cannot be written: ${
        messageOf(cause)
      }; make it writable for this user`,
      cause,
    );
  }
  if (file.tryLockSync(true)) {
    return {
      close() {
        // To close it is not enough: a program that is just being started has the file open too.
        file.unlockSync();
        file.close();
      },
    };
  }
  file.close();
  throw new DataDirError(`Another node has ${path} open: stop it first`);
}
