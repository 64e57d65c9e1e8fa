import { messageOf } from "../../../lib/errors.ts";
import { statOf, whyFolderIsClosed } from "../../../lib/files.ts";
import { type Market, MARKETS } from "../../../lib/protocol/markets.ts";
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

/** How often prices and the head are written down, in checkpoints: once a second. */
export const FLUSH_CHECKPOINTS = 10;

/** Mode of the folders that a node creates: the owner alone enters them. */
const PRIVATE_FOLDER = 0o700;

/** What a data directory is made for. */
export interface DataDirOptions {
  chainId: number;
  genesis: Genesis;
  /** Slots of each price ring. */
  ringSlots: number;
  /** Opens the file of the journal: on the disk by default. */
  openJournalFile?: OpenJournalFile | undefined;
}

/**
 * A chain on the disk: `chain.journal` holds every transaction and settlement, `prices/` the image
 * of every price ring, `head` the newest block. Only one process may have it open.
 */
export class DataDir {
  readonly journal: FileJournal;
  /** The state as it was when the directory was last written to. */
  readonly state: ChainState;
  /** Where the chain goes on; undefined for a new one. */
  readonly resumeFrom: ResumePoint | undefined;
  /** Bytes of a record that was cut off by the death of the process, and removed. */
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
    this.#lock = keep(lock(`${path}/lock`));
    const files = new Map<Market, PriceFile>();
    for (const market of MARKETS) {
      const name = market.symbol.replace("/", "-");
      files.set(market, keep(PriceFile.open(`${path}/prices/${name}.ring`, options.ringSlots)));
    }
    this.#prices = [...files.values()];
    this.#head = keep(new HeadFile(`${path}/head`));
    const head = this.#head.read();
    // Time went on to the head, whether there were prices or not.
    if (head !== undefined) { for (const { ring } of this.#prices) ring.skipTo(head.timestampMs); }
    const historyOf = (market: Market) => new PriceHistory(files.get(market)!.ring); // one for each
    this.state = new ChainState(new Ledger(options.genesis), historiesOf(historyOf));
    const genesis = genesisRecordOf(options);
    const replay = new Replay(this.state, genesis, path);
    const { journal, cutBytes } = FileJournal.open(
      `${path}/chain.journal`,
      (record) => replay.apply(record),
      options.openJournalFile,
    );
    this.journal = keep(journal);
    this.cutBytes = cutBytes;
    if (replay.isEmpty) journal.append([genesis]);
    this.resumeFrom = resumePoint(head, replay);
  }

  /**
   * Opens a data directory, making it where there is none.
   *
   * @throws {DataDirError} If another process has it open, or it holds another chain.
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

  /** Writes prices and the head down. @throws {DataDirError} If the disk does not take them. */
  flush(head: Block): void {
    try {
      for (const file of this.#prices) file.flush();
      this.#head.write(head);
    } catch (cause) {
      throw new DataDirError(`Prices cannot be written: ${messageOf(cause)}`, cause);
    }
  }

  /** Ends; all that was written is on the disk then. */
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

/** Applies the records of a journal to a state, after seeing that they belong to the same chain. */
class Replay {
  /** The highest block that a record names. */
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
    if (record.kind === "settlement") this.#state.applySettlement(record);
    if (record.kind === "transaction") this.#state.applyTransaction(record);
    if (record.kind === "failure") this.#state.ledger.recordFailure(record.receipt);
    if (record.kind === "transaction" || record.kind === "failure") {
      this.lastBlockNumber = Math.max(this.lastBlockNumber, record.receipt.blockNumber);
    }
  }
}

/** What is wrong with a directory that was made with other settings. */
function otherChain(path: string): string {
  return `${path} holds a chain with another genesis or chain id: start it with the settings it was made with, or choose another directory`;
}

/** Whether a data directory holds a chain, or the start of one. */
export function holdsChain(path: string): boolean {
  return statOf(`${path}/chain.journal`) !== undefined;
}

/** What a data directory holds. */
export interface DataDirInspection {
  /** A node that runs has it open. */
  isHeld: boolean;
  journalBytes: number;
}

/**
 * Looks at a data directory, and leaves it as it is.
 *
 * @returns Undefined where there is no chain in it yet.
 * @throws {DataDirError} @throws {JournalError} As {@link DataDir.open}, as far as the first record
 * tells it.
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
  // Shared, so that two looks at the same time do not take each other for a node.
  return !file.tryLockSync(false);
}

/** The record that a journal begins with; balances in order of address, so that equal ones are equal. */
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
  const told = head === undefined ? 0 : head.number + FLUSH_CHECKPOINTS;
  return {
    head: head ?? genesisBlock(0),
    nextNumber: Math.max(told, replay.lastBlockNumber) + 1,
  };
}

function makeDirectories(path: string): void {
  try {
    Deno.mkdirSync(`${path}/prices`, { recursive: true, mode: PRIVATE_FOLDER });
  } catch (cause) {
    throw new DataDirError(`Data directory ${path} cannot be made: ${messageOf(cause)}`, cause);
  }
}

/** Takes the directory for this process; the system lets go of it when the process dies. */
function lock(path: string): Deno.FsFile {
  const file = Deno.openSync(path, { write: true, create: true, mode: PRIVATE_FILE });
  if (file.tryLockSync(true)) return file;
  file.close();
  throw new DataDirError(`${path} is held by another node: stop it first`);
}
