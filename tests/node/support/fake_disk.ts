import type { JournalRecord } from "../../../services/node/chain/journal.ts";
import { FileJournal } from "../../../services/node/storage/file_journal.ts";
import {
  type OpenFile,
  openOnDisk,
  type StorageFile,
} from "../../../services/node/storage/files.ts";

/**
 * The file of a journal, in memory. What was written survives the process; only what a sync has
 * covered survives a power loss. Bytes count as synced when the sync ends, and only those that were
 * written before it began.
 */
export class FakeDisk {
  /** Syncs that were begun. */
  syncs = 0;
  /** Bytes that one write takes at most. */
  writeMax = Infinity;
  /** Bytes that fit before writes fail. */
  capacity = Infinity;
  /** Whether it can be made shorter. */
  isTruncating = true;
  /** Whether a synchronous sync succeeds. */
  isSyncing = true;
  isOpen = false;
  #bytes = new Uint8Array(0);
  #syncedBytes = new Uint8Array(0);
  #position = 0;
  #running: { finish: () => void; fail: (thrown: Error) => void }[] = [];
  #isHolding = false;
  #begun = Promise.withResolvers<"sync">();

  /** Bytes written so far. */
  get size(): number {
    return this.#bytes.length;
  }

  /** Opens the file at its start. */
  readonly open = (): StorageFile => {
    this.#position = 0;
    this.isOpen = true;
    return {
      readSync: (into) => this.#read(into),
      writeSync: (bytes) => this.#write(bytes),
      seekSync: (offset) => this.#position = Number(offset),
      truncateSync: (length = 0) => this.#truncate(length),
      statSync: () => ({ ...Deno.statSync("."), size: this.#bytes.length }),
      syncData: () => this.#sync(),
      syncDataSync: () => {
        if (!this.isSyncing) throw new Error("I/O error");
        this.syncs += 1;
        this.#syncedBytes = this.#bytes.slice();
      },
      close: () => void (this.isOpen = false),
    };
  };

  /** Every sync from now on takes until the test ends it. */
  holdSyncs(): void {
    this.#isHolding = true;
  }

  /** Syncs take no time again; those that run end now. */
  releaseSyncs(): void {
    this.#isHolding = false;
    while (this.#running.length > 0) this.endSync();
  }

  /** Resolves when the next sync begins. */
  nextSync(): Promise<"sync"> {
    this.#begun = Promise.withResolvers();
    return this.#begun.promise;
  }

  /** Ends the oldest sync that runs; with an error, nothing counts as synced. */
  endSync(thrown?: Error): void {
    const sync = this.#running.shift();
    if (sync === undefined) throw new Error("No sync is running");
    if (thrown === undefined) sync.finish();
    else sync.fail(thrown);
  }

  /** What is left of the disk after a power loss. */
  afterPowerLoss(): FakeDisk {
    const left = new FakeDisk();
    left.#bytes = this.#syncedBytes.slice();
    left.#syncedBytes = left.#bytes;
    return left;
  }

  #read(into: Uint8Array): number | null {
    const bytes = this.#bytes.subarray(this.#position, this.#position + into.length);
    into.set(bytes);
    this.#position += bytes.length;
    return bytes.length === 0 ? null : bytes.length;
  }

  #write(bytes: Uint8Array): number {
    const taken = bytes.subarray(0, Math.min(this.writeMax, this.capacity - this.#position));
    if (taken.length === 0) throw new Error("No space left on device");
    const end = this.#position + taken.length;
    const grown = new Uint8Array(Math.max(this.#bytes.length, end));
    grown.set(this.#bytes);
    grown.set(taken, this.#position);
    this.#bytes = grown;
    this.#position = end;
    return taken.length;
  }

  #truncate(length: number): void {
    if (!this.isTruncating) throw new Error("I/O error");
    this.#bytes = this.#bytes.slice(0, length);
  }

  #sync(): Promise<void> {
    this.syncs += 1;
    const covered = this.#bytes.slice();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const finish = () => {
      this.#syncedBytes = covered;
      resolve();
    };
    if (this.#isHolding) this.#running.push({ finish, fail: reject });
    else queueMicrotask(finish);
    this.#begun.resolve("sync");
    return promise;
  }
}

/** Opens the journal on a fake disk, and all other files on the real one. */
export function journalOn(disk: FakeDisk): OpenFile {
  return (path) => path.endsWith(".journal") ? disk.open() : openOnDisk(path);
}

/** The record of a settlement of this thesis. */
export function settlement(id: number): JournalRecord {
  return { kind: "settlement", atMs: 1_700_000_000_000, id, outcome: { status: "won" } };
}

/** Opens the journal on a disk; `ids` are those of the settlements that it holds. */
export function openJournal(disk: FakeDisk): { journal: FileJournal; ids: number[] } {
  const ids: number[] = [];
  const { journal } = FileJournal.open("chain.journal", (record) => {
    if (record.kind === "settlement") ids.push(record.id);
  }, { openFile: disk.open });
  return { journal, ids };
}

/** The ids of the settlements that are left after a power loss. */
export function idsAfterPowerLoss(disk: FakeDisk): number[] {
  return openJournal(disk.afterPowerLoss()).ids;
}
