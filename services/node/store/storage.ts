import { type Clock, systemClock } from "../../../lib/clock.ts";
import { statOf } from "../../../lib/files.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import type { Block } from "../chain/block.ts";
import type { ResumePoint } from "../chain/block_log.ts";
import { StorageError } from "../chain/records.ts";
import type { ChainState } from "../chain/state.ts";
import type { NodeSettings } from "../settings.ts";
import { type BackgroundCheck, checkInBackground } from "./background_check.ts";
import { ChainStore } from "./chain_store.ts";
import { Database } from "./database.ts";
import { databasePath, DataDirError, LockFile } from "./data_dir.ts";
import { createChain, openDatabase } from "./open_database.ts";
import { damaged, requireUndamaged } from "./verify.ts";

/** Number of checkpoints between two writes of prices and the head: once a second. */
export const SAVE_CHECKPOINTS = 10;

/** How long settled theses and receipts can be read by default: 7 days. */
const RETAIN_MS = 7 * 86_400_000;

/** Receipts newer than this are kept: more than twice the 60 s by which a timestamp may be off. */
export const RETAIN_MIN_MS = 600_000;

/** A database with more rows is checked by a worker while the node runs already. */
const ROWS_CHECKED_AT_START = 50_000;

/** The storage of a node's chain. */
export interface Storage {
  readonly store: ChainStore;
  /** The block from which the chain continues; undefined for a new one. */
  readonly resumeFrom: ResumePoint | undefined;
  /** Bytes of the database with its log; 0 in memory. */
  readonly bytes: number;
  /** Has to be called after each checkpoint. */
  afterCheckpoint(head: Block): void;
  /** Ends the check of the database, commits everything and closes the files. */
  close(head: Block): Promise<void>;
}

/** Options of {@link openStorage}. */
export interface StorageOptions {
  /** How long settled theses and receipts can be read, in milliseconds. */
  retainMs?: number | undefined;
  clock?: Clock;
  /** Called with the database before anything is written. */
  onOpen?: ((db: Database) => void) | undefined;
}

/**
 * Opens the data directory, or storage in memory if there is none.
 *
 * @throws {DataDirError} If another process has it open, or it has no chain that can be continued.
 * @throws {StorageError} If it cannot be read or written, or a row is damaged.
 */
export function openStorage(
  settings: NodeSettings,
  dataDir: string | undefined,
  options: StorageOptions = {},
): Storage {
  if (dataDir !== undefined) return new DiskStorage(settings, dataDir, options);
  const db = new Database(undefined);
  createChain(db, settings, (options.clock ?? systemClock).now());
  return {
    store: new ChainStore(db, { ...settings, ringSlots: ringSlotsOf(settings), isDurable: false }),
    resumeFrom: undefined,
    bytes: 0,
    afterCheckpoint: () => {},
    close: () => Promise.resolve(db.close()),
  };
}

/** A chain in a directory. */
class DiskStorage implements Storage {
  readonly store: ChainStore;
  readonly resumeFrom: ResumePoint | undefined;
  readonly #dir: string;
  readonly #lock: LockFile;
  readonly #db: Database;
  readonly #run: number;
  readonly #clock: Clock;
  readonly #retainMs: number;
  readonly #check: BackgroundCheck | undefined;
  readonly #log = serviceLog("node");
  /** Device and inode of the database and its log. */
  readonly #files: string;
  readonly #foreignChanges: number;
  #checkpoints = 0;
  #logged: string | undefined;

  constructor(settings: NodeSettings, dir: string, options: StorageOptions) {
    const { clock = systemClock, retainMs = RETAIN_MS, onOpen } = options;
    using opened = new DisposableStack();
    this.#dir = dir;
    this.#clock = clock;
    this.#retainMs = retainMs;
    this.#lock = opened.adopt(LockFile.lock(dir), (lock) => lock.close());
    const seen = LockFile.read(dir);
    const { db, isNew, isRestored, run } = openDatabase(
      dir,
      this.#lock,
      seen,
      settings,
      clock.now(),
    );
    this.#db = opened.adopt(db, (db) => db.close());
    this.#run = run;
    onOpen?.(db);
    this.store = new ChainStore(db, {
      ...settings,
      ringSlots: ringSlotsOf(settings),
      isDurable: true,
      onCommit: (sequence) => this.#committed(sequence),
    });
    this.#files = this.#identity();
    this.#foreignChanges = db.foreignChanges;
    this.resumeFrom = isNew ? undefined : this.store.resumePoint(clock.now());
    const rows = Object.values(this.store.totals).reduce((sum, table) => sum + table.rows, 0);
    const isChecked = rows <= ROWS_CHECKED_AT_START;
    if (isChecked) requireUndamaged(db);
    const state = this.store.load();
    requireConsistent(state, dir);
    this.#begin(settings, state, { isNew, isRestored });
    if (!isChecked) this.#check = this.#startCheck();
    opened.move();
  }

  get bytes(): number {
    const path = databasePath(this.#dir);
    return (statOf(path)?.size ?? 0) + (statOf(`${path}-wal`)?.size ?? 0);
  }

  afterCheckpoint(head: Block): void {
    this.#checkpoints += 1;
    this.store.dropBefore(this.#clock.now() - this.#retainMs);
    if (this.#checkpoints % SAVE_CHECKPOINTS === 0) this.store.saveHead(head);
    this.#logChange();
  }

  async close(head: Block): Promise<void> {
    await this.#check?.stop();
    try {
      this.store.saveHead(head);
      this.store.commit();
      if (this.store.failure !== undefined) throw this.store.failure;
    } finally {
      this.#db.close();
      this.#lock.sync();
      this.#lock.close();
    }
  }

  /** Records permissions that differ from those of the last start, and the first head. */
  #begin(
    { permissions }: NodeSettings,
    state: ChainState,
    { isNew, isRestored }: { isNew: boolean; isRestored: boolean },
  ): void {
    const { store } = this;
    const before = store.recordedPermissions;
    if (before === undefined || textOf(before) !== textOf(permissions)) {
      store.change(() => store.recordPermissions(this.#clock.now()));
    }
    if (this.resumeFrom !== undefined) {
      store.saveHead(this.resumeFrom.head, this.resumeFrom.announcedTo + 1);
    }
    store.commit();
    if (store.failure !== undefined) throw store.failure;
    const dir = this.#dir;
    if (isNew) return this.#log.info("New chain in {dir}", { dir });
    if (isRestored) this.#log.warning("The chain in {dir} is a restored backup", { dir });
    if (before !== undefined && textOf(before) !== textOf(permissions)) {
      this.#log.warning("Permissions changed from {before} to {now}", {
        before: textOf(before),
        now: textOf(permissions),
      });
    }
    if (store.damagedSlots.size > 0) {
      const slots = [...store.damagedSlots].map(([{ symbol }, count]) => `${symbol} ${count}`);
      this.#log.warning("Prices are damaged; these slots count as missing: {slots}", {
        slots: slots.join(", "),
      });
    }
    this.#log.info("Resumed with {theses} theses, {unsettled} of them not settled", {
      theses: state.ledger.lastThesisId,
      unsettled: state.settler.unsettledCount,
    });
  }

  /** Called after each commit: it counts only if the files are still those that were opened. */
  #committed(sequence: number): void {
    if (this.#identity() !== this.#files) {
      throw new StorageError(
        `${databasePath(this.#dir)} or its log was removed, moved or replaced: restart the node`,
        { isFinal: true },
      );
    }
    if (this.#db.foreignChanges !== this.#foreignChanges) {
      throw new StorageError(
        `Another program has changed ${databasePath(this.#dir)}: restore a backup`,
        { isFinal: true },
      );
    }
    this.#lock.write({ runs: [this.#run], sequence });
  }

  #startCheck(): BackgroundCheck {
    const check = checkInBackground(this.#dir);
    check.damage.then(
      (damage) => {
        if (damage === undefined) this.#log.info("No damage was found in the chain");
        else this.store.fail(damaged(damage));
      },
      ({ message }) => this.#log.error("The chain was not checked: {error}", { error: message }),
    );
    return check;
  }

  #identity(): string {
    const path = databasePath(this.#dir);
    return [path, `${path}-wal`].map((file) => {
      const info = statOf(file);
      return `${info?.dev} ${info?.ino}`;
    }).join();
  }

  /** Logs once when a problem begins, changes or ends. */
  #logChange(): void {
    const reason = this.store.failure?.message;
    if (reason === this.#logged) return;
    this.#logged = reason;
    if (reason === undefined) this.#log.info("The data directory can be written again");
    else this.#log.error("{reason}", { reason });
  }
}

/** @throws {DataDirError} If the chain cannot be continued with these settings, or its sums are wrong. */
function requireConsistent(state: ChainState, dir: string): void {
  const { ledger } = state;
  if (ledger.holdings !== ledger.issued) {
    throw new DataDirError(
      `${databasePath(dir)} is damaged: balances and open theses are ${ledger.holdings}, ` +
        `${ledger.issued} was issued. Restore a backup`,
    );
  }
  // An open thesis on a removed market could never be settled.
  const lost = state.settler.theses.find((thesis) => state.marketOf(thesis) === undefined);
  if (lost === undefined) return;
  throw new DataDirError(
    `${dir} contains the open thesis ${lost.id} on ${lost.base} / ${lost.quote}, which is no ` +
      "configured market: add the market to the --markets file",
  );
}

function ringSlotsOf({ oracle }: NodeSettings): number {
  return oracle.ringBufferSize;
}

/** Equal for equal permissions, whatever their order. */
function textOf({ relayers, admins }: NodeSettings["permissions"]): string {
  return `relayers ${[...relayers].sort().join(" ") || "none"}, ` +
    `admins ${[...admins].sort().join(" ") || "none"}`;
}
