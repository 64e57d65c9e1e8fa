import { ShiftedClock } from "../../../lib/clock.ts";
import { START_AHEAD_MAX_MS } from "../../../lib/protocol/constants.ts";
import { type Market, SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import type { Receipt } from "../../../lib/protocol/receipt.ts";
import type { Address } from "../../../lib/protocol/scalars.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import type { Block } from "../../../services/node/chain/block.ts";
import { Chain } from "../../../services/node/chain/chain.ts";
import { OraclePrices } from "../../../services/node/oracle/oracle_prices.ts";
import { ChainRecords } from "../../../services/node/store/chain_records.ts";
import { Database } from "../../../services/node/store/database.ts";
import { createChain, type PermissionLists } from "../../../services/node/store/schema.ts";
import { FakeClock } from "../../support/fake_clock.ts";
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

/** What the solver of these tests owns at genesis. */
export const SOLVER_BALANCE = 1_000_000_000n;

/** What a chain starts with. */
export interface Genesis extends PermissionLists {
  balances: ReadonlyMap<Address, bigint>;
}

/** What the chains of these tests start with. */
export const GENESIS: Genesis = {
  balances: new Map([[actors.solver.address, SOLVER_BALANCE]]),
  relayers: [actors.relayer.address],
  admins: [actors.admin.address],
};

interface MemoryOptions {
  genesis?: Genesis;
  ringSlots?: number;
  maxStaleMs?: number;
  maxStartAheadMs?: number;
  minBet?: bigint;
}

function memoryRecords(nowMs: number, options: MemoryOptions): ChainRecords {
  const { genesis = GENESIS, ringSlots = 1_024 } = options;
  const db = new Database(undefined);
  createChain(db, { chainId: CHAIN_ID, balances: genesis.balances }, nowMs);
  return new ChainRecords(db, { nowMs, markets: SPEC_MARKETS, ringSlots, isDurable: false });
}

/** A chain that a test drives checkpoint by checkpoint, and everything that it announced. */
export class MemoryChain {
  readonly clock = new FakeClock();
  /** The clock of the chain: the other one, unless the chain travels in time. */
  readonly travelClock = new ShiftedClock(this.clock);
  readonly records: ChainRecords;
  readonly heads: Block[] = [];
  readonly receipts: Receipt[] = [];
  readonly theses: Thesis[] = [];
  readonly missing: Market[] = [];
  readonly chain: Chain;

  constructor(options: MemoryOptions = {}) {
    this.records = memoryRecords(this.clock.now(), options);
    this.chain = new Chain({
      chainId: CHAIN_ID,
      maxStartAheadMs: options.maxStartAheadMs ?? START_AHEAD_MAX_MS,
      minBet: options.minBet ?? 0n,
      clock: this.travelClock,
      records: this.records,
      permissions: options.genesis ?? GENESIS,
      oraclePrices: new OraclePrices(options.maxStaleMs ?? 3_000, SPEC_MARKETS),
      events: {
        onHead: (block) => this.heads.push(block),
        onTransaction: (receipt) => this.receipts.push(receipt),
        onThesis: (thesis) => this.theses.push(thesis),
        onMissingPrice: (market) => this.missing.push(market),
      },
    });
  }

  /** A chain with fresh prices on which the user has money. */
  static funded(options: MemoryOptions = {}, amount = 5_000_000n): MemoryChain {
    const test = new MemoryChain(options);
    test.run(1);
    test.deposit(1, amount);
    return test;
  }

  /** The states of all theses, by id. */
  get statuses(): string[] {
    return this.chain.state.ledger.theses.map(({ status }) => status);
  }

  /** Deposits for the user, with this external hash. */
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

  /** The time of the fake clock, Unix milliseconds. */
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

  /** Advances the time by this much without a checkpoint. */
  holdUp(byMs: number): void {
    this.clock.jump(byMs);
  }
}
