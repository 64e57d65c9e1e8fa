import type { Clock } from "../../../lib/clock.ts";
import { NewestMap } from "../../../lib/newest_map.ts";
import { TIMESTAMP_DRIFT_MAX_MS } from "../../../lib/protocol/constants.ts";
import { hashQuote } from "../../../lib/protocol/hashes.ts";
import type { Market } from "../../../lib/protocol/markets.ts";
import type { Receipt } from "../../../lib/protocol/receipt.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";
import { requireSigner } from "../../../lib/protocol/signature.ts";
import { isUnsettled, type Thesis } from "../../../lib/protocol/thesis.ts";
import { hashTransaction, quoteOf, type Transaction } from "../../../lib/protocol/transaction.ts";
import { type Block, BlockLog, type BlockLogPosition } from "./block.ts";
import { CHECKPOINT_LATE_MAX_MS } from "./checkpoints.ts";
import { RejectedTransactionError, SettlementError, UnknownThesisError } from "./errors.ts";
import type { EvaluatedTransaction, EvaluationContext, ThesisLimits } from "./ledger.ts";
import type { OraclePrices } from "../oracle/oracle_prices.ts";
import type { ChainRecords } from "../store/chain_records.ts";
import type { PermissionLists } from "../store/schema.ts";
import { isFinalAt } from "./settlement.ts";
import { ChainState } from "./state.ts";

/**
 * Failed transactions that are not recorded (`Ledger.recordsFailureOf`) and kept in memory,
 * so that a repeated transaction gets its first receipt. The oldest are dropped.
 */
const UNRECORDED_FAILURES_MAX = 1_024;

/** Interval at which backfilled prices are deleted that no open thesis needs any more. */
const PRUNE_INTERVAL_MS = 60_000;

/** Callbacks of a {@link Chain}. They are called after the commit. */
export interface ChainEvents {
  onHead(block: Block): void;
  onTransaction(receipt: Receipt, tx: Transaction): void;
  onThesis(thesis: Thesis): void;
  /** A checkpoint found no fresh price for the market. */
  onMissingPrice(market: Market): void;
}

interface ChainOptions {
  chainId: number;
  clock: Clock;
  records: ChainRecords;
  permissions: PermissionLists;
  oraclePrices: OraclePrices;
  events: ChainEvents;
  /** Maximum time from now to the start of a window, in milliseconds. */
  maxStartAheadMs: number;
  /** Minimum bet, USDC with 6 decimals. */
  minBet: bigint;
}

/** The price that a checkpoint records for a market; undefined if there is none. */
type RecordedPrice = (market: Market) => bigint | undefined;

/**
 * The core node's state machine: transactions, checkpoints and settlement. Each change is checked
 * and applied synchronously, so no other code sees half a change, and announced once committed.
 *
 * A transaction is evaluated against the state, changes it and the records, and has its receipt
 * once the records are committed. A checkpoint records one price per market, decides the theses that
 * it breaks, settles those that have ended, and seals a block.
 */
export class Chain {
  readonly chainId: number;
  readonly oraclePrices: OraclePrices;
  readonly blocks: BlockLog;
  readonly limits: ThesisLimits;
  readonly #clock: Clock;
  readonly #records: ChainRecords;
  readonly #commits: ChainRecords["commits"];
  /** Reads the state from the records. */
  readonly #load: () => ChainState;
  readonly #events: ChainEvents;
  readonly #unrecordedFailures = new NewestMap<Hex, Receipt>(UNRECORDED_FAILURES_MAX);
  #state: ChainState;
  #prunedAtMs = 0;

  constructor(options: ChainOptions) {
    this.chainId = options.chainId;
    this.oraclePrices = options.oraclePrices;
    this.#records = options.records;
    this.#commits = options.records.commits;
    this.#load = () => new ChainState(options.records, options.permissions);
    this.#state = this.#load();
    this.#clock = options.clock;
    this.#events = options.events;
    this.limits = { minBetAmount: options.minBet, maxStartAheadMs: options.maxStartAheadMs };
    this.blocks = new BlockLog({
      // While no block could be sealed, prices were still recorded.
      nowMs: Math.max(options.clock.now(), options.records.prices.newestMs),
      createdAtMs: options.records.createdAtMs,
      resumeFrom: options.records.resumeFrom,
      reservedTo: () => options.records.reservedTo,
    });
    // Memory returns to the stored state: changes that were not committed are lost.
    options.records.onRollback(() => this.#state = this.#load());
  }

  /** Ledger, price histories and unsettled theses. {@link restore} replaces it. */
  get state(): ChainState {
    return this.#state;
  }

  get head(): Block {
    return this.blocks.head;
  }

  /**
   * Applies a transaction; the next checkpoint seals its block. Idempotent: submitting it again
   * returns the first receipt. If it throws, nothing is recorded.
   *
   * @throws {SignatureError} If `from` did not sign it.
   * @throws {RejectedTransactionError} If its timestamp is too far off.
   * @throws {StorageError} If nothing can be written.
   */
  submit(tx: Transaction): Receipt {
    const evaluated = this.#evaluate(tx);
    const { receipt, isKnown } = evaluated;
    if (isKnown) return receipt;
    if (receipt.status === "failed") this.#recordFailure(evaluated);
    else this.#apply(evaluated);
    return receipt;
  }

  findReceipt(txHash: Hex): Receipt | undefined {
    return this.state.ledger.findReceipt(txHash) ?? this.#unrecordedFailures.get(txHash);
  }

  /** The current state of a thesis; undefined if it never existed or is too old. */
  findThesis(id: number): Thesis | undefined {
    return this.state.ledger.findThesis(id);
  }

  /** The receipt that a transaction would get if submitted now. Throws like {@link submit}. */
  simulate(tx: Transaction): Receipt {
    return this.#evaluate(tx).receipt;
  }

  /**
   * Makes a checkpoint: records fresh prices, seals the block, and settles theses that have ended.
   * The block's transactions are on the disk, so it is announced even if a settlement fails.
   *
   * @param dueMs When it was due: a multiple of 100 ms, after the previous checkpoint.
   */
  checkpoint(
    dueMs: number,
    priceOf: RecordedPrice = (market) => this.oraclePrices.freshPrice(market, dueMs),
  ): Block {
    this.#commits.commit(); // the block contains only committed transactions
    this.#recordPrices(dueMs, priceOf);
    if (dueMs - this.#prunedAtMs >= PRUNE_INTERVAL_MS) {
      this.#prunedAtMs = dueMs;
      this.#commits.tryChange(() => this.state.prune());
    }
    const block = this.blocks.seal(dueMs);
    if (block !== undefined) this.#events.onHead(block);
    this.#trySettleSlice(dueMs);
    return this.head;
  }

  /** Records the prices of a slot without a block, and settles the theses that end before it. */
  recordSlot(dueMs: number, priceOf: RecordedPrice): void {
    this.#recordPrices(dueMs, priceOf);
    this.#trySettleSlice(dueMs);
  }

  /**
   * Goes back to an earlier moment of a development chain; then emits its head and every thesis
   * whose status changed. Theses created later disappear without an event.
   *
   * @param revert Reverts the records.
   */
  restore(position: BlockLogPosition, revert: () => void): void {
    const theses = new Map(this.#state.ledger.theses.map(({ id, status }) => [id, status]));
    revert();
    this.#state = this.#load();
    this.blocks.restore(position);
    this.#unrecordedFailures.clear();
    this.#prunedAtMs = 0;
    this.#events.onHead(position.head);
    for (const thesis of this.#state.ledger.theses) {
      if (thesis.status !== theses.get(thesis.id)) this.#events.onThesis(thesis);
    }
  }

  /**
   * Attempts to settle a thesis on request. Returns a settled thesis unchanged.
   *
   * @throws {UnknownThesisError} If there is no such thesis.
   * @throws {SettlementError} If prices are missing, or it has not ended and no recorded price is
   *   outside its range.
   * @throws {StorageError} If nothing can be written.
   */
  settle(id: number): Thesis {
    const thesis = this.findThesis(id);
    if (thesis === undefined) throw new UnknownThesisError(id);
    if (!isUnsettled(thesis.status)) return thesis;
    const { timestampMs } = this.head;
    const outcome = this.state.outcomeOf(thesis);
    // A thesis is not final before its end, even if its last slot is recorded.
    if (!isFinalAt(outcome, thesis, timestampMs)) {
      throw SettlementError.tooEarly(thesis, timestampMs);
    }
    if (this.state.settlements.isNewOutcome(thesis, outcome)) {
      this.#commits.change(() => {
        const changed = this.state.applyOutcome(thesis, outcome, timestampMs);
        if (changed !== undefined) this.#announceOutcomes([changed]);
      });
    }
    if (outcome.status === "needs_backfill") {
      throw SettlementError.needsBackfill(thesis, outcome.missing);
    }
    return this.state.ledger.findThesis(id) ?? thesis;
  }

  /**
   * Settles some of the theses that ended or broke up to the newest checkpoint.
   *
   * @returns Whether more theses are due.
   */
  settleDue(): boolean {
    const { timestampMs } = this.head;
    this.#trySettleSlice(timestampMs);
    return this.#commits.failure === undefined && this.state.settlements.isDue(timestampMs);
  }

  #recordFailure(failed: EvaluatedTransaction): void {
    const { ledger } = this.state;
    const { tx, receipt } = failed;
    if (!ledger.recordsFailureOf(tx)) {
      this.#unrecordedFailures.set(receipt.txHash, receipt);
      return;
    }
    this.#commits.change(() => {
      ledger.record(receipt, this.#clock.now());
      this.#announce(failed);
    });
  }

  #apply(evaluated: EvaluatedTransaction): void {
    this.#commits.change(() => {
      const thesis = this.state.applyTransaction(evaluated, this.#clock.now());
      this.#announce(evaluated);
      if (thesis !== undefined) this.#announceThesis(thesis);
      if (evaluated.fillableSpans === undefined) return;
      // Theses that end after the newest checkpoint wait: their last slots are not recorded yet.
      this.#settleSlice(this.head.timestampMs);
    });
  }

  #announce({ tx, receipt }: EvaluatedTransaction): void {
    this.#commits.afterCommit(() => {
      this.blocks.add(receipt.txHash);
      this.#events.onTransaction(receipt, tx);
    });
  }

  #evaluate(tx: Transaction): EvaluatedTransaction & { isKnown: boolean } {
    const txHash = hashTransaction(tx, this.chainId);
    requireSigner("Transaction signature", txHash, tx.signature, tx.from);
    const earlier = this.findReceipt(txHash);
    if (earlier !== undefined) return { tx, receipt: earlier, isKnown: true };
    // Its receipt or quote may be deleted if it is this old: it must not be accepted again.
    const isOld = tx.timestamp < this.#records.state.droppedBeforeMs + TIMESTAMP_DRIFT_MAX_MS;
    const offMs = Math.abs(this.#clock.now() - tx.timestamp);
    if (offMs > TIMESTAMP_DRIFT_MAX_MS || isOld) {
      throw new RejectedTransactionError(tx.timestamp, offMs);
    }
    const quoteHash = tx.type === "RfqSubmit" ? hashQuote(quoteOf(tx), this.chainId) : undefined;
    const receipt = this.state.ledger.evaluate({ tx, quoteHash }, txHash, this.#context());
    if (tx.type !== "BackfillOracle" || receipt.status === "failed") {
      return { tx, receipt, quoteHash, isKnown: false };
    }
    const { slots: filledSlots, spans: fillableSpans } = this.state.fillable(tx);
    return { tx, receipt: { ...receipt, filledSlots }, fillableSpans, isKnown: false };
  }

  #context(): EvaluationContext {
    const nowMs = this.#clock.now();
    const isBehind = this.head.timestampMs - nowMs > CHECKPOINT_LATE_MAX_MS;
    return {
      blockNumber: this.blocks.nextNumber,
      nowMs,
      marketOf: (pair) => this.state.marketOf(pair),
      // While the clock is behind the newest block, prices are not updated, so none is fresh.
      isFresh: (market) => !isBehind && this.oraclePrices.isFresh(market, nowMs),
      limits: this.limits,
      breachOf: (box) => this.state.breachOf(box),
      newestSlotMs: this.head.timestampMs,
    };
  }

  #recordPrices(dueMs: number, priceOf: RecordedPrice): void {
    for (const market of this.state.histories.keys()) {
      const price = priceOf(market);
      this.state.recordPrice(market, dueMs, price);
      if (price === undefined) this.#events.onMissingPrice(market);
    }
  }

  /** Attempts due settlements. If they cannot be stored, the theses stay due. */
  #trySettleSlice(nowMs: number): void {
    if (this.state.settlements.isDue(nowMs)) {
      this.#commits.tryChange(() => this.#settleSlice(nowMs));
    }
  }

  #settleSlice(nowMs: number): void {
    this.#announceOutcomes(this.state.settleDueSlice(nowMs, this.#clock));
  }

  /** Announces theses and stores the prices that decided them: others could be backfilled later. */
  #announceOutcomes(theses: readonly Thesis[]): void {
    for (const thesis of theses) this.#announceThesis(thesis);
    this.#records.savePrices(new Set(theses.map((thesis) => this.state.marketOf(thesis)!)));
  }

  #announceThesis(thesis: Thesis): void {
    this.#commits.afterCommit(() => this.#events.onThesis(thesis));
  }
}
