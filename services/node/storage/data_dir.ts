import { messageOf } from "../../../lib/errors.ts";
import { statOf, whyFolderIsClosed } from "../../../lib/files.ts";
import { type Market, type Markets, SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import { isUnsettled } from "../../../lib/protocol/thesis.ts";
import { type Block, genesisBlock } from "../chain/block.ts";
import type { ResumePoint } from "../chain/chain.ts";
import { DataDirError, HeadFile, PriceFile } from "./images.ts";
import {
  FileJournal,
  type OpenJournalFile,
  PRIVATE_FILE,
  readFirstRecord,
} from "./file_journal.ts";
import { type Genesis, Ledger } from "../chain/ledger.ts";
import { PriceHistory } from "../chain/price_history.ts";
import { type GenesisRecord, type JournalRecord, recordToJson } from "../chain/journal.ts";
import { ChainState, historiesOf } from "../chain/state.ts";

/** Prices and the head are written every so many checkpoints: once a second. */
export const FLUSH_CHECKPOINTS = 10;

/** Mode of the folders that a node creates: the owner alone enters them. */
const PRIVATE_FOLDER = 0o700;

/** Options of {@link DataDir.open}. */
export interface DataDirOptions {
  chainId: number;
  genesis: Genesis;
  /** Those of the specification by default. */
  markets?: Markets;
  /** Slots of each price ring. */
  ringSlots: number;
  /** Opens the journal file: on the disk by default. */
  openJournalFile?: OpenJournalFile | undefined;
}

/**
 * A chain on the disk: `chain.journal` contains every transaction and settlement, `prices/` an image of
 * each price ring, and `head` the newest block. Only one process can have it open.
 */
export class DataDir {
  readonly journal: FileJournal;
  /** The state rebuilt from the directory. */
  readonly state: ChainState;
  /** Where the chain continues; undefined for a new one. */
  readonly resumeFrom: ResumePoint | undefined;
  /** Bytes of an incomplete last record that were removed. */
  readonly cutBytes: number;
  readonly #prices: readonly PriceFile[];
  readonly #head: HeadFile;
  readonly #lock: Deno.FsFile;

  private constructor(path: string, options: DataDirOptions, opened: Disposable[]) {
    const keep = <T extends { close(): unknown }>(resource: T): T => {
      opened.push({ [Symbol.dispose]: () => void resource.close() });
      return resource;
    };
    makeDirectories(path);
    this.#lock = keep(lock(path));
    const { markets = SPEC_MARKETS } = options;
    const files = new Map<Market, PriceFile>();
    for (const market of markets.list) {
      const name = market.symbol.replace("/", "-");
      files.set(market, keep(PriceFile.open(`${path}/prices/${name}.ring`, options.ringSlots)));
    }
    this.#prices = [...files.values()];
    this.#head = keep(new HeadFile(`${path}/head`));
    const head = this.#head.read();
    // Time had reached the head, whether there were prices or not.
    if (head !== undefined) { for (const { ring } of this.#prices) ring.skipTo(head.timestampMs); }
    const historyOf = (market: Market) => new PriceHistory(files.get(market)!.ring); // one for each
    const histories = historiesOf(markets, historyOf);
    this.state = new ChainState(new Ledger(options.genesis), histories);
    const genesis = genesisRecordOf(options);
    const replay = new Replay(this.state, genesis, path);
    const { journal, cutBytes } = FileJournal.open(
      `${path}/chain.journal`,
      (record) => replay.apply(record),
      options.openJournalFile,
    );
    this.journal = keep(journal);
    this.cutBytes = cutBytes;
    requireMarkets(this.state, path);
    if (replay.isEmpty) journal.append([genesis]);
    this.resumeFrom = resumePoint(head, replay);
  }

  /**
   * Opens a data directory, and creates it if it does not exist.
   *
   * @throws {DataDirError} If another process has it open, or it contains another chain.
   * @throws {JournalError} If its journal is damaged.
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
      for (const file of this.#prices) file.flush();
      this.#head.write(head);
    } catch (cause) {
      throw new DataDirError(`Prices cannot be written: ${messageOf(cause)}`, cause);
    }
  }

  /** Closes the directory after everything is synced. */
  async close(): Promise<void> {
    for (const file of this.#prices) file.close();
    this.#head.close();
    try {
      await this.journal.close();
    } finally {
      this.#lock.close();
    }
  }
}

/** Applies the records of a journal to a state, after checking that they belong to this chain. */
class Replay {
  /** The highest block number in a record. */
  lastBlockNumber = 0;
  isEmpty = true;
  readonly #state: ChainState;
  readonly #genesis: string;
  readonly #path: string;

  constructor(state: ChainState, genesis: GenesisRecord, path: string) {
    this.#state = state;
    this.#genesis = recordToJson(genesis);
    this.#path = path;
  }

  apply(record: JournalRecord): void {
    if (this.isEmpty) {
      this.isEmpty = false;
      if (recordToJson(record) === this.#genesis) return;
      throw new DataDirError(otherChain(this.#path));
    }
    this.#state.apply(record);
    if (record.kind === "transaction" || record.kind === "failure") {
      this.lastBlockNumber = Math.max(this.lastBlockNumber, record.receipt.blockNumber);
    }
  }
}

/** A thesis on a pair that is no market any more could never be settled. */
function requireMarkets(state: ChainState, path: string): void {
  const lost = state.ledger.theses.find((thesis) =>
    isUnsettled(thesis.status) && state.marketOf(thesis) === undefined
  );
  if (lost === undefined) return;
  throw new DataDirError(
    `${path} contains the open thesis ${lost.id} on ${lost.base} / ${lost.quote}, which is no ` +
      "market: add it to the file of --markets",
  );
}

/** The error for a directory that was created with other settings. */
function otherChain(path: string): string {
  return `${path} contains a chain with another genesis or chain id: use the settings it was created with, or choose another directory`;
}

/** Whether a data directory contains a chain. */
export function holdsChain(path: string): boolean {
  return statOf(`${path}/chain.journal`) !== undefined;
}

/** What {@link inspectDataDir} found. */
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
  const problem = whyFolderIsClosed(path);
  if (problem !== undefined) throw new DataDirError(problem);
  const journal = statOf(`${path}/chain.journal`);
  if (journal === undefined) return undefined;
  const first = readFirstRecord(`${path}/chain.journal`);
  const isOther = first !== undefined &&
    recordToJson(first) !== recordToJson(genesisRecordOf(options));
  if (isOther) throw new DataDirError(otherChain(path));
  return { isHeld: isHeld(`${path}/lock`), journalBytes: journal.size };
}

function isHeld(path: string): boolean {
  if (statOf(path) === undefined) return false;
  using file = Deno.openSync(path);
  // A shared lock: two inspections at the same time do not mistake each other for a node.
  return !file.tryLockSync(false);
}

/** The first record of a journal; sorted, so that the same genesis gives the same text. */
function genesisRecordOf({ chainId, genesis }: DataDirOptions): GenesisRecord {
  const balances = [...genesis.balances].sort(([a], [b]) => a < b ? -1 : 1);
  return {
    kind: "genesis",
    chainId,
    balances: Object.fromEntries(balances),
    relayers: [...genesis.relayers].sort(),
    admins: [...genesis.admins].sort(),
  };
}

function resumePoint(head: Block | undefined, replay: Replay): ResumePoint | undefined {
  if (head === undefined && replay.lastBlockNumber === 0) return undefined;
  const published = head === undefined ? 0 : head.number + FLUSH_CHECKPOINTS;
  return {
    head: head ?? genesisBlock(0),
    nextNumber: Math.max(published, replay.lastBlockNumber) + 1,
  };
}

function makeDirectories(path: string): void {
  try {
    Deno.mkdirSync(`${path}/prices`, { recursive: true, mode: PRIVATE_FOLDER });
  } catch (cause) {
    throw new DataDirError(`Data directory ${path} cannot be created: ${messageOf(cause)}`, cause);
  }
}

/** Locks the directory for this process; the system releases the lock when the process ends. */
function lock(path: string): Deno.FsFile {
  const file = Deno.openSync(`${path}/lock`, { write: true, create: true, mode: PRIVATE_FILE });
  if (file.tryLockSync(true)) return file;
  file.close();
  throw new DataDirError(`Another node has ${path} open: stop it first`);
}
