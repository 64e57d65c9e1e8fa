import { type JournalRecord, recordToJson } from "../chain/journal.ts";
import type { ChainState } from "../chain/state.ts";
import type { FileJournal } from "./file_journal.ts";
import {
  encodeLine,
  joined,
  type OpenFile,
  type StorageFile,
  syncFolder,
  writeAt,
} from "./files.ts";
import { parseRecord } from "./journal_text.ts";
import { RecordSorter } from "./record_sorter.ts";
import type { SqliteArchive } from "./sqlite_archive.ts";

/** Receipts that are dropped from memory in one turn. */
const ROWS_PER_TURN = 200;

/** The rest of the old journal that is copied in one step, during which nothing can be appended. */
const LAST_STEP_BYTES = 64 * 1024;

/** Parts of {@link rewriteJournal}. */
export interface RewriteParts {
  /** The folder of the chain. */
  folder: string;
  path: string;
  journal: FileJournal;
  state: ChainState;
  archive: SqliteArchive;
  openFile: OpenFile;
  pace: RewritePace;
}

/** How a rewrite shares the process with other work. */
export interface RewritePace {
  /** Duration of one slice of work, in milliseconds. */
  sliceMs: number;
  /** Resolves after other work had a turn. Rejects to abandon the rewrite. */
  nextTurn(): Promise<void>;
}

/**
 * Writes the state as a new journal while the chain keeps appending to the old one, then replaces the
 * old one: as Redis rewrites its append-only file. Settled theses and receipts older than `beforeMs`
 * go to the archive first. A process that dies at any moment leaves either the old or the new journal
 * complete.
 *
 * @throws {Error} If something cannot be read or written; the old journal then stays.
 */
export async function rewriteJournal(
  parts: RewriteParts,
  beforeMs: number,
  onReplaced: () => void,
): Promise<void> {
  const { journal, state, archive, pace } = parts;
  const sorter = new RecordSorter(state, beforeMs);
  const draft = new Draft(`${parts.path}.new`, parts.openFile);
  try {
    const source = new Source(journal);
    const slices = new Slices(pace);
    for (const text of source.read()) {
      const record = sorter.keep(parseRecord(text, source.bytes, parts.path));
      if (record !== undefined) draft.add(record);
      if (!slices.isOver) continue;
      draft.write();
      archive.add(sorter.takeRows());
      await slices.next();
    }
    for (const record of sorter.summary()) {
      draft.add(record);
      if (!slices.isOver) continue;
      draft.write();
      await slices.next();
    }
    archive.add(sorter.takeRows());
    await archive.synced();
    do {
      for (const text of source.read()) {
        draft.addText(text);
        if (slices.isOver) await slices.next();
      }
      draft.write();
      await draft.file.syncData();
    } while (journal.bytes - source.bytes > LAST_STEP_BYTES);
    // From here to the end in one step: nothing is appended meanwhile.
    for (const text of source.read()) draft.addText(text);
    draft.write();
    draft.file.syncDataSync();
    if (journal.failure !== undefined) throw journal.failure;
    Deno.renameSync(`${parts.path}.new`, parts.path);
    journal.continueIn(draft.file, draft.bytes, draft.checksum);
    onReplaced();
  } catch (thrown) {
    draft.remove();
    throw thrown;
  }
  syncFolder(parts.folder);
  await dropFromMemory(state, sorter, beforeMs, pace);
}

/** Slices of work. */
class Slices {
  readonly #pace: RewritePace;
  #startedMs = performance.now();

  constructor(pace: RewritePace) {
    this.#pace = pace;
  }

  get isOver(): boolean {
    return performance.now() - this.#startedMs >= this.#pace.sliceMs;
  }

  async next(): Promise<void> {
    await this.#pace.nextTurn();
    this.#startedMs = performance.now();
  }
}

/** Continues reading up to the present end of the journal. */
class Source {
  /** Position up to which it has read. */
  bytes = 0;
  readonly #journal: FileJournal;
  #checksum = 0;

  constructor(journal: FileJournal) {
    this.#journal = journal;
  }

  *read(): Generator<string> {
    for (const { text, checksum, end } of this.#journal.texts(this.bytes, this.#checksum)) {
      this.bytes = end;
      this.#checksum = checksum;
      yield text;
    }
  }
}

/** The new journal. */
class Draft {
  readonly file: StorageFile;
  bytes = 0;
  checksum = 0;
  readonly #path: string;
  #lines: Uint8Array[] = [];

  constructor(path: string, openFile: OpenFile) {
    this.#path = path;
    this.file = openFile(path);
    this.file.truncateSync(0);
  }

  add(record: JournalRecord): void {
    this.addText(recordToJson(record));
  }

  addText(text: string): void {
    const line = encodeLine(text, this.checksum);
    this.checksum = line.checksum;
    this.#lines.push(line.bytes);
  }

  write(): void {
    const bytes = joined(this.#lines);
    this.#lines = [];
    writeAt(this.file, this.bytes, bytes);
    this.bytes += bytes.length;
  }

  remove(): void {
    this.file.close();
    Deno.removeSync(this.#path);
  }
}

/** Deletes everything that the new journal does not contain, in small steps. */
async function dropFromMemory(
  { ledger }: ChainState,
  { droppedTheses, droppedHashes }: RecordSorter,
  beforeMs: number,
  pace: RewritePace,
): Promise<void> {
  ledger.drop(droppedTheses, [], beforeMs);
  for (let from = 0; from < droppedHashes.length; from += ROWS_PER_TURN) {
    ledger.drop([], droppedHashes.slice(from, from + ROWS_PER_TURN), beforeMs);
    await pace.nextTurn();
  }
}
