import assert from "node:assert/strict";
import { type Clock, ShiftedClock } from "../../../lib/clock.ts";
import { type Market, SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import type { Receipt } from "../../../lib/protocol/receipt.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import type { RfqSubmit, Transaction } from "../../../lib/protocol/transaction.ts";
import { withDefaults } from "../../../lib/cli/options.ts";
import type { Block } from "../../../services/node/chain/block.ts";
import { Chain } from "../../../services/node/chain/chain.ts";
import { type NodeOptions, options, resolveSettings } from "../../../services/node/options.ts";
import { OraclePrices } from "../../../services/node/oracle/oracle_prices.ts";
import { pageOfTheses } from "../../../services/node/rpc/query_pages.ts";
import type { Ledger } from "../../../services/node/chain/ledger.ts";
import type { ChainRecords } from "../../../services/node/store/chain_records.ts";
import { Database, StorageError } from "../../../services/node/store/database.ts";
import { openStorage, type Storage } from "../../../services/node/store/storage.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { withFolder } from "../../support/files.ts";
import {
  actors,
  backfill,
  CHAIN_ID,
  deposit,
  hashOf,
  type QuoteFields,
  rfqSubmit,
} from "./actors.ts";
import { pricesBody } from "./fake_oracle.ts";

export const SOLVER_BALANCE = 1_000_000_000n;

/** What the chains of these tests start with. */
export const GENESIS = {
  balances: new Map([[actors.solver.address, SOLVER_BALANCE]]),
  relayers: [actors.relayer.address],
  admins: [actors.admin.address],
};

/** Balances and unsettled theses are all money that came in. @returns That sum. */
export function requireConserved(
  { unsettled }: Pick<Ledger, "unsettled">,
  { accounts, state: { issued } }: ChainRecords,
): bigint {
  let holdings = accounts.total;
  for (const { thesis } of unsettled.values()) holdings += thesis.payout;
  assert.equal(holdings, issued, "balances and open theses equal what was issued");
  return issued;
}

/** Opens theses with the terms of one bet: to sign a bet for each would take seconds. */
export function openTheses(
  { state }: Chain,
  { commits }: ChainRecords,
  tx: RfqSubmit,
  count: number,
): void {
  const first = state.ledger.lastThesisId + 1;
  commits.change(() => {
    for (let number = first; number < first + count; number++) {
      const receipt = { txHash: hashOf(number), status: "committed" as const, blockNumber: 1 };
      state.applyTransaction({ tx, receipt, quoteHash: hashOf(number) }, tx.timestamp);
    }
  });
}

/** A chain that a test drives by hand, and everything that it announced. */
class TestedChain {
  readonly storage: Storage;
  readonly chain: Chain;
  readonly heads: Block[] = [];
  readonly receipts: Receipt[] = [];
  readonly theses: Thesis[] = [];
  readonly missing: Market[] = [];

  constructor(dataDir: string, clock: Clock, given: Partial<NodeOptions>) {
    const base = { chainId: CHAIN_ID, ...GENESIS, dataDir, ringBufferSize: 1_024, minBet: 0n };
    const settings = resolveSettings(withDefaults(options, { ...base, ...given }), SPEC_MARKETS);
    this.storage = openStorage(settings, clock);
    this.chain = new Chain({
      ...settings,
      clock,
      oraclePrices: new OraclePrices(settings.maxStaleMs, settings.markets),
      records: this.storage.records,
      events: {
        onHead: (block) => this.heads.push(block),
        onTransaction: (receipt) => this.receipts.push(receipt),
        onThesis: (thesis) => this.theses.push(thesis),
        onMissingPrice: (market) => this.missing.push(market),
      },
    });
  }

  get records(): ChainRecords {
    return this.storage.records;
  }

  requireConserved(): bigint {
    return requireConserved(this.chain.state.ledger, this.records);
  }
}

/** A chain in memory, driven checkpoint by checkpoint. */
export class MemoryChain extends TestedChain {
  readonly clock: FakeClock;
  /** The clock of the chain: the other one, unless the chain travels in time. */
  readonly travelClock: ShiftedClock;

  constructor(given: Partial<NodeOptions> = {}) {
    const clock = new FakeClock();
    const travelClock = new ShiftedClock(clock);
    super(":memory:", travelClock, given);
    this.clock = clock;
    this.travelClock = travelClock;
  }

  /** A chain with fresh prices on which the user has money. */
  static funded(given: Partial<NodeOptions> = {}, amount = 5_000_000n): MemoryChain {
    const test = new MemoryChain(given);
    test.run(1);
    test.deposit(1, amount);
    return test;
  }

  get statuses(): string[] {
    return this.chain.state.ledger.theses.map(({ status }) => status);
  }

  deposit(number = 1, amount = 5_000_000n): Receipt {
    const externalTxHash = hashOf(number);
    return this.chain.submit(deposit({ timestamp: this.now, amount, externalTxHash }));
  }

  /** Submits a bet: from now for a second, by default. */
  bet(fields: Partial<QuoteFields> = {}): Receipt {
    return this.chain.submit(rfqSubmit({ timestamp: this.now, ...fields }));
  }

  /** Backfills the slots of ETH/USDT in `[from, to)` with one price. */
  fill(from: number, to: number, price = 3_000_000_000n): Receipt {
    const prices = Array<bigint>((to - from) / 100).fill(price);
    return this.chain.submit(backfill({ timestamp: this.now, startTime: from, prices }));
  }

  /** Rows and checksums of all tables except the accounts: equal if nothing was recorded. */
  get recorded(): string {
    const { accounts: _, ...others } = this.records.state.totals;
    return JSON.stringify(others);
  }

  get now(): number {
    return this.travelClock.now();
  }

  /** The oracle answers now: with these prices, updated this long ago. */
  price(prices?: Record<string, bigint>, ageMs = 0): void {
    // The oracle does not travel.
    this.chain.oraclePrices.update(pricesBody(this.clock.now() - ageMs, prices), this.now);
  }

  /** Moves on by checkpoints; the oracle answers at each unless `prices` is null. */
  run(checkpoints: number, prices?: Record<string, bigint> | null): void {
    for (let done = 0; done < checkpoints; done++) {
      this.clock.advance(100);
      if (prices !== null) this.price(prices);
      this.chain.checkpoint(this.now);
    }
  }

  /** The chain reads its state from the records again. */
  reload(): void {
    this.records.createSavepoint("reload", this.chain.head);
    this.chain.restore(this.chain.blocks.position, () => this.records.revertTo("reload"));
  }

  holdUp(byMs: number): void {
    this.clock.jump(byMs);
  }
}

/** A chain in a directory, driven by hand. */
export class DiskChain extends TestedChain implements AsyncDisposable {
  #isClosed = false;

  constructor(
    readonly path: string,
    readonly clock: FakeClock,
    given: Partial<NodeOptions> = {},
  ) {
    super(path, clock, given);
  }

  /** Moves on by checkpoints with a price of ETH, or without any. */
  run(checkpoints: number, price: bigint | undefined = 3_000_000_000n): void {
    for (let made = 0; made < checkpoints; made++) {
      this.clock.advance(100 - this.clock.now() % 100);
      const nowMs = this.clock.now();
      this.chain.oraclePrices.update(pricesBody(nowMs, { "ETH/USDT": price }), nowMs);
      this.checkpoint();
    }
  }

  /** A checkpoint now, with the prices that are known. */
  checkpoint(): void {
    this.chain.checkpoint(this.clock.now());
    this.storage.afterCheckpoint(this.chain.head);
    this.records.commits.commit();
  }

  deposit(number: number): Transaction {
    return this.submit(deposit({ timestamp: this.clock.now(), externalTxHash: hashOf(number) }));
  }

  bet(durationMs: number, number = 0): Transaction {
    const timestamp = this.clock.now();
    const betAmount = 1_000_000n + BigInt(number);
    return this.submit(
      rfqSubmit({ timestamp, endTime: timestamp + durationMs, betAmount, payout: 2_000_000n }),
    );
  }

  submit<T extends Transaction>(tx: T): T {
    const receipt = this.chain.submit(tx);
    assert.equal(receipt.status, "committed", receipt.error?.message);
    return tx;
  }

  /** All that callers can read. */
  view(txs: readonly Transaction[]) {
    const { ledger } = this.chain.state;
    return {
      accounts: [actors.user, actors.solver].map(({ address }) => ledger.account(address)),
      issued: this.requireConserved(),
      theses: pageOfTheses(ledger, { limit: 1_000 }),
      receipts: txs.map((tx) => this.chain.submit(tx)),
    };
  }

  /** Makes all later commits fail, or succeed again. */
  failCommits(isFailing: boolean): void {
    const db = this.storage.database;
    Reflect.deleteProperty(db, "exec"); // that of the class counts again
    if (!isFailing) return;
    db.exec = (sql) => {
      if (sql === "COMMIT") throw new StorageError("The chain cannot be written");
      Database.prototype.exec.call(db, sql);
    };
  }

  /** Commits everything, and leaves the directory as a process that is killed now would. */
  kill(copyTo: string): void {
    this.records.commits.commit();
    Deno.mkdirSync(copyTo);
    for (const { name } of Deno.readDirSync(this.path)) {
      // This releases the locks of SQLite, which no other process wants here.
      Deno.copyFileSync(`${this.path}/${name}`, `${copyTo}/${name}`);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.storage.close(this.chain.head);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isClosed) await this.close();
  }
}

/** Runs a test with a new chain in the directory `node` of a folder. */
export function withDiskChain(
  test: (disk: DiskChain, folder: string) => void | Promise<void>,
  given: Partial<NodeOptions> = {},
): Promise<void> {
  return withFolder(async (folder) => {
    await using disk = new DiskChain(`${folder}/node`, new FakeClock(), given);
    await test(disk, folder);
  });
}

/** A chain with deposits, won, lost and open bets. */
export function addHistory(disk: DiskChain): Transaction[] {
  const txs: Transaction[] = [];
  for (let half = 0; half < 2; half++) {
    disk.run(1);
    for (let number = 1; number <= 6; number++) txs.push(disk.deposit(10 * half + number));
    for (let number = 1; number <= 5; number++) txs.push(disk.bet(500, number));
    disk.run(8, half === 0 ? undefined : 9_000_000_000n);
    disk.run(3);
    txs.push(disk.bet(3_600_000 * (half + 1), 7));
  }
  disk.run(1);
  return txs;
}
