import type { Clock } from "../../../lib/clock.ts";
import { NewestMap } from "../../../lib/newest_map.ts";
import { SLOT_MS, type TimeSpan } from "../../../lib/prices/price_slots.ts";
import { START_AHEAD_MAX_MS, TIMESTAMP_DRIFT_MAX_MS } from "../../../lib/protocol/constants.ts";
import type { Market } from "../../../lib/protocol/markets.ts";
import type { Receipt } from "../../../lib/protocol/receipt.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";
import { isUnsettled, type Thesis } from "../../../lib/protocol/thesis.ts";
import { hashTransaction, type Transaction } from "../../../lib/protocol/transaction.ts";
import { type Archive, emptyArchive } from "./archive.ts";
import type { Block } from "./block.ts";
import { BlockLog, type BlockLogOptions, type BlockLogPosition } from "./block_log.ts";
import { CHECKPOINT_LATE_MAX_MS } from "./checkpoints.ts";
import { RejectedTransactionError, SettlementError, UnknownThesisError } from "./errors.ts";
import type { ExecutionContext } from "./ledger.ts";
import type { OraclePrices } from "../oracle/oracle_prices.ts";
import { type Journal, type SettlementRecord, STRANGER_FAILURES_MAX } from "./journal.ts";
import type { Outcome } from "./settlement.ts";
import type { ChainState } from "./state.ts";
import { requireSender, verifyEmbeddedSignatures } from "./verify.ts";

/**
 * Settlement attempts of one checkpoint at most, so that it ends well within its interval. The next
 * checkpoints continue with the rest.
 */
export const SETTLEMENTS_PER_CHECKPOINT_MAX = 5_000;

/** How often backfilled prices that no open thesis needs any more are deleted. */
const PRUNE_INTERVAL_MS = 60_000;

/** Callbacks of a {@link Chain}. */
export interface ChainEvents {
  onHead(block: Block): void;
  onTransaction(receipt: Receipt, tx: Transaction): void;
  onThesis(thesis: Thesis): void;
  /** A checkpoint found no fresh price for the market. */
  onMissingPrice(market: Market): void;
  /** Settlements could not be written to the journal; the next checkpoint retries them. */
  onJournalFailure(thrown: unknown): void;
}

/** Parts of a {@link Chain}. */
export interface ChainParts extends Partial<Omit<BlockLogOptions, "nowMs">> {
  chainId: number;
  clock: Clock;
  state: ChainState;
  oraclePrices: OraclePrices;
  journal: Journal;
  events: ChainEvents;
  /** Maximum time from now to the start of a window, in milliseconds. */
  maxStartAheadMs?: number;
  /** Settled theses and old receipts that were moved out of the ledger; empty by default. */
  archive?: Archive | undefined;
}

/** The price that a checkpoint records for a market; undefined if there is none. */
export type RecordedPrice = (market: Market, dueMs: number) => bigint | undefined;

/**
 * The core node's state machine: transactions, checkpoints and settlement. Each change is checked,
 * journaled and applied synchronously, so no other code sees a partial change.
 */
export class Chain {
  readonly chainId: number;
  readonly oraclePrices: OraclePrices;
  readonly archive: Archive;
  readonly blocks: BlockLog;
  readonly #clock: Clock;
  readonly #journal: Journal;
  readonly #events: ChainEvents;
  readonly #maxStartAheadMs: number;
  readonly #unrecordedFailures = new NewestMap<Hex, Receipt>(STRANGER_FAILURES_MAX);
  #state: ChainState;
  #prunedAtMs = 0;

  constructor(parts: ChainParts) {
    this.chainId = parts.chainId;
    this.oraclePrices = parts.oraclePrices;
    this.#state = parts.state;
    this.archive = parts.archive ?? emptyArchive;
    this.#clock = parts.clock;
    this.#journal = parts.journal;
    this.#events = parts.events;
    this.#maxStartAheadMs = parts.maxStartAheadMs ?? START_AHEAD_MAX_MS;
    const { createdAtMs, resumeFrom, numbers } = parts;
    this.blocks = new BlockLog({ nowMs: parts.clock.now(), createdAtMs, resumeFrom, numbers });
  }

  /** Ledger, price histories and unsettled theses. {@link restore} replaces it. */
  get state(): ChainState {
    return this.#state;
  }

  /** The newest sealed block. */
  get head(): Block {
    return this.blocks.head;
  }

  /**
   * Applies a transaction; the next checkpoint seals its block. Idempotent: submitting it again
   * returns the first receipt.
   *
   * @throws {SignatureError} If `from` did not sign it. @throws {RejectedTransactionError} If its
   * timestamp is too far off. @throws {JournalError} If it cannot be written. Nothing is recorded
   * then.
   */
  submit(tx: Transaction): Receipt {
    const { receipt, quoteHash, isKnown } = this.#judge(tx);
    if (isKnown) return receipt;
    if (receipt.status === "failed") return this.#fail(tx, receipt);
    return this.#commit(tx, receipt, quoteHash);
  }

  /** The receipt of a transaction; undefined if it is not known. */
  receipt(txHash: Hex): Receipt | undefined {
    return this.#recentReceipt(txHash) ?? this.archive.receipt(txHash);
  }

  /** The current state of a thesis; undefined if it never existed or is too old. */
  thesis(id: number): Thesis | undefined {
    return this.state.ledger.thesis(id) ?? this.archive.thesis(id);
  }

  /** The receipt that a transaction would get if submitted now. Throws like {@link submit}. */
  simulate(tx: Transaction): Receipt {
    return this.#judge(tx).receipt;
  }

  /**
   * Makes a checkpoint: records fresh prices, settles theses that have ended and seals the block.
   *
   * @param dueMs When it was due: a multiple of 100 ms, after the previous checkpoint.
   */
  checkpoint(
    dueMs: number,
    priceOf: RecordedPrice = (market) => this.oraclePrices.freshPrice(market, dueMs),
  ): Block {
    this.#recordSlot(dueMs, priceOf);
    if (dueMs - this.#prunedAtMs >= PRUNE_INTERVAL_MS) {
      this.#prunedAtMs = dueMs;
      this.state.prune();
    }
    const block = this.blocks.seal(dueMs);
    if (block !== undefined) this.#events.onHead(block);
    return this.head;
  }

  /**
   * Time travel of a development chain: records every slot up to `dueMs`, settles the theses that end
   * before then, and makes one checkpoint. Does nothing if `dueMs` is not after the newest checkpoint.
   */
  advanceTo(dueMs: number, priceOf: RecordedPrice): void {
    for (let slotMs = this.head.timestampMs + SLOT_MS; slotMs < dueMs; slotMs += SLOT_MS) {
      this.#recordSlot(slotMs, priceOf);
    }
    if (dueMs > this.head.timestampMs) this.checkpoint(dueMs, priceOf);
  }

  /**
   * Restores a snapshot of a development chain, then emits its head and every thesis whose status
   * changed. Theses created after the snapshot disappear without an event.
   */
  restore(state: ChainState, position: BlockLogPosition): void {
    const { theses } = this.#state.ledger;
    this.#state = state;
    this.blocks.restore(position);
    this.#unrecordedFailures.clear();
    this.#prunedAtMs = 0;
    this.#events.onHead(position.head);
    for (const [index, thesis] of state.ledger.theses.entries()) {
      if (thesis.status !== theses[index]?.status) this.#events.onThesis(thesis);
    }
  }

  /**
   * Attempts to settle a thesis on request. Returns a settled thesis unchanged.
   *
   * @throws {UnknownThesisError} @throws {SettlementError} If prices are missing, or it has not ended
   * and no recorded price is outside its range. @throws {JournalError}
   */
  settle(id: number): Thesis {
    const thesis = this.thesis(id);
    if (thesis === undefined) throw new UnknownThesisError(id);
    if (!isUnsettled(thesis.status)) return thesis;
    const outcome = this.state.attempt(thesis);
    // The last slot may be recorded before endTime, but a win is final only at endTime.
    if (outcome.status !== "lost" && this.head.timestampMs < thesis.endTime) {
      throw SettlementError.tooEarly(thesis, this.head.timestampMs);
    }
    if (this.state.settler.isNewOutcome(thesis, outcome)) {
      this.#record([settlementOf(thesis, outcome, this.#clock.now())]);
    }
    if (outcome.status === "needs_backfill") {
      throw SettlementError.needsBackfill(thesis, outcome.missing);
    }
    return this.state.ledger.thesis(id) ?? thesis;
  }

  #fail(tx: Transaction, receipt: Receipt): Receipt {
    if (!this.state.ledger.recordsFailureOf(tx)) {
      this.#unrecordedFailures.set(receipt.txHash, receipt);
      return receipt;
    }
    this.#journal.append([{ kind: "failure", atMs: this.#clock.now(), receipt }]);
    this.state.ledger.recordFailure(receipt);
    this.blocks.add(receipt.txHash);
    this.#events.onTransaction(receipt, tx);
    return receipt;
  }

  #commit(tx: Transaction, judged: Receipt, quoteHash: Hex | undefined): Receipt {
    const filled = tx.type === "BackfillOracle" ? this.state.fillable(tx) : undefined;
    const receipt = filled === undefined ? judged : { ...judged, filledSlots: slotsIn(filled) };
    const atMs = this.#clock.now();
    const record = { kind: "transaction" as const, atMs, tx, receipt, quoteHash, filled };
    this.#journal.append([record]);
    const thesis = this.state.applyTransaction(record);
    this.blocks.add(receipt.txHash);
    this.#events.onTransaction(receipt, tx);
    if (thesis !== undefined) this.#events.onThesis(thesis);
    // Theses that end after the newest checkpoint are not due: their last slots are not recorded yet.
    if (filled !== undefined) this.#settleDue(this.head.timestampMs);
    return receipt;
  }

  #judge(tx: Transaction): { receipt: Receipt; quoteHash?: Hex; isKnown: boolean } {
    const { ledger } = this.state;
    const txHash = hashTransaction(tx, this.chainId);
    requireSender(tx, txHash);
    // Only transactions this old can have been moved to the archive, so newer ones skip the lookup.
    const isOld = tx.timestamp < ledger.droppedBeforeMs + TIMESTAMP_DRIFT_MAX_MS;
    const earlier = isOld ? this.receipt(txHash) : this.#recentReceipt(txHash);
    if (earlier !== undefined) return { receipt: earlier, isKnown: true };
    const offMs = Math.abs(this.#clock.now() - tx.timestamp);
    if (offMs > TIMESTAMP_DRIFT_MAX_MS || isOld) {
      throw new RejectedTransactionError(tx.timestamp, offMs);
    }
    const verified = verifyEmbeddedSignatures(tx, txHash, this.chainId);
    const receipt = ledger.judge(verified, this.#context());
    return { receipt, quoteHash: verified.quoteHash, isKnown: false };
  }

  #recentReceipt(txHash: Hex): Receipt | undefined {
    return this.state.ledger.receipt(txHash) ?? this.#unrecordedFailures.get(txHash);
  }

  #context(): ExecutionContext {
    // Quotes dropped from the ledger have expired and must stay expired if the clock is set back.
    const nowMs = Math.max(this.#clock.now(), this.state.ledger.droppedBeforeMs);
    const isBehind = this.head.timestampMs - nowMs > CHECKPOINT_LATE_MAX_MS;
    return {
      blockNumber: this.blocks.nextNumber,
      nowMs,
      marketOf: (pair) => this.state.marketOf(pair),
      // If the clock is behind the newest block, prices are not updated, so none counts as fresh.
      isFresh: (market) => !isBehind && this.oraclePrices.isFresh(market, nowMs),
      maxStartAheadMs: this.#maxStartAheadMs,
      breachOf: (box) => this.state.breachOf(box),
      newestSlotMs: this.head.timestampMs,
    };
  }

  #recordSlot(dueMs: number, priceOf: RecordedPrice): void {
    for (const [market, { ring }] of this.state.histories) {
      const price = priceOf(market, dueMs);
      if (price !== undefined) ring.append(dueMs, price);
      else {
        ring.skipTo(dueMs);
        this.#events.onMissingPrice(market);
      }
    }
    this.#settleDue(dueMs);
  }

  #settleDue(nowMs: number): void {
    const records: SettlementRecord[] = [];
    for (let attempts = 0; attempts < SETTLEMENTS_PER_CHECKPOINT_MAX; attempts++) {
      const thesis = this.state.settler.nextDue(nowMs);
      if (thesis === undefined) break;
      const outcome = this.state.attempt(thesis);
      if (this.state.settler.isNewOutcome(thesis, outcome)) {
        records.push(settlementOf(thesis, outcome, nowMs));
      }
    }
    try {
      this.#record(records);
    } catch (thrown) {
      for (const { id } of records) this.state.settler.retry(id);
      this.#events.onJournalFailure(thrown);
    }
  }

  #record(records: readonly SettlementRecord[]): void {
    if (records.length === 0) return;
    this.#journal.append(records);
    for (const record of records) {
      const before = this.state.ledger.thesis(record.id)?.status;
      const thesis = this.state.applySettlement(record);
      if (thesis.status !== before) this.#events.onThesis(thesis);
    }
  }
}

function settlementOf(thesis: Thesis, outcome: Outcome, atMs: number): SettlementRecord {
  return { kind: "settlement", atMs, id: thesis.id, outcome };
}

function slotsIn(spans: readonly TimeSpan[]): number {
  return spans.reduce((slots, { from, to }) => slots + (to - from) / SLOT_MS, 0);
}
