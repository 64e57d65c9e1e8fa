import { type Clock, systemClock } from "../../../lib/clock.ts";
import { messageOf } from "../../../lib/errors.ts";
import { folderProblem, statOf } from "../../../lib/files.ts";
import { type Market, type Markets, SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import { isUnsettled } from "../../../lib/protocol/thesis.ts";
import { type Block, genesisBlock } from "../chain/block.ts";
import type { ResumePoint } from "../chain/block_log.ts";
import type { Genesis } from "../chain/accounts.ts";
import { Ledger } from "../chain/ledger.ts";
import { PriceHistory } from "../chain/price_history.ts";
import { ChainState, historiesOf } from "../chain/state.ts";
import { BlockReservation } from "./block_reservation.ts";
import {
  archivePath,
  createJournal,
  headPath,
  imagePath,
  journalPath,
  leftoverFiles,
  lock,
  makeDirectories,
  moveToSubfolder,
  removeDraft,
} from "./chain_files.ts";
import { FileJournal } from "./file_journal.ts";
import { type OpenFile, openOnDisk, syncFolder } from "./files.ts";
import { DataDirError, HeadFile, PriceFile, type SavedHead } from "./images.ts";
import { rewriteJournal, type RewritePace } from "./journal_rewrite.ts";
import { readFirstRecord } from "./journal_text.ts";
import { genesisRecordOf, isSameChain, journalLost, otherChain, Replay } from "./replay.ts";
import { SqliteArchive } from "./sqlite_archive.ts";

/** Options of {@link DataDir.open}. */
export interface DataDirOptions {
  chainId: number;
  genesis: Genesis;
  /** Those of the specification by default. */
  markets?: Markets;
  /** Slots of each price ring. */
  ringSlots: number;
  /** Starts a new chain even if files of an earlier one remain; they move to a subfolder. */
  newChain?: boolean;
  clock?: Clock;
  /** Opens the files: on the disk by default. */
  openFile?: OpenFile | undefined;
}

/** Problems found in the files and repaired on open. */
export interface Repairs {
  /** Bytes of an incomplete last record that were removed from the journal. */
  cutBytes: number;
  /** The file of the newest block was missing or damaged. */
  isHeadLost: boolean;
  /** Damaged or missing slots of each price image. */
  damagedSlots: ReadonlyMap<Market, number>;
}

/**
 * A chain on the disk: `chain.journal` contains every change of balances and theses, `prices/` an image
 * of each price ring, `head` the newest block, `archive.sqlite` old settled theses and receipts. A
 * lock file ensures that only one process opens it.
 */
export class DataDir {
  readonly journal: FileJournal;
  /** The state rebuilt from the directory. */
  readonly state: ChainState;
  /** When the chain was created, in Unix milliseconds. */
  readonly createdAtMs: number;
  /** The block from which the chain continues; undefined for a new one. */
  readonly resumeFrom: ResumePoint | undefined;
  readonly numbers: BlockReservation;
  readonly repairs: Repairs;
  /** Settled theses and receipts that were removed from the journal. */
  readonly archive: SqliteArchive;
  readonly #path: string;
  readonly #openFile: OpenFile;
  readonly #prices: ReadonlyMap<Market, PriceFile>;
  readonly #head: HeadFile;
  readonly #lock: { close(): void };
  #rewrites: number;

  private constructor(path: string, options: DataDirOptions, opened: Disposable[]) {
    const keep = <T extends { close(): void }>(resource: T): T => {
      opened.push({ [Symbol.dispose]: () => resource.close() });
      return resource;
    };
    const openFile = options.openFile ?? openOnDisk;
    this.#path = path;
    this.#openFile = openFile;
    makeDirectories(path);
    this.#lock = keep(lock(path));
    const { markets = SPEC_MARKETS } = options;
    removeDraft(path);
    if (options.newChain === true) moveToSubfolder(path, markets);
    const genesis = genesisRecordOf(options, (options.clock ?? systemClock).now());
    const isNew = createJournal(path, markets, genesis, openFile);

    const openPrices = (market: Market) =>
      keep(PriceFile.open(imagePath(path, market), market, options.ringSlots, openFile));
    const prices = new Map(markets.list.map((market) => [market, openPrices(market)]));
    this.#prices = prices;
    this.#head = keep(new HeadFile(headPath(path), openFile));
    const saved = this.#head.read();
    const head = saved === "damaged" ? undefined : saved;
    // Time had passed up to the saved head: slots without a price before it are missing prices.
    if (head !== undefined) {
      for (const { ring } of prices.values()) {
        ring.skipTo(head.timestampMs);
      }
    }
    const historyOf = (market: Market) => new PriceHistory(prices.get(market)!.ring); // one for each
    this.state = new ChainState(new Ledger(options.genesis), historiesOf(markets, historyOf));

    const replay = new Replay(this.state, genesis, path);
    const { journal, cutBytes } = FileJournal.open(
      journalPath(path),
      (record) => replay.apply(record),
      { openFile, syncedBytes: () => replay.syncedBytes(head) },
    );
    opened.push(journal);
    this.journal = journal;
    if (replay.genesis === undefined) throw new DataDirError(journalLost(path));
    requireMarkets(this.state, path);
    this.createdAtMs = replay.genesis.createdAtMs;
    this.#rewrites = replay.genesis.rewrites;
    this.archive = keep(SqliteArchive.open(archivePath(path)));
    this.resumeFrom = this.#resumePoint(head, replay);
    this.numbers = new BlockReservation(journal, replay.reservedTo);
    syncFolder(path);
    const damaged = [...prices].map(([market, file]) => [market, file.damagedSlots] as const);
    this.repairs = {
      cutBytes,
      isHeadLost: head === undefined && this.resumeFrom !== undefined,
      damagedSlots: new Map(isNew ? [] : damaged.filter(([, slots]) => slots > 0)),
    };
  }

  /**
   * Opens a data directory, and creates it if it does not exist.
   *
   * @throws {DataDirError} If another process has it open, its files cannot be read or written, it
   * contains another chain, or the journal of its chain is missing.
   * @throws {JournalError} If its journal is damaged or shorter than it was.
   */
  static open(path: string, options: DataDirOptions): DataDir {
    const opened: Disposable[] = [];
    try {
      return new DataDir(path, options, opened);
    } catch (thrown) {
      for (const resource of opened.reverse()) resource[Symbol.dispose]();
      throw thrown;
    }
  }

  /** Writes prices and the head to the disk. @throws {DataDirError} If that fails. */
  flush(head: Block): void {
    try {
      for (const file of this.#prices.values()) file.flush();
      const { syncedBytes: bytes } = this.journal;
      this.#head.write(head, { rewrites: this.#rewrites, bytes });
    } catch (cause) {
      throw new DataDirError(`Prices cannot be written: ${messageOf(cause)}`, cause);
    }
  }

  /**
   * Compacts the journal, see {@link rewriteJournal}.
   *
   * @throws {Error} If the rewrite fails; the journal is then unchanged.
   */
  async rewrite(beforeMs: number, pace: RewritePace): Promise<void> {
    const { journal, state, archive } = this;
    const files = { folder: this.#path, path: journalPath(this.#path), openFile: this.#openFile };
    await rewriteJournal({ ...files, journal, state, archive, pace }, beforeMs, () => {
      this.#rewrites += 1;
    });
  }

  /**
   * Syncs the journal and closes the directory. If `head` is given, saves it and all prices first;
   * otherwise the next start recovers as after a crash.
   */
  async close(head?: Block): Promise<void> {
    try {
      if (head !== undefined) await this.#finish(head);
    } finally {
      for (const file of this.#prices.values()) file.close();
      this.#head.close();
      this.archive.close();
      try {
        await this.journal.close();
      } finally {
        this.#lock.close();
      }
    }
  }

  async #finish(head: Block): Promise<void> {
    await this.journal.synced();
    this.flush(head);
    this.#head.sync();
    this.numbers.release(head.number);
  }

  /** Undefined if no block was ever announced. */
  #resumePoint(head: SavedHead | undefined, replay: Replay): ResumePoint | undefined {
    const announcedTo = Math.max(replay.reservedTo, replay.lastBlockNumber);
    if (announcedTo === 0) return undefined;
    if (head !== undefined) return { head: { ...head, transactions: [] }, announcedTo };
    const newestMs = [...this.#prices.values()].map(({ ring }) => ring.newest ?? 0);
    const timestampMs = Math.max(this.createdAtMs, replay.lastMs, ...newestMs);
    return { head: { ...genesisBlock(this.createdAtMs), timestampMs }, announcedTo };
  }
}

/** Fails if an open thesis refers to a removed market: it could never be settled. */
function requireMarkets(state: ChainState, path: string): void {
  const lost = state.ledger.theses.find((thesis) =>
    isUnsettled(thesis.status) && state.marketOf(thesis) === undefined
  );
  if (lost === undefined) return;
  throw new DataDirError(
    `${path} contains the open thesis ${lost.id} on ${lost.base} / ${lost.quote}, which is no ` +
      "configured market: add the market to the --markets file",
  );
}

/** Whether a data directory contains a chain. */
export function hasChain(path: string): boolean {
  return statOf(journalPath(path)) !== undefined;
}

/** Result of {@link inspectDataDir}. */
export interface DataDirInspection {
  /** A running node has it open. */
  isHeld: boolean;
  journalBytes: number;
}

/**
 * Inspects a data directory without changing it.
 *
 * @returns Undefined if it contains no chain yet.
 * @throws {DataDirError} @throws {JournalError} Like {@link DataDir.open}; it reads the first record
 * only.
 */
export function inspectDataDir(
  path: string,
  options: DataDirOptions,
): DataDirInspection | undefined {
  const problem = folderProblem(path);
  if (problem !== undefined) throw new DataDirError(problem);
  const journalBytes = statOf(journalPath(path))?.size ?? 0;
  if (journalBytes === 0) {
    if (leftoverFiles(path, options.markets ?? SPEC_MARKETS).length > 0) {
      throw new DataDirError(journalLost(path));
    }
    return undefined;
  }
  const first = readFirstRecord(journalPath(path));
  if (first !== undefined && !isSameChain(first, genesisRecordOf(options, 0))) {
    throw new DataDirError(otherChain(path));
  }
  return { isHeld: isHeld(`${path}/lock`), journalBytes };
}

function isHeld(path: string): boolean {
  if (statOf(path) === undefined) return false;
  using file = Deno.openSync(path);
  // A shared lock: concurrent inspections must not be reported as a running node.
  const isFree = file.tryLockSync(false);
  if (isFree) file.unlockSync();
  return !isFree;
}
