/**
 * A chain is stored in a data directory (`data_dir.ts`, `lock_file.ts`) with one SQLite database
 * (`schema.ts`), or in such a database in memory. The chain works with its `chain_records.ts`, whose
 * changes are committed in groups (`group_commit.ts`).
 */
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../../lib/clock.ts";
import { IN_MEMORY } from "../../../lib/database/database_url.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import { ProblemTracker } from "../../../lib/log/problem_tracker.ts";
import { marketKey, type Markets } from "../../../lib/protocol/markets.ts";
import { ChainRecords } from "./chain_records.ts";
import {
  checkInBackground,
  databasePath,
  openDatabase,
  readBytes,
  requireUndamaged,
} from "./data_dir.ts";
import { Database, DataDirError, withFileErrors } from "./database.ts";
import { LockFile } from "./lock_file.ts";
import { type ChainIdentity, createChain, type HeadRow, type PermissionLists } from "./schema.ts";

/** Number of checkpoints between two writes of prices and the head: once a second. */
export const CHECKPOINTS_PER_SAVE = 10;

/** Commits between two copies of the log to the database: few, so that no copy takes long. */
const COMMITS_PER_COPY = 5;

/** A database with more rows is checked while the node already runs. */
const ROWS_CHECKED_AT_START = 50_000;

/** Genesis of a new chain, and settings that may differ at each start. */
interface StorageSettings extends ChainIdentity {
  /** Directory of the chain; `:memory:` keeps nothing. */
  dataDir: string;
  markets: Markets;
  permissions: PermissionLists;
  ringBufferSize: number;
  /** How long settled theses and receipts can be read, in milliseconds. */
  retain: number;
}

export interface Storage {
  readonly database: Database;
  readonly records: ChainRecords;
  readonly isInMemory: boolean;
  /** Bytes of the database with its log; 0 in memory. */
  readonly bytes: number;
  /** Must be called after each checkpoint. */
  afterCheckpoint(head: HeadRow): void;
  /**
   * Stops the check of the database, commits everything and closes the files.
   *
   * @param head The newest block, unless the chain could not be started.
   */
  close(head: HeadRow | undefined): Promise<void>;
}

/**
 * Opens the data directory, or storage in memory.
 *
 * @throws {DataDirError} If another process has it open, or its chain cannot be continued.
 * @throws {StorageError} If it cannot be read or written, or a row is damaged.
 */
export function openStorage(settings: StorageSettings, clock: Clock): Storage {
  const { dataDir, markets, ringBufferSize: ringSlots } = settings;
  if (dataDir !== IN_MEMORY) {
    return withFileErrors(dataDir, () => new DiskStorage(settings, clock));
  }
  const database = new Database();
  const nowMs = clock.now();
  createChain(database, settings, nowMs);
  return {
    database,
    records: new ChainRecords(database, { nowMs, markets, ringSlots, isDurable: false }),
    isInMemory: true,
    bytes: 0,
    afterCheckpoint: () => {},
    close: () => Promise.resolve(database.close()),
  };
}

class DiskStorage implements Storage {
  readonly database: Database;
  readonly records: ChainRecords;
  readonly isInMemory = false;
  readonly #dir: string;
  readonly #lock: LockFile;
  readonly #run: number;
  readonly #clock: Clock;
  readonly #retainMs: number;
  readonly #closing = new AbortController();
  #check: Promise<void> | undefined;
  readonly #log = serviceLog("node");
  #checkpoints = 0;
  /** Number of the commit after which the log was last copied. */
  #copiedSequence = 0;
  readonly #failureLog = new ProblemTracker();

  constructor(settings: StorageSettings, clock: Clock) {
    const { dataDir: dir, markets, permissions, ringBufferSize: ringSlots } = settings;
    using opened = new DisposableStack();
    this.#dir = dir;
    this.#clock = clock;
    this.#retainMs = settings.retain;
    this.#lock = opened.adopt(LockFile.lock(dir), (lock) => lock.close());
    const nowMs = clock.now();
    const { db, isNew, isRestored, run } = openDatabase(dir, this.#lock, settings, nowMs);
    this.database = opened.adopt(db, (db) => db.close());
    this.#run = run;
    const onCommit = (sequence: number) => this.#onCommitted(sequence);
    const options = { nowMs, markets, ringSlots, isDurable: true, onCommit };
    const records = this.records = new ChainRecords(db, options);
    db.watchFiles();
    const rows = Object.values(records.state.totals).reduce((sum, table) => sum + table.rows, 0);
    const isChecked = rows <= ROWS_CHECKED_AT_START;
    if (isChecked) requireUndamaged(db);
    requireConsistent(records, markets, dir);
    if (isNew) {
      this.#log.warn("New chain in {dir}: if it had one, stop the node and restore that", { dir });
    }
    if (isRestored) this.#log.warn("The chain in {dir} is a restored backup", { dir });
    this.#applyPermissions(permissions);
    recordTokens(records, markets);
    const { head, announcedTo = -1 } = records.resumeFrom ?? {};
    records.saveHead(head, announcedTo + 1);
    records.commits.commit();
    if (records.commits.failure !== undefined) throw records.commits.failure;
    this.#reportDamagedSlots();
    if (!isChecked) this.#check = this.#checkInBackground();
    opened.move();
  }

  get bytes(): number {
    return readBytes(this.#dir);
  }

  afterCheckpoint(head: HeadRow): void {
    this.#checkpoints += 1;
    this.records.dropBefore(this.#clock.now() - this.#retainMs);
    if (this.#checkpoints % CHECKPOINTS_PER_SAVE === 0) this.records.saveHead(head);
    this.#copyLog();
    this.#logChange();
  }

  async close(head: HeadRow | undefined): Promise<void> {
    this.#closing.abort();
    await this.#check;
    const { commits } = this.records;
    try {
      if (head !== undefined) this.records.saveHead(head);
      commits.commit();
      if (commits.failure !== undefined) throw commits.failure;
      withFileErrors(this.#dir, () => this.#lock.sync());
    } finally {
      this.database.close();
      this.#lock.close();
    }
  }

  /** Called right after a checkpoint, since it could delay the next one within a commit. */
  #copyLog(): void {
    const { state: { sequence }, commits } = this.records;
    if (sequence - this.#copiedSequence < COMMITS_PER_COPY) return;
    commits.commit();
    this.database.copyLog();
    this.#copiedSequence = sequence;
  }

  /** Records permissions that differ from those of the last start. */
  #applyPermissions(permissions: PermissionLists): void {
    const { commits, state, tables } = this.records;
    const { rows } = state.totals.permissions;
    const before = tables.permissions.get(rows);
    if (before !== undefined && permissionsText(before) === permissionsText(permissions)) return;
    const change = { atMs: this.#clock.now(), ...permissions };
    commits.change(() => tables.permissions.add(rows + 1, change));
    if (before === undefined) return;
    this.#log.warn("Permissions changed from {before} to {now}", {
      before: permissionsText(before),
      now: permissionsText(permissions),
    });
  }

  #reportDamagedSlots(): void {
    const { damagedSlots } = this.records.prices;
    if (damagedSlots.size === 0) return;
    this.#log.warn("Prices are damaged; these slots count as missing: {slots}", {
      slots: Array.from(damagedSlots, ([{ symbol }, count]) => `${symbol} ${count}`).join(", "),
    });
  }

  /** Called after each commit. @throws {StorageError} If others have changed the files. */
  #onCommitted(sequence: number): void {
    const { commits } = this.records;
    this.database.requireUnchanged();
    // The commit counts even if this fails; only later changes are refused.
    commits.afterCommit(() => {
      try {
        this.#lock.write({ runs: [this.#run], sequence });
      } catch (thrown) {
        commits.fail(thrown);
      }
    });
  }

  async #checkInBackground(): Promise<void> {
    try {
      const isChecked = await checkInBackground(this.#dir, this.#closing.signal);
      if (isChecked) this.#log.info("No damage was found in the chain");
    } catch (thrown) {
      this.records.commits.fail(thrown);
    }
  }

  /** Logs once when a problem begins, changes or ends. */
  #logChange(): void {
    const reason = this.records.commits.failure?.message;
    if (reason !== undefined) {
      if (this.#failureLog.begin(reason)) this.#log.error("{reason}", { reason });
    } else if (this.#failureLog.end()) this.#log.info("The data directory can be written again");
  }
}

/** @throws {DataDirError} If these settings do not fit the chain, or its sums are wrong. */
function requireConsistent(records: ChainRecords, markets: Markets, dir: string): void {
  const theses = records.unsettledTheses().map(({ thesis }) => thesis);
  const holdings = theses.reduce((sum, { payout }) => sum + payout, records.accounts.total);
  const { issued } = records.state;
  if (holdings !== issued) {
    throw new DataDirError(
      `${databasePath(dir)} is damaged: balances and open theses are ${holdings}, ` +
        `${issued} was issued. Restore a backup`,
    );
  }
  const { tokens, prices } = records;
  for (const market of markets.list) {
    const { symbol, base, quote } = market;
    const before = tokens[symbol];
    if (before === undefined || marketKey(before) === marketKey(market)) continue;
    if (!prices.hasStored(symbol)) continue;
    throw new DataDirError(
      `${dir} contains prices of ${symbol} for ${before.base} / ${before.quote}, which would ` +
        `decide theses on ${base} / ${quote}: give ${symbol} its tokens back in the --markets ` +
        "file, or the new ones another symbol",
    );
  }
  // An open thesis on a removed market could never be settled.
  const lost = theses.find(({ base, quote }) => markets.find(base, quote) === undefined);
  if (lost === undefined) return;
  throw new DataDirError(
    `${dir} contains the open thesis ${lost.id} on ${lost.base} / ${lost.quote}, which is no ` +
      "configured market: add the market to the --markets file",
  );
}

/** Records the tokens of symbols that are new, or that have none of their prices yet. */
function recordTokens(records: ChainRecords, { list }: Markets): void {
  const { tokens } = records;
  const now = Object.fromEntries(list.map(({ symbol, base, quote }) => [symbol, { base, quote }]));
  const all = { ...tokens, ...now };
  if (!isDeepStrictEqual(all, tokens)) records.saveTokens(all);
}

/** A text that is equal for equal permissions in any order. */
function permissionsText({ relayers, admins }: PermissionLists): string {
  return `relayers ${[...relayers].sort().join(" ") || "none"}, ` +
    `admins ${[...admins].sort().join(" ") || "none"}`;
}
