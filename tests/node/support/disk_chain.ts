import assert from "node:assert/strict";
import { SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import type { Receipt } from "../../../lib/protocol/receipt.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import type { Transaction } from "../../../lib/protocol/transaction.ts";
import { withDefaults } from "../../../lib/cli/options.ts";
import { Chain } from "../../../services/node/chain/chain.ts";
import { OraclePrices } from "../../../services/node/oracle/oracle_prices.ts";
import { pageOfTheses } from "../../../services/node/rpc/query_pages.ts";
import { type NodeOptions, options, resolveSettings } from "../../../services/node/options.ts";
import { Database, StorageError } from "../../../services/node/store/database.ts";
import { openStorage, type Storage } from "../../../services/node/store/storage.ts";
import type { FakeClock } from "../../support/fake_clock.ts";
import { actors, CHAIN_ID, deposit, hashOf, rfqSubmit } from "./actors.ts";
import { pricesBody } from "./fake_oracle.ts";
import { GENESIS } from "./chain_in_memory.ts";

const { user, solver } = actors;

/** A chain in a directory, driven by hand. */
export class DiskChain {
  readonly storage: Storage;
  readonly chain: Chain;
  /** What was announced. */
  readonly receipts: Receipt[] = [];
  readonly theses: Thesis[] = [];
  readonly heads: number[] = [];

  readonly #path: string;

  constructor(path: string, readonly clock: FakeClock, given: Partial<NodeOptions> = {}) {
    this.#path = path;
    const base = { chainId: CHAIN_ID, ...GENESIS, ringBufferSize: 1_024, minBet: 0n };
    const copies = {
      relayers: [...GENESIS.relayers],
      admins: [...GENESIS.admins],
      balances: new Map(GENESIS.balances),
    };
    const settings = resolveSettings(
      withDefaults(options, { ...base, ...copies, ...given }),
      SPEC_MARKETS,
    );
    this.storage = openStorage(settings, path, clock);
    const { records } = this.storage;
    this.chain = new Chain({
      ...settings,
      clock,
      oraclePrices: new OraclePrices(settings.maxStaleMs, settings.markets),
      records,
      events: {
        onHead: ({ number }) => this.heads.push(number),
        onTransaction: (receipt) => this.receipts.push(receipt),
        onThesis: (thesis) => this.theses.push(thesis),
        onMissingPrice: () => {},
      },
    });
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
    this.storage.records.commits.commit();
  }

  deposit(number: number): Transaction {
    return this.submit(
      deposit({ timestamp: this.clock.now(), externalTxHash: hashOf(number) }),
    );
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
    assert.equal(ledger.holdings, ledger.issued);
    return {
      accounts: [user, solver].map(({ address }) => ledger.account(address)),
      issued: ledger.issued,
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
    this.storage.records.commits.commit();
    Deno.mkdirSync(copyTo);
    for (const { name } of Deno.readDirSync(this.#path)) {
      // This releases the locks of SQLite, which no other process wants here.
      Deno.copyFileSync(`${this.#path}/${name}`, `${copyTo}/${name}`);
    }
  }

  async close(): Promise<void> {
    await this.storage.close(this.chain.head);
  }
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
