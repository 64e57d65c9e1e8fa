import { type Clock, systemClock } from "../../../lib/clock.ts";
import { messageOf } from "../../../lib/errors.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import { PriceRing } from "../../../lib/prices/price_ring.ts";
import type { Market } from "../../../lib/protocol/markets.ts";
import type { Archive } from "../chain/archive.ts";
import type { Block } from "../chain/block.ts";
import type { BlockNumbers, ResumePoint } from "../chain/block_log.ts";
import { type Journal, memoryJournal } from "../chain/journal.ts";
import { Ledger } from "../chain/ledger.ts";
import { PriceHistory } from "../chain/price_history.ts";
import { ChainState, historiesOf } from "../chain/state.ts";
import type { NodeSettings } from "../settings.ts";
import { Compaction } from "./compaction.ts";
import { DataDir, hasChain } from "./data_dir.ts";
import type { OpenFile } from "./files.ts";

/** Number of checkpoints between two writes of prices and the head: once a second. */
export const FLUSH_CHECKPOINTS = 10;

/** How long settled theses and receipts can be read by default: 7 days. */
const RETAIN_MS = 7 * 86_400_000;

/** A reason why something cannot be written now. */
export interface StorageProblem {
  /** `failed`: no transaction and no settlement is accepted. `degraded`: prices are in memory only. */
  status: "failed" | "degraded";
  reason: string;
}

/** The storage of a node's chain. */
export interface Storage {
  readonly state: ChainState;
  readonly journal: Journal;
  /** When the chain was created, in Unix milliseconds; undefined for a new one in memory. */
  readonly createdAtMs: number | undefined;
  readonly resumeFrom: ResumePoint | undefined;
  readonly numbers: BlockNumbers | undefined;
  /** Settled theses and receipts that the state does not contain any more. */
  readonly archive: Archive | undefined;
  /** Slots that were damaged or missing in the price images. */
  readonly damagedSlots: ReadonlyMap<Market, number>;
  readonly problem: StorageProblem | undefined;
  /** Length of the journal; 0 in memory. */
  readonly journalBytes: number;
  /** Has to be called after each checkpoint, to write prices and the head from time to time. */
  afterCheckpoint(head: Block): void;
  /** Writes everything to the disk and closes the files. */
  close(head: Block): Promise<void>;
}

/** Options of {@link openStorage}. */
export interface StorageOptions {
  newChain?: boolean | undefined;
  /** How long settled theses and receipts can be read, in milliseconds. */
  retainMs?: number;
  /** Minimum size at which the journal is rewritten. */
  rewriteBytesMin?: number;
  clock?: Clock;
  /** Opens the files: on the disk by default. */
  openFile?: OpenFile;
}

/**
 * Opens the data directory, or storage in memory if there is none.
 *
 * @throws {DataDirError} @throws {JournalError} Like {@link DataDir.open}.
 */
export function openStorage(
  settings: NodeSettings,
  dataDir: string | undefined,
  { newChain = false, clock = systemClock, openFile, retainMs = RETAIN_MS, rewriteBytesMin }:
    StorageOptions = {},
): Storage {
  const { chainId, genesis, markets, oracle: { ringBufferSize: ringSlots } } = settings;
  if (dataDir !== undefined) {
    const log = serviceLog("node");
    const isNew = !hasChain(dataDir);
    // Logged first: reading a long chain takes time.
    if (!isNew) log.info("Reading the chain in {dataDir}", { dataDir });
    const options = { chainId, genesis, markets, ringSlots, retainMs, newChain, clock, openFile };
    const directory = DataDir.open(dataDir, options);
    if (isNew) log.info("New chain in {dataDir}", { dataDir });
    else logResumed(directory);
    const compaction = new Compaction(directory, { retainMs, rewriteBytesMin });
    return diskStorage(directory, compaction, clock);
  }
  return {
    state: new ChainState(
      new Ledger(genesis),
      historiesOf(markets, () => new PriceHistory(new PriceRing(ringSlots))),
    ),
    journal: memoryJournal,
    createdAtMs: undefined,
    resumeFrom: undefined,
    numbers: undefined,
    archive: undefined,
    journalBytes: 0,
    damagedSlots: new Map(),
    problem: undefined,
    afterCheckpoint: () => {},
    close: () => Promise.resolve(),
  };
}

/** Logs the state of an existing chain. */
function logResumed({ state, repairs }: DataDir): void {
  const log = serviceLog("node");
  const { cutBytes, isHeadLost, damagedSlots } = repairs;
  if (cutBytes > 0) {
    log.warning(
      "Cut {cutBytes} bytes of a torn record off the journal; they are kept beside it",
      { cutBytes },
    );
  }
  if (isHeadLost) {
    log.warning(
      "The file head was missing or damaged: the next block follows all reserved numbers",
    );
  }
  if (damagedSlots.size > 0) {
    const slots = [...damagedSlots].map(([{ symbol }, count]) => `${symbol} ${count}`).join(", ");
    log.warning("Price images are damaged; these slots count as missing: {slots}", { slots });
  }
  log.info("Resumed with {theses} theses, {unsettled} of them not settled", {
    theses: state.ledger.theses.length,
    unsettled: state.settler.unsettledCount,
  });
}

/** The storage of a chain on the disk: writes once a second, and logs failures. */
function diskStorage(directory: DataDir, compaction: Compaction, clock: Clock): Storage {
  const { state, journal, createdAtMs, resumeFrom, numbers, archive, repairs } = directory;
  const log = serviceLog("node");
  let checkpoints = 0;
  let priceProblem: string | undefined;
  let logged: string | undefined;
  const flush = (head: Block) => {
    try {
      directory.flush(head);
      priceProblem = undefined;
    } catch (thrown) {
      // Prices stay in memory, and the next flush writes them.
      priceProblem = messageOf(thrown);
    }
  };
  const problem = (): StorageProblem | undefined => {
    const { failure } = journal;
    if (failure !== undefined) return { status: "failed", reason: failure.message };
    return priceProblem === undefined ? undefined : { status: "degraded", reason: priceProblem };
  };
  /** Logs once when a problem begins, changes or ends. */
  const logChange = () => {
    const reason = problem()?.reason;
    if (reason === logged) return;
    logged = reason;
    if (reason === undefined) log.info("The data directory can be written again");
    else log.error("{reason}", { reason });
  };
  return {
    ...{ state, journal, createdAtMs, resumeFrom, numbers, archive },
    damagedSlots: repairs.damagedSlots,
    get journalBytes() {
      return journal.bytes;
    },
    get problem() {
      return problem();
    },
    afterCheckpoint(head) {
      checkpoints += 1;
      if (checkpoints % FLUSH_CHECKPOINTS === 0) {
        flush(head);
        journal.probe();
        journal.synced().catch(() => {}); // the journal keeps its failure
        compaction.check(clock.now());
      }
      logChange();
    },
    async close(head) {
      await compaction.stop();
      await directory.close(head);
    },
  };
}
