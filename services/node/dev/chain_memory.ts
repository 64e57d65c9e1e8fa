import { RangemakerError } from "../../../lib/errors.ts";
import { NewestMap } from "../../../lib/newest_map.ts";
import { PriceRing } from "../../../lib/prices/price_ring.ts";
import type { Market } from "../../../lib/protocol/markets.ts";
import type { Genesis } from "../chain/accounts.ts";
import type { BlockLogPosition } from "../chain/block_log.ts";
import type { Chain } from "../chain/chain.ts";
import { type Journal, type JournalRecord, memoryJournal } from "../chain/journal.ts";
import { Ledger } from "../chain/ledger.ts";
import { PriceHistory } from "../chain/price_history.ts";
import { ChainState } from "../chain/state.ts";

/** Snapshots that are kept, oldest dropped first: each has 1 MiB of prices per market. */
export const SNAPSHOTS_MAX = 16;

/** A moment of the chain. Its ledger is rebuilt from the records up to then. */
interface Snapshot {
  records: number;
  /** Bytes of each market's ring. */
  rings: ReadonlyMap<Market, Uint8Array>;
  position: BlockLogPosition;
  /** Time of the chain's clock. */
  atMs: number;
}

/** No such snapshot: it never existed, was dropped, or was taken after one that was reverted to. */
export class UnknownSnapshotError extends RangemakerError {
  constructor(id: number, known: readonly number[]) {
    const kept = known.length === 0 ? "there is none" : `there are ${known.join(", ")}`;
    super("UNKNOWN_SNAPSHOT", `No snapshot has the id ${id}: ${kept}; core_snapshot takes one`, {
      details: { id },
    });
  }
}

/** The journal of a development chain in memory, which can go back to snapshots of itself. */
export class ChainMemory {
  readonly journal: Journal = {
    ...memoryJournal,
    append: (records) => void this.#records.push(...records),
  };
  readonly #genesis: Genesis;
  readonly #records: JournalRecord[] = [];
  readonly #snapshots = new NewestMap<number, Snapshot>(SNAPSHOTS_MAX);
  #lastId = 0;

  constructor(genesis: Genesis) {
    this.#genesis = genesis;
  }

  /** Takes a snapshot. @returns Its id. */
  take(chain: Chain, nowMs: number): number {
    this.#lastId += 1;
    const rings = [...chain.state.histories].map(([market, { ring }]) =>
      [market, ring.bytes.slice()] as const
    );
    this.#snapshots.set(this.#lastId, {
      records: this.#records.length,
      rings: new Map(rings),
      position: chain.blocks.position,
      atMs: nowMs,
    });
    return this.#lastId;
  }

  /** The time of the clock when a snapshot was taken. @throws {UnknownSnapshotError} */
  timeOf(id: number): number {
    return this.#snapshot(id).atMs;
  }

  /** Goes back to a snapshot, which can be used again. @throws {UnknownSnapshotError} */
  revert(chain: Chain, id: number): void {
    const snapshot = this.#snapshot(id);
    for (const later of this.#snapshots.keys()) if (later > id) this.#snapshots.delete(later);
    this.#records.length = snapshot.records;
    chain.restore(this.#rebuild(snapshot), snapshot.position);
  }

  #snapshot(id: number): Snapshot {
    const snapshot = this.#snapshots.get(id);
    if (snapshot !== undefined) return snapshot;
    throw new UnknownSnapshotError(id, [...this.#snapshots.keys()]);
  }

  #rebuild({ rings, position }: Snapshot): ChainState {
    const histories = [...rings].map(([market, bytes]) => {
      const ring = PriceRing.fromBytes(bytes);
      // Time had reached the head, with or without prices.
      ring.skipTo(position.head.timestampMs);
      return [market, new PriceHistory(ring)] as const;
    });
    const state = new ChainState(new Ledger(this.#genesis), new Map(histories));
    for (const record of this.#records) state.apply(record);
    return state;
  }
}
