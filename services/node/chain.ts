import type { Clock } from "../../lib/clock.ts";
import { SLOT_MS } from "../../lib/price_ring.ts";
import { findMarket, type Market, MARKETS } from "../../lib/protocol/markets.ts";
import type { Receipt } from "../../lib/protocol/receipt.ts";
import type { Address, Hex } from "../../lib/protocol/scalars.ts";
import { isUnsettled, type Thesis } from "../../lib/protocol/thesis.ts";
import {
  type BackfillOracle,
  hashTransaction,
  type Transaction,
} from "../../lib/protocol/transaction.ts";
import { type Block, genesisBlock, sealBlock } from "./block.ts";
import { RejectedTransactionError, SettlementError, UnknownThesisError } from "./errors.ts";
import type { ExecutionContext, Ledger } from "./ledger.ts";
import type { OracleFeed } from "./oracle_feed.ts";
import type { PriceHistory } from "./price_history.ts";
import { Settler } from "./settler.ts";
import type { Outcome } from "./settlement.ts";
import { requireSender, type VerifiedTransaction, verifyInside } from "./verify.ts";

/** How far the timestamp of a transaction may be off the node's clock. */
export const TIMESTAMP_DRIFT_MAX_MS = 60_000;

/** Sealed blocks that are kept to be asked for: 409.6 s of them. */
export const BLOCKS_KEPT = 4_096;

/**
 * Theses that one checkpoint settles at most, which takes it well under its interval; when more end
 * together, the next checkpoints go on.
 */
export const SETTLEMENTS_PER_CHECKPOINT_MAX = 5_000;

/** How often prices that no open thesis needs any more are let go. */
const PRUNE_INTERVAL_MS = 60_000;

/** What the chain tells as it happens. */
export interface ChainEvents {
  onHead(block: Block): void;
  onTransaction(receipt: Receipt, tx: Transaction): void;
  onThesis(thesis: Thesis): void;
  /** A checkpoint found no fresh price for the market. */
  onMissingPrice(market: Market): void;
}

/** What a chain is made of. */
export interface ChainParts {
  chainId: number;
  clock: Clock;
  ledger: Ledger;
  feed: OracleFeed;
  /** One for each market. */
  histories: ReadonlyMap<Market, PriceHistory>;
  events: ChainEvents;
}

/**
 * The core node's state machine: transactions, checkpoints and settlement over one {@link Ledger} and
 * the price histories. Everything in it is synchronous, so nothing is ever half done.
 */
export class Chain {
  readonly chainId: number;
  readonly ledger: Ledger;
  readonly feed: OracleFeed;
  readonly histories: ReadonlyMap<Market, PriceHistory>;
  readonly #clock: Clock;
  readonly #events: ChainEvents;
  readonly #settler = new Settler();
  readonly #blocks = new Map<number, Block>();
  #head: Block;
  #pending: Hex[] = [];
  #prunedAtMs = 0;

  constructor(parts: ChainParts) {
    this.chainId = parts.chainId;
    this.ledger = parts.ledger;
    this.feed = parts.feed;
    this.histories = parts.histories;
    this.#clock = parts.clock;
    this.#events = parts.events;
    this.#head = genesisBlock(parts.clock.now());
    this.#keep(this.#head);
  }

  /** The newest sealed block. */
  get head(): Block {
    return this.#head;
  }

  /** A sealed block, or undefined where it never was or is not kept any more. */
  block(number: number): Block | undefined {
    return this.#blocks.get(number);
  }

  /** Theses that are not settled. */
  get unsettled(): ReadonlyMap<number, Thesis> {
    return this.#settler.unsettled;
  }

  /**
   * Applies a transaction; the next checkpoint seals the block it is in. The same one again gives the
   * first receipt.
   *
   * @throws {SignatureError} If `from` did not sign it. @throws {RejectedTransactionError} If its
   * timestamp is too far off. Nothing is recorded then.
   */
  submit(tx: Transaction): Receipt {
    const verified = this.#verify(tx);
    if ("receipt" in verified) return verified.receipt;
    const { receipt, thesis } = this.ledger.execute(verified, this.#context());
    this.#pending.push(receipt.txHash);
    const isBackfill = tx.type === "BackfillOracle" && receipt.status === "committed";
    if (isBackfill) receipt.filledSlots = this.#backfill(tx);
    this.#events.onTransaction(receipt, tx);
    if (thesis !== undefined) {
      this.#settler.add(thesis);
      this.#events.onThesis(thesis);
    }
    if (isBackfill) this.#settleDue(this.#clock.now());
    return receipt;
  }

  /** The receipt that a transaction would get now. Changes nothing. Throws as {@link submit}. */
  simulate(tx: Transaction): Receipt {
    const verified = this.#verify(tx);
    if ("receipt" in verified) return verified.receipt;
    const context = this.#context();
    const error = this.ledger.refusalOf(verified, context);
    const outcome = { txHash: verified.txHash, blockNumber: context.blockNumber };
    if (error !== undefined) return { ...outcome, status: "failed", error };
    const thesisId = tx.type === "RfqSubmit" ? this.ledger.theses.length + 1 : undefined;
    return { ...outcome, status: "committed", thesisId };
  }

  /**
   * Makes a checkpoint: records the fresh prices, settles what has ended and seals the block.
   *
   * @param dueMs When it was due: a multiple of 100 ms, later than the one before.
   */
  checkpoint(dueMs: number): Block {
    for (const [market, history] of this.histories) {
      const price = this.feed.freshPrice(market, dueMs);
      if (price !== undefined) history.ring.append(dueMs, price);
      else {
        history.ring.skipTo(dueMs);
        this.#events.onMissingPrice(market);
      }
    }
    this.#settleDue(dueMs);
    if (dueMs - this.#prunedAtMs >= PRUNE_INTERVAL_MS) this.#prune(dueMs);
    this.#head = sealBlock(this.#head.number + 1, this.#head.hash, dueMs, this.#pending);
    this.#pending = [];
    this.#keep(this.#head);
    this.#events.onHead(this.#head);
    return this.#head;
  }

  /**
   * Attempts to settle a thesis on request. One that is settled is given as it is.
   *
   * @throws {UnknownThesisError} @throws {SettlementError} If prices are missing, or it has not ended
   * and no recorded price is outside its box.
   */
  settle(id: number): Thesis {
    const thesis = this.ledger.thesis(id);
    if (thesis === undefined) throw new UnknownThesisError(id);
    if (!isUnsettled(thesis.status)) return thesis;
    const nowMs = this.#clock.now();
    const outcome = this.#settler.attempt(thesis, this.#historyOf(thesis));
    const hasEnded = this.#head.timestampMs >= thesis.endTime;
    if (outcome.status === "needs_backfill" && !hasEnded) {
      throw SettlementError.tooEarly(thesis, this.#head.timestampMs);
    }
    const settled = this.#apply(thesis, outcome, nowMs);
    if (outcome.status === "needs_backfill") {
      throw SettlementError.needsBackfill(thesis, outcome.missing);
    }
    return settled;
  }

  #verify(tx: Transaction): VerifiedTransaction | { receipt: Receipt } {
    const txHash = hashTransaction(tx, this.chainId);
    requireSender(tx, txHash);
    const receipt = this.ledger.receipt(txHash);
    if (receipt !== undefined) return { receipt };
    const offMs = Math.abs(this.#clock.now() - tx.timestamp);
    if (offMs > TIMESTAMP_DRIFT_MAX_MS) throw new RejectedTransactionError(tx.timestamp, offMs);
    return verifyInside(tx, txHash, this.chainId);
  }

  #context(): ExecutionContext {
    const nowMs = this.#clock.now();
    return {
      blockNumber: this.#head.number + 1,
      nowMs,
      isFresh: (market) => this.feed.isFresh(market, nowMs),
      newestSlotMs: this.#head.timestampMs,
    };
  }

  /** @returns How many slots took a price. */
  #backfill(tx: BackfillOracle): number {
    const history = this.#historyOf(tx);
    const span = { from: tx.startTime, to: tx.startTime + tx.prices.length * SLOT_MS };
    const needed = this.#settler.neededSpans(tx.base, tx.quote)
      .filter((window) => window.from < span.to && window.to > span.from);
    let filled = 0;
    for (const [index, price] of tx.prices.entries()) {
      const time = tx.startTime + index * SLOT_MS;
      const isNeeded = needed.some((window) => time >= window.from && time < window.to);
      if (history.fill(time, price, isNeeded)) filled += 1;
    }
    this.#settler.retryWhere(tx.base, tx.quote, span);
    return filled;
  }

  #settleDue(nowMs: number): void {
    for (let done = 0; done < SETTLEMENTS_PER_CHECKPOINT_MAX; done++) {
      const thesis = this.#settler.nextDue(nowMs);
      if (thesis === undefined) return;
      this.#apply(thesis, this.#settler.attempt(thesis, this.#historyOf(thesis)), nowMs);
    }
  }

  #apply(thesis: Thesis, outcome: Outcome, nowMs: number): Thesis {
    const settled = this.ledger.settle(thesis.id, outcome, nowMs);
    this.#settler.record(settled, outcome);
    if (settled.status !== thesis.status) this.#events.onThesis(settled);
    return settled;
  }

  #prune(nowMs: number): void {
    this.#prunedAtMs = nowMs;
    for (const [market, history] of this.histories) {
      if (history.held.pages === 0) continue;
      history.held.keepOnly(this.#settler.neededSpans(market.base, market.quote));
    }
  }

  #historyOf(pair: { base: Address; quote: Address }): PriceHistory {
    const market = findMarket(pair.base, pair.quote);
    const history = market && this.histories.get(market);
    if (history === undefined) {
      throw new TypeError(`Chain has no price history of ${pair.base} in ${pair.quote}`);
    }
    return history;
  }

  #keep(block: Block): void {
    this.#blocks.set(block.number, block);
    this.#blocks.delete(block.number - BLOCKS_KEPT);
  }
}

/** All supported markets, each with a new, empty history. */
export function emptyHistories(make: () => PriceHistory): Map<Market, PriceHistory> {
  return new Map(MARKETS.map((market) => [market, make()]));
}
