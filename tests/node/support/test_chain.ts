import { PriceRing } from "../../../lib/prices/price_ring.ts";
import { type Market, SPEC_MARKETS } from "../../../lib/protocol/markets.ts";
import type { Receipt } from "../../../lib/protocol/receipt.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import type { Block } from "../../../services/node/chain/block.ts";
import type { BlockNumbers } from "../../../services/node/chain/block_log.ts";
import { Chain } from "../../../services/node/chain/chain.ts";
import type { Genesis } from "../../../services/node/chain/accounts.ts";
import { Ledger } from "../../../services/node/chain/ledger.ts";
import { OraclePrices } from "../../../services/node/oracle/oracle_prices.ts";
import { PriceHistory } from "../../../services/node/chain/price_history.ts";
import {
  JournalError,
  type JournalRecord,
  memoryJournal,
} from "../../../services/node/chain/journal.ts";
import { ChainState, historiesOf } from "../../../services/node/chain/state.ts";
import { ShiftedClock } from "../../../lib/clock.ts";
import { ChainMemory } from "../../../services/node/dev/chain_memory.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { actors, CHAIN_ID } from "./actors.ts";
import { pricesBody } from "./fake_oracle.ts";

/** What the solver of these tests owns at genesis. */
export const SOLVER_BALANCE = 1_000_000_000n;

/** What the chains of these tests start with. */
export const GENESIS: Genesis = {
  balances: new Map([[actors.solver.address, SOLVER_BALANCE]]),
  relayers: [actors.relayer.address],
  admins: [actors.admin.address],
};

/** A chain that a test drives checkpoint by checkpoint, and everything that it announced. */
export class TestChain {
  readonly clock = new FakeClock();
  /** The clock of the chain: the other one, unless the chain travels in time. */
  readonly travelClock = new ShiftedClock(this.clock);
  /** Records what happens, so that the chain can go back. */
  readonly memory: ChainMemory;
  readonly heads: Block[] = [];
  readonly receipts: Receipt[] = [];
  readonly theses: Thesis[] = [];
  readonly missing: Market[] = [];
  readonly journal: JournalRecord[] = [];
  readonly chain: Chain;
  /** How often settlements could not be written down. */
  journalFailures = 0;
  #isJournalFailing = false;

  constructor(
    options: {
      ringSlots?: number;
      maxStaleMs?: number;
      maxStartAheadMs?: number;
      genesis?: Genesis;
      numbers?: BlockNumbers;
    } = {},
  ) {
    const genesis = options.genesis ?? GENESIS;
    this.memory = new ChainMemory(genesis);
    this.chain = new Chain({
      chainId: CHAIN_ID,
      maxStartAheadMs: options.maxStartAheadMs,
      clock: this.travelClock,
      numbers: options.numbers,
      state: new ChainState(
        new Ledger(genesis),
        historiesOf(
          SPEC_MARKETS,
          () => new PriceHistory(new PriceRing(options.ringSlots ?? 1_024)),
        ),
      ),
      journal: { ...memoryJournal, append: (records) => this.#append(records) },
      oraclePrices: new OraclePrices(options.maxStaleMs ?? 3_000),
      events: {
        onHead: (block) => this.heads.push(block),
        onTransaction: (receipt) => this.receipts.push(receipt),
        onThesis: (thesis) => this.theses.push(thesis),
        onJournalFailure: () => this.journalFailures += 1,
        onMissingPrice: (market) => this.missing.push(market),
      },
    });
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

  /** Decides whether the journal takes records. */
  failJournal(isFailing: boolean): void {
    this.#isJournalFailing = isFailing;
  }

  /** Time goes on by this much without any checkpoint. */
  holdUp(byMs: number): void {
    this.clock.jump(byMs);
  }

  #append(records: readonly JournalRecord[]): void {
    if (this.#isJournalFailing) throw new JournalError("The disk is full");
    this.journal.push(...records);
    this.memory.journal.append(records);
  }
}
