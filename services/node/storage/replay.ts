import { type GenesisRecord, type JournalRecord, recordToJson } from "../chain/journal.ts";
import type { Genesis } from "../chain/accounts.ts";
import type { ChainState } from "../chain/state.ts";
import { DataDirError, type SavedHead } from "./images.ts";

/** Applies the records of a journal to a state, after checking that they belong to this chain. */
export class Replay {
  genesis: GenesisRecord | undefined;
  /** The highest block number in a record. */
  lastBlockNumber = 0;
  /** The last reservation of block numbers. */
  reservedTo = 0;
  /** Time of the newest record, Unix milliseconds. */
  lastMs = 0;
  readonly #state: ChainState;
  readonly #settings: GenesisRecord;
  readonly #path: string;

  constructor(state: ChainState, settings: GenesisRecord, path: string) {
    this.#state = state;
    this.#settings = settings;
    this.#path = path;
  }

  apply(record: JournalRecord): void {
    if (this.genesis === undefined) {
      if (!isSameChain(record, this.#settings)) throw new DataDirError(otherChain(this.#path));
      this.genesis = record;
      return;
    }
    this.#state.apply(record);
    if (record.kind === "reservation") this.reservedTo = record.upTo;
    if (record.kind === "transaction" || record.kind === "failure") {
      this.lastBlockNumber = Math.max(this.lastBlockNumber, record.receipt.blockNumber);
    }
    if ("atMs" in record) this.lastMs = Math.max(this.lastMs, record.atMs);
  }

  /** Length of this journal on the disk when the head was written. */
  syncedBytes(head: SavedHead | undefined): number {
    if (head === undefined) return 0;
    const rewrites = this.genesis?.rewrites ?? -1;
    if (head.journal.rewrites > rewrites) throw new DataDirError(journalLost(this.#path));
    return head.journal.rewrites === rewrites ? head.journal.bytes : 0;
  }
}

/** Whether a journal begins with this genesis. */
export function isSameChain(
  record: JournalRecord,
  settings: GenesisRecord,
): record is GenesisRecord {
  if (record.kind !== "genesis") return false;
  const { createdAtMs, rewrites } = record;
  return recordToJson(record) === recordToJson({ ...settings, createdAtMs, rewrites });
}

/** The error for a directory that was created with other settings. */
export function otherChain(path: string): string {
  return `${path} contains a chain with another genesis or chain id: use the settings it was created with, or choose another directory`;
}

/** The error for a directory whose chain cannot be continued. */
export function journalLost(path: string): string {
  return `${path} has prices or a head, but its journal is missing, empty or an older one: restore chain.journal; ` +
    "or start a new chain with --new-chain, which moves the other files to a subfolder";
}

/** The first record of a journal; sorted, so that the same genesis gives the same text. */
export function genesisRecordOf(
  { chainId, genesis }: { chainId: number; genesis: Genesis },
  createdAtMs: number,
): GenesisRecord {
  const balances = [...genesis.balances].sort(([a], [b]) => a < b ? -1 : 1);
  return {
    ...{ kind: "genesis", version: 2, createdAtMs, rewrites: 0 },
    chainId,
    balances: Object.fromEntries(balances),
    relayers: [...genesis.relayers].sort(),
    admins: [...genesis.admins].sort(),
  };
}
