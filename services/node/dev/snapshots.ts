import { RangemakerError } from "../../../lib/errors.ts";
import { NewestMap } from "../../../lib/newest_map.ts";
import type { BlockLogPosition } from "../chain/block_log.ts";
import type { Chain } from "../chain/chain.ts";
import type { ChainRecords } from "../store/chain_records.ts";

/** Snapshots that are kept, oldest dropped first. */
export const SNAPSHOTS_MAX = 16;

/** The part of a snapshot in memory; the database has the rest. */
interface Snapshot {
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

/** Snapshots of a chain in memory: savepoints of its database. */
export class Snapshots {
  readonly #records: ChainRecords;
  readonly #snapshots = new NewestMap<number, Snapshot>(SNAPSHOTS_MAX);
  #lastId = 0;

  constructor(records: ChainRecords) {
    this.#records = records;
  }

  /** Takes a snapshot. @returns Its id. */
  take(chain: Chain, nowMs: number): number {
    this.#lastId += 1;
    this.#records.mark(nameOf(this.#lastId), chain.head);
    this.#snapshots.set(this.#lastId, { position: chain.blocks.position, atMs: nowMs });
    return this.#lastId;
  }

  /** The time of the clock when a snapshot was taken. @throws {UnknownSnapshotError} */
  timeOf(id: number): number {
    return this.#snapshot(id).atMs;
  }

  /** Goes back to a snapshot, which can be used again. @throws {UnknownSnapshotError} */
  revert(chain: Chain, id: number): void {
    const { position } = this.#snapshot(id);
    for (const later of this.#snapshots.keys()) if (later > id) this.#snapshots.delete(later);
    chain.restore(position, () => this.#records.revertTo(nameOf(id)));
  }

  #snapshot(id: number): Snapshot {
    const snapshot = this.#snapshots.get(id);
    if (snapshot !== undefined) return snapshot;
    throw new UnknownSnapshotError(id, [...this.#snapshots.keys()]);
  }
}

function nameOf(id: number): string {
  return `snapshot_${id}`;
}
