import { getLogger } from "@logtape/logtape";
import { PriceRing } from "../../../lib/prices/price_ring.ts";
import { LOG_ROOT } from "../../../lib/http/logging.ts";
import type { Block } from "../chain/block.ts";
import type { ResumePoint } from "../chain/chain.ts";
import { DataDir, FLUSH_CHECKPOINTS, holdsChain } from "./data_dir.ts";
import { type Journal, memoryJournal } from "../chain/journal.ts";
import type { OpenJournalFile } from "./file_journal.ts";
import { Ledger } from "../chain/ledger.ts";
import { PriceHistory } from "../chain/price_history.ts";
import type { NodeSettings } from "../settings.ts";
import { ChainState, historiesOf } from "../chain/state.ts";

/** Where a node keeps its chain. */
export interface Storage {
  readonly state: ChainState;
  readonly journal: Journal;
  readonly resumeFrom: ResumePoint | undefined;
  /** Has to be called after each checkpoint, to write prices and the head from time to time. */
  afterCheckpoint(head: Block): void;
  /** Writes everything to the disk and closes the files. */
  close(head: Block): Promise<void>;
}

/**
 * Opens the data directory, or storage in memory if there is none.
 *
 * @param openJournalFile Opens the journal file: on the disk by default.
 * @throws {DataDirError} @throws {JournalError} Like {@link DataDir.open}.
 */
export function openStorage(
  settings: NodeSettings,
  dataDir: string | undefined,
  openJournalFile?: OpenJournalFile,
): Storage {
  const { chainId, genesis, markets, oracle: { ringBufferSize: ringSlots } } = settings;
  if (dataDir !== undefined) {
    const log = getLogger([LOG_ROOT, "node"]);
    const isNew = !holdsChain(dataDir);
    // Logged first: reading a long chain takes time.
    if (!isNew) log.info("Reading the chain in {dataDir}", { dataDir });
    const directory = DataDir.open(dataDir, {
      ...{ chainId, genesis, markets, ringSlots, openJournalFile },
    });
    if (isNew) log.info("New chain in {dataDir}", { dataDir });
    else logResumed(directory);
    return onDisk(directory);
  }
  return {
    state: new ChainState(
      new Ledger(genesis),
      historiesOf(markets, () => new PriceHistory(new PriceRing(ringSlots))),
    ),
    journal: memoryJournal,
    resumeFrom: undefined,
    afterCheckpoint: () => {},
    close: () => Promise.resolve(),
  };
}

/** Logs what was found of an existing chain. */
function logResumed({ state, cutBytes }: DataDir): void {
  const log = getLogger([LOG_ROOT, "node"]);
  if (cutBytes > 0) {
    log.warning("Cut {cutBytes} bytes of a torn record off the journal", { cutBytes });
  }
  log.info("Resumed with {theses} theses, {unsettled} of them not settled", {
    theses: state.ledger.theses.length,
    unsettled: state.settler.unsettledCount,
  });
}

function onDisk(directory: DataDir): Storage {
  const log = getLogger([LOG_ROOT, "node"]);
  const { state, journal, resumeFrom } = directory;
  let checkpoints = 0;
  const flush = (head: Block) => {
    try {
      directory.flush(head);
    } catch (thrown) {
      // Prices stay in memory, and the next flush writes them.
      log.error("{error}", { error: thrown });
    }
  };
  return {
    state,
    journal,
    resumeFrom,
    afterCheckpoint(head) {
      checkpoints += 1;
      if (checkpoints % FLUSH_CHECKPOINTS !== 0) return;
      flush(head);
      journal.synced().catch((thrown) => log.error("{error}", { error: thrown }));
    },
    close(head) {
      flush(head);
      return directory.close();
    },
  };
}
