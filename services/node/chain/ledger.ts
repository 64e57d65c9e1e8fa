import type { Account } from "../../../lib/protocol/account.ts";
import type { Market, MarketPair } from "../../../lib/protocol/markets.ts";
import type { Receipt } from "../../../lib/protocol/receipt.ts";
import type { Address, Hex } from "../../../lib/protocol/scalars.ts";
import { isUnsettled, type Thesis } from "../../../lib/protocol/thesis.ts";
import { betTermsOf } from "../../../lib/protocol/terms.ts";
import type {
  BackfillOracle,
  Deposit,
  RfqSubmit,
  Transaction,
} from "../../../lib/protocol/transaction.ts";
import { type PricePoint, SLOT_MS } from "../../../lib/prices/price_slots.ts";
import { Accounts, type Genesis } from "./accounts.ts";
import {
  lacksPermission,
  rangeBroken,
  type Refusal,
  refuse,
  stakesOf,
  unsupportedPair,
  windowRefusal,
} from "./refusals.ts";
import type { DroppedRecord, TransactionRecord } from "./journal.ts";
import type { Box, Outcome } from "./settlement.ts";
import { ThesisTable } from "./thesis_table.ts";
import type { VerifiedTransaction } from "./verify.ts";

/** The context in which a transaction is judged. */
export interface ExecutionContext {
  /** Number of the block that the next checkpoint seals. */
  blockNumber: number;
  /** Unix milliseconds. */
  nowMs: number;
  /** The market of a pair, or undefined. */
  marketOf(pair: MarketPair): Market | undefined;
  /** Whether bets on a market are accepted (spec: price oracle, States: fresh). */
  isFresh(market: Market): boolean;
  /** How far ahead a window may start, in milliseconds. */
  maxStartAheadMs: number;
  /** The first recorded price of the window that is outside the range of a thesis. */
  breachOf(box: Box & MarketPair): PricePoint | undefined;
  /** Newest slot of a checkpoint, in Unix milliseconds. Later slots cannot be backfilled. */
  newestSlotMs: number;
}

/**
 * Balances, permissions, theses and receipts: the state of the chain without its prices.
 *
 * It is synchronous and knows no socket, clock or signature: transactions arrive parsed and verified,
 * with the context to judge them in. Balances plus unsettled theses always equal deposits plus
 * genesis ({@link holdings} and {@link issued}).
 */
export class Ledger {
  readonly #accounts: Accounts;
  readonly #theses = new ThesisTable();
  readonly #receipts = new Map<Hex, Receipt>();
  readonly #externalHashes = new Set<Hex>();
  #issued: bigint;
  #droppedBeforeMs = 0;

  constructor(genesis: Genesis) {
    this.#accounts = new Accounts(genesis);
    this.#issued = this.#accounts.total;
  }

  /** All money ever received: genesis and deposits. */
  get issued(): bigint {
    return this.#issued;
  }

  /** All money held: balances and unsettled theses. Always equals {@link issued}. */
  get holdings(): bigint {
    let sum = this.#accounts.total;
    for (const thesis of this.#theses.all) if (isUnsettled(thesis.status)) sum += thesis.payout;
    return sum;
  }

  /** Everything that was dropped is older than this, in Unix milliseconds. */
  get droppedBeforeMs(): number {
    return this.#droppedBeforeMs;
  }

  /** All theses that were not dropped, ordered by id. */
  get theses(): readonly Thesis[] {
    return this.#theses.all;
  }

  /** The account of an address; its balance is 0 if it was never used. */
  account(address: Address): Account {
    return this.#accounts.get(address);
  }

  /** The current state of a thesis. */
  thesis(id: number): Thesis | undefined {
    return this.#theses.get(id);
  }

  /** Theses with an id in `[fromId, toId)`, by id. */
  thesesBetween(fromId: number, toId: number): readonly Thesis[] {
    return this.#theses.between(fromId, toId);
  }

  /** The highest id of a thesis that was ever opened. */
  get lastThesisId(): number {
    return this.#theses.lastId;
  }

  /** The receipt of a recorded transaction. */
  receipt(txHash: Hex): Receipt | undefined {
    return this.#receipts.get(txHash);
  }

  /**
   * Whether the failure of a transaction is recorded. It is not recorded if the sender lacks the
   * permission for the type, or never had a balance: anyone can sign such transactions, and recording
   * them would let strangers fill the disk.
   */
  recordsFailureOf(tx: Transaction): boolean {
    if (tx.type === "Deposit") return this.#accounts.holds("relayer", tx.from);
    if (tx.type === "BackfillOracle") return this.#accounts.holds("admin", tx.from);
    return this.#accounts.has(tx.from);
  }

  /** Keeps the receipt of a failed transaction. */
  recordFailure(receipt: Receipt): void {
    this.#receipts.set(receipt.txHash, receipt);
  }

  /** The receipt that a transaction would get now, or the one that it already has. */
  judge(verified: VerifiedTransaction, context: ExecutionContext): Receipt {
    const { tx, txHash } = verified;
    const earlier = this.#receipts.get(txHash);
    if (earlier !== undefined) return earlier;
    const { blockNumber } = context;
    const error = this.#refusalOf(verified, context);
    if (error !== undefined) return { txHash, status: "failed", blockNumber, error };
    const receipt: Receipt = { txHash, status: "committed", blockNumber };
    return tx.type === "RfqSubmit" ? { ...receipt, thesisId: this.#theses.lastId + 1 } : receipt;
  }

  /**
   * Applies a transaction with its receipt. Idempotent.
   *
   * @returns The thesis it opened, if any.
   */
  apply(record: TransactionRecord): Thesis | undefined {
    const { tx, receipt } = record;
    if (this.#receipts.has(receipt.txHash)) return undefined;
    this.#receipts.set(receipt.txHash, receipt);
    if (receipt.status === "failed") return undefined;
    if (tx.type === "Deposit") this.#deposit(tx);
    if (tx.type === "RfqSubmit") return this.#open(tx, record);
  }

  /**
   * Settles a thesis and pays the whole payout to the winner, or marks it as `needs_backfill`.
   *
   * @throws {RangeError} If the thesis does not exist or is settled already.
   */
  settle(id: number, outcome: Outcome, settledAt: number): Thesis {
    const thesis = this.thesis(id);
    if (thesis === undefined || !isUnsettled(thesis.status)) {
      throw new RangeError(`Thesis to settle is not open: received ${id}`);
    }
    const settled: Thesis = { ...thesis, status: outcome.status };
    if (outcome.status !== "needs_backfill") {
      settled.settledAt = settledAt;
      if (outcome.status === "lost") settled.breach = outcome.breach;
      const winner = outcome.status === "won" ? thesis.user : thesis.solver;
      this.#accounts.credit(winner, thesis.payout);
      this.#accounts.lock(thesis.user, -thesis.betAmount);
      this.#accounts.lock(thesis.solver, thesis.betAmount - thesis.payout);
    }
    this.#theses.replace(settled);
    return settled;
  }

  /** Applies the summary of records that were dropped from the journal. */
  applyDropped({ beforeMs, lastThesisId, issued, balances }: Omit<DroppedRecord, "kind">): void {
    this.#droppedBeforeMs = Math.max(this.#droppedBeforeMs, beforeMs);
    this.#theses.skipTo(lastThesisId);
    this.#issued += issued;
    // Object.entries types the keys as strings; the schema has parsed them as addresses.
    for (const [address, change] of Object.entries(balances)) {
      this.#accounts.credit(address as Address, change);
    }
  }

  /** Marks the external transactions of dropped deposits as credited. */
  applyDeposits(externalTxHashes: readonly Hex[]): void {
    for (const hash of externalTxHashes) this.#externalHashes.add(hash);
  }

  /**
   * Drops settled theses with their quotes, and receipts. Balances and the external hashes of deposits
   * stay. A dropped quote cannot be used again: its window has ended.
   */
  drop(theses: readonly Thesis[], txHashes: readonly Hex[], beforeMs: number): void {
    this.#droppedBeforeMs = Math.max(this.#droppedBeforeMs, beforeMs);
    this.#theses.drop(theses);
    for (const txHash of txHashes) this.#receipts.delete(txHash);
  }

  #refusalOf(verified: VerifiedTransaction, context: ExecutionContext): Refusal | undefined {
    if (verified.fault !== undefined) return verified.fault;
    const { tx } = verified;
    switch (tx.type) {
      case "Deposit":
        return this.#depositRefusal(tx);
      case "RfqSubmit":
        return this.#rfqRefusal(tx, verified.quoteHash, context);
      case "BackfillOracle":
        return this.#backfillRefusal(tx, context);
    }
  }

  #depositRefusal(tx: Deposit): Refusal | undefined {
    if (!this.#accounts.holds("relayer", tx.from)) return lacksPermission(tx.from, "relayer");
    if (this.#externalHashes.has(tx.externalTxHash)) {
      return refuse(
        "DEPOSIT_ALREADY_PROCESSED",
        `External transaction ${tx.externalTxHash} was already credited; sign another nonce`,
      );
    }
  }

  #rfqRefusal(
    tx: RfqSubmit,
    quoteHash: Hex | undefined,
    context: ExecutionContext,
  ): Refusal | undefined {
    const market = context.marketOf(tx);
    if (market === undefined) return unsupportedPair(tx);
    if (tx.lowerPrice >= tx.upperPrice) {
      return refuse(
        "INVALID_PRICE_RANGE",
        `Lower price has to be below upper price: received ${tx.lowerPrice} and ${tx.upperPrice}`,
      );
    }
    if (context.nowMs > tx.deadline) {
      return refuse(
        "QUOTE_EXPIRED",
        `Quote expired at ${tx.deadline}: it is ${context.nowMs}; request a new quote`,
      );
    }
    const badWindow = windowRefusal(tx, context.nowMs, context.maxStartAheadMs);
    if (badWindow !== undefined) return badWindow;
    if (quoteHash !== undefined && this.#theses.hasQuote(quoteHash)) {
      return refuse(
        "QUOTE_ALREADY_USED",
        `Quote ${quoteHash} has already opened a thesis; request a new quote`,
      );
    }
    if (!context.isFresh(market)) {
      return refuse(
        "ORACLE_STALE",
        `Price of ${market.symbol} is stale: no new theses on it until the oracle has a fresh one`,
      );
    }
    const breach = context.breachOf(tx);
    if (breach !== undefined) return rangeBroken(tx, breach);
    for (const [address, amount] of stakesOf(tx)) {
      const balance = this.#accounts.balance(address);
      if (balance < amount) {
        return refuse(
          "INSUFFICIENT_BALANCE",
          `Balance of ${address} is ${balance}: the thesis takes ${amount} from it; deposit more`,
        );
      }
    }
  }

  #backfillRefusal(tx: BackfillOracle, context: ExecutionContext): Refusal | undefined {
    if (!this.#accounts.holds("admin", tx.from)) return lacksPermission(tx.from, "admin");
    if (context.marketOf(tx) === undefined) return unsupportedPair(tx);
    const lastMs = tx.startTime + (tx.prices.length - 1) * SLOT_MS;
    if (lastMs > context.newestSlotMs) {
      return refuse(
        "INVALID_TIME_RANGE",
        `Slots up to ${context.newestSlotMs} can be filled: received one at ${lastMs}`,
      );
    }
  }

  #deposit(tx: Deposit): void {
    this.#externalHashes.add(tx.externalTxHash);
    this.#accounts.credit(tx.user, tx.amount);
    this.#issued += tx.amount;
  }

  #open(tx: RfqSubmit, { receipt, quoteHash, atMs }: TransactionRecord): Thesis {
    if (quoteHash === undefined) throw new TypeError("Record of RfqSubmit has no quote hash");
    for (const [address, amount] of stakesOf(tx)) {
      this.#accounts.credit(address, -amount);
      this.#accounts.lock(address, amount);
    }
    const { user, from: solver, payout } = tx;
    const thesis: Thesis = {
      id: receipt.thesisId ?? this.#theses.lastId + 1,
      ...{ user, solver, ...betTermsOf(tx), payout },
      createdAt: atMs,
      quoteHash,
      txHash: receipt.txHash,
      status: "open",
    };
    this.#theses.add(thesis);
    return thesis;
  }
}
