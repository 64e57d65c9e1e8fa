import type { PriceRing } from "../../../lib/prices/price_ring.ts";
import type { TimeSpan } from "../../../lib/prices/price_slots.ts";
import type { Market, Markets } from "../../../lib/protocol/markets.ts";
import type { Receipt } from "../../../lib/protocol/receipt.ts";
import type { Address, Hex } from "../../../lib/protocol/scalars.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import type { Block } from "../chain/block.ts";
import type { ResumePoint } from "../chain/block_log.ts";
import { Ledger } from "../chain/ledger.ts";
import { type PermissionLists, Permissions } from "../chain/permissions.ts";
import { PriceHistory } from "../chain/price_history.ts";
import type { ChainStorage } from "../chain/chain.ts";
import type { Counters, Decision, Funds, StorageError, Unsettled } from "../chain/records.ts";
import { ChainState } from "../chain/state.ts";
import type { Database } from "./database.ts";
import { PriceCells } from "./price_cells.ts";
import {
  backfilledKey,
  hashKey,
  metaOf,
  parseBackfilledKey,
  type StoredState,
  type Tables,
  tablesOf,
  type Totals,
} from "./tables.ts";
import { Turns } from "./turns.ts";
import { damaged } from "./verify.ts";

/** Block numbers that are reserved ahead, once a second: 10 s of checkpoints. */
export const BLOCKS_RESERVED = 100;

/** Bytes that have to fit on the disk before changes are accepted again. */
const PROBE_BYTES = 64 * 1024;

/** Rows that one checkpoint deletes per table at most: a few milliseconds. */
const ROWS_PER_DROP = 50;

/** Settings of a chain that may differ at each start. */
export interface ChainOptions {
  markets: Markets;
  ringSlots: number;
  permissions: PermissionLists;
  /** Whether the database is a file; otherwise block numbers need no reservation. */
  isDurable: boolean;
  /** Called after each commit. @throws {StorageError} If nothing may count as stored. */
  onCommit?(sequence: number): void;
}

/**
 * A chain in a database. Accounts, theses that are open and price rings are in memory, too: see
 * {@link load}. Funds, counters and prices are written at each commit, everything else at once.
 */
export class ChainStore implements ChainStorage {
  onRollback = () => {};
  readonly createdAtMs: number;
  /** Slots of the rings that are damaged. */
  readonly damagedSlots = new Map<Market, number>();
  readonly #db: Database;
  readonly #options: ChainOptions;
  readonly #meta: ReturnType<typeof metaOf>;
  readonly #cells: PriceCells;
  readonly #turns: Turns;
  #tables: Tables;
  #state: StoredState;
  #rings: ReadonlyMap<Market, PriceRing>;
  #reservedTo: number;
  /** Funds that the next commit writes. */
  readonly #changedFunds = new Map<Address, Funds>();

  /** @param db Has the tables of a chain. @throws {StorageError} If a row is damaged. */
  constructor(db: Database, options: ChainOptions) {
    this.#db = db;
    this.#options = options;
    this.#meta = metaOf(db);
    this.#cells = new PriceCells(db);
    this.#state = this.#readState();
    this.#tables = tablesOf(db, this.#state.totals);
    this.#rings = this.#readRings();
    this.createdAtMs = this.#meta.chain.get("chain")?.createdAtMs ?? 0;
    this.#reservedTo = this.#meta.head.get("head")?.reservedTo ?? 0;
    this.#turns = new Turns(db, options.isDurable, {
      beforeCommit: () => this.#writePending(),
      committed: () => options.onCommit?.(this.#state.sequence),
      rolledBack: () => this.#rolledBack(),
    });
  }

  get failure(): StorageError | undefined {
    return this.#turns.failure;
  }

  get isPending(): boolean {
    return this.#turns.isOpen;
  }

  get reservedTo(): number {
    return this.#options.isDurable ? this.#reservedTo : Infinity;
  }

  get droppedBeforeMs(): number {
    return this.#state.droppedBeforeMs;
  }

  /** Number of the last commit. */
  get sequence(): number {
    return this.#state.sequence;
  }

  /** Number and checksum of the rows of each table. */
  get totals(): Readonly<Totals> {
    return this.#state.totals;
  }

  /**
   * Where a chain that was stopped continues; undefined if it has announced no block. A block number is
   * never used twice: every start continues at least at the number of milliseconds since the chain was
   * created. A running chain announces one number per 100 ms, so that a restored backup, which does
   * not know the last ones, begins above them.
   */
  resumePoint(nowMs: number): ResumePoint | undefined {
    const stored = this.#meta.head.get("head");
    if (stored === undefined) return undefined;
    const announcedTo = Math.max(stored.reservedTo, nowMs - this.createdAtMs);
    return { head: { ...stored, transactions: [] }, announcedTo };
  }

  load(): ChainState {
    const { markets, permissions } = this.#options;
    const unsettled = Array.from(this.#tables.unsettled.all(), ([id, { missing }]): Unsettled => {
      const thesis = this.#opened(Number(id));
      return missing ? { thesis: { ...thesis, status: "needs_backfill" }, missing } : { thesis };
    });
    const histories = new Map(markets.list.map((market) => {
      return [market, new PriceHistory(this.#rings.get(market)!)] as const; // one for each
    }));
    for (const [key, prices] of this.#tables.backfilled.all()) {
      const { symbol, page } = parseBackfilledKey(`${key}`);
      const market = markets.list.find((market) => market.symbol === symbol);
      if (market !== undefined) histories.get(market)?.backfilled.restore(page, prices);
    }
    const ledger = new Ledger(this, new Permissions(permissions), {
      // The table's keys are addresses.
      funds: this.#tables.accounts.all() as Iterable<[Address, Funds]>,
      unsettled,
      ...this.#state,
    });
    return new ChainState({ ledger, histories, unsettled, records: this });
  }

  receipt(txHash: Hex): Receipt | undefined {
    const number = this.#tables.transactions.get(hashKey(txHash));
    return number === undefined ? undefined : this.#tables.receipts.get(number)?.receipt;
  }

  settledThesis(id: number): Thesis | undefined {
    const decision = this.#tables.decisions.get(id);
    return decision && { ...this.#opened(id), ...decision };
  }

  settledTheses(fromId: number, toId: number): Thesis[] {
    const decisions = new Map(this.#tables.decisions.between(fromId, toId));
    return this.#tables.theses.between(fromId, toId).flatMap(([id, thesis]) => {
      const decision = decisions.get(id);
      return decision === undefined ? [] : { ...thesis, ...decision };
    });
  }

  firstSettledId(): number | undefined {
    return this.#tables.decisions.first(1).map(([id]) => Number(id))[0];
  }

  isQuoteUsed(quoteHash: Hex): boolean {
    return this.#tables.quotes.has(hashKey(quoteHash));
  }

  isDeposited(externalTxHash: Hex): boolean {
    return this.#tables.deposits.has(hashKey(externalTxHash));
  }

  saveFunds(address: Address, funds: Funds): void {
    this.#turns.begin();
    this.#changedFunds.set(address, funds);
  }

  saveReceipt(receipt: Receipt, atMs: number): void {
    this.#turns.begin();
    this.#state.lastReceipt += 1;
    this.#tables.receipts.add(this.#state.lastReceipt, { receipt, atMs });
    this.#tables.transactions.add(hashKey(receipt.txHash), this.#state.lastReceipt);
  }

  saveDeposit(externalTxHash: Hex): void {
    this.#turns.begin();
    this.#tables.deposits.add(hashKey(externalTxHash), true);
  }

  saveQuote(quoteHash: Hex, thesisId: number): void {
    this.#turns.begin();
    this.#tables.quotes.add(hashKey(quoteHash), thesisId);
  }

  saveOpened(thesis: Thesis): void {
    this.#turns.begin();
    this.#tables.theses.add(thesis.id, thesis);
    this.#tables.unsettled.add(thesis.id, {});
  }

  saveMissing(thesisId: number, missing: TimeSpan[]): void {
    this.#turns.begin();
    this.#tables.unsettled.put(thesisId, { missing });
  }

  saveDecision(thesisId: number, decision: Decision): void {
    this.#turns.begin();
    this.#tables.unsettled.delete(thesisId);
    this.#tables.decisions.add(thesisId, decision);
  }

  saveCounters({ lastThesisId, issued }: Counters): void {
    this.#turns.begin();
    Object.assign(this.#state, { lastThesisId, issued });
  }

  saveBackfilled({ symbol }: Market, page: number, prices: BigUint64Array): void {
    this.#turns.begin();
    this.#tables.backfilled.put(backfilledKey(symbol, page), prices);
  }

  dropBackfilled({ symbol }: Market, page: number): void {
    this.#turns.begin();
    this.#tables.backfilled.delete(backfilledKey(symbol, page));
  }

  saveFilledSlot(market: Market, time: number): void {
    this.#turns.begin();
    this.#cells.addFilled(market, time);
  }

  change<T>(run: () => T): T {
    return this.#turns.change(run);
  }

  afterCommit(effect: () => void): void {
    this.#turns.afterCommit(effect);
  }

  committed(): Promise<void> {
    return this.#turns.committed();
  }

  /** Commits what waits. */
  commit(): void {
    this.#turns.commit();
  }

  /** Nothing is written any more. */
  fail(failure: StorageError): void {
    this.#turns.fail(failure);
  }

  /** Stores the prices and the head, and reserves block numbers; tries again after a failure. */
  saveHead(head: Block, lastNumber = head.number): void {
    const write = () => this.#writeHead(head, lastNumber + BLOCKS_RESERVED);
    if (this.failure === undefined) return this.#tryChange(write);
    // Unless there is room for more than the head, the next change would fail again.
    this.#turns.retry(() => {
      this.#meta.probe.put("probe", "0".repeat(PROBE_BYTES));
      write();
    });
    if (this.failure === undefined) this.#tryChange(() => this.#deleteProbe());
  }

  /** Deletes some settled theses and receipts that are older. */
  dropBefore(timeMs: number): void {
    if (this.failure !== undefined) return;
    this.#tryChange(() => {
      const { theses, decisions, quotes, receipts, transactions } = this.#tables;
      for (const [id, { settledAt = 0 }] of decisions.first(ROWS_PER_DROP)) {
        if (settledAt >= timeMs) continue;
        this.#drop(settledAt);
        quotes.delete(hashKey(this.#opened(Number(id)).quoteHash));
        theses.delete(id);
        decisions.delete(id);
      }
      for (const [number, { receipt, atMs }] of receipts.first(ROWS_PER_DROP)) {
        if (atMs >= timeMs) break;
        this.#drop(atMs);
        receipts.delete(number);
        transactions.delete(hashKey(receipt.txHash));
      }
    });
  }

  /** The newest permissions in the chain; undefined in a new one. */
  get recordedPermissions(): PermissionLists | undefined {
    return this.#tables.permissions.last();
  }

  /** Records who holds the permissions from now on. */
  recordPermissions(atMs: number): void {
    this.#turns.begin();
    const { permissions: { relayers, admins } } = this.#options;
    const number = this.#state.totals.permissions.rows + 1;
    const change = { atMs, relayers: [...relayers], admins: [...admins] };
    this.#tables.permissions.add(number, change);
  }

  /** Marks a moment of a chain in memory, see {@link revertTo}. */
  mark(name: string, head: Block): void {
    this.#writeHead(head, head.number);
    this.#writePending();
    this.#db.exec(`SAVEPOINT ${name}`);
  }

  /** Goes back to a moment; later ones are forgotten. */
  revertTo(name: string): void {
    this.#db.exec(`ROLLBACK TO ${name}`);
    this.#changedFunds.clear();
    this.#reload();
    this.#rings = this.#readRings();
  }

  /** @throws {StorageError} If the row is missing. */
  #opened(id: number): Thesis {
    const thesis = this.#tables.theses.get(id);
    if (thesis === undefined) throw damaged(`thesis ${id} is missing`);
    return thesis;
  }

  #drop(timeMs: number): void {
    this.#turns.begin();
    this.#state.droppedBeforeMs = Math.max(this.#state.droppedBeforeMs, timeMs + 1);
  }

  /** A failure is kept, and reported by {@link failure}. */
  #tryChange(run: () => void): void {
    try {
      this.#turns.change(run);
    } catch (thrown) {
      if (this.failure === undefined) throw thrown;
    }
  }

  #deleteProbe(): void {
    this.#turns.begin();
    this.#meta.probe.delete("probe");
  }

  #writeHead({ number, hash, parentHash, timestampMs }: Block, reservedTo: number): void {
    this.#turns.begin();
    this.#meta.head.put("head", { number, hash, parentHash, timestampMs, reservedTo });
    const onStored = this.#cells.save(this.#rings);
    this.#turns.afterCommit(() => {
      onStored();
      this.#reservedTo = reservedTo;
    });
  }

  #writePending(): void {
    if (this.#cells.hasFilled) this.#turns.afterCommit(this.#cells.save(this.#rings));
    for (const [address, funds] of this.#changedFunds) this.#tables.accounts.put(address, funds);
    this.#changedFunds.clear();
    this.#state.sequence += 1;
    this.#meta.state.put("state", this.#state);
  }

  #rolledBack(): void {
    this.#changedFunds.clear();
    this.#rings = this.#cells.rollBack(this.#rings);
    this.#reload();
    this.onRollback();
  }

  #reload(): void {
    this.#state = this.#readState();
    this.#tables = tablesOf(this.#db, this.#state.totals);
  }

  #readState(): StoredState {
    const state = this.#meta.state.get("state");
    if (state === undefined) throw new TypeError("Database has no chain");
    return state;
  }

  #readRings(): Map<Market, PriceRing> {
    const { markets, ringSlots } = this.#options;
    const head = this.#meta.head.get("head");
    return new Map(markets.list.map((market) => {
      const { ring, damagedSlots } = this.#cells.load(market, ringSlots);
      if (damagedSlots > 0) this.damagedSlots.set(market, damagedSlots);
      // Time had passed up to the head: slots without a price before it are missing ones.
      if (head !== undefined && head.number > 0) ring.skipTo(head.timestampMs);
      return [market, ring];
    }));
  }
}
