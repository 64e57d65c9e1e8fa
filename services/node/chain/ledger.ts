import type { Account, Permission } from "../../../lib/protocol/account.ts";
import type { Market, MarketPair } from "../../../lib/protocol/markets.ts";
import type { Receipt } from "../../../lib/protocol/receipt.ts";
import type { Address, Hex } from "../../../lib/protocol/scalars.ts";
import type { Thesis } from "../../../lib/protocol/thesis.ts";
import { betOf, type Box } from "../../../lib/protocol/bet.ts";
import type {
  BackfillOracle,
  Deposit,
  RfqSubmit,
  Transaction,
} from "../../../lib/protocol/transaction.ts";
import type { PricePoint, TimeSpan } from "../../../lib/prices/price_slots.ts";
import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import type { ChainRecords } from "../store/chain_records.ts";
import { hashKey, type PermissionLists, quoteKey, type StoredThesis } from "../store/schema.ts";
import {
  quoteSignatureRefusal,
  type Refusal,
  refuse,
  stakesOf,
  windowRefusal,
} from "./refusals.ts";
import type { Outcome } from "./settlement.ts";

/** Bounds of new theses. */
export interface ThesisLimits {
  /** USDC with 6 decimals. */
  minBetAmount: bigint;
  /** How far ahead of its submission a window may start. */
  maxStartAheadMs: number;
}

/** The context in which a transaction is evaluated. */
export interface EvaluationContext {
  /** Number of the block that the next checkpoint seals. */
  blockNumber: number;
  /** Unix milliseconds. */
  nowMs: number;
  marketOf(pair: MarketPair): Market | undefined;
  /** Whether bets on a market are accepted (spec: price oracle, States: fresh). */
  isFresh(market: Market): boolean;
  limits: ThesisLimits;
  /** The first recorded price of the window that is outside the range of a thesis. */
  breachOf(box: Box & MarketPair): PricePoint | undefined;
  /** Newest slot of a checkpoint, in Unix milliseconds. Later slots cannot be backfilled. */
  newestSlotMs: number;
}

/** Values that a thesis must have. */
type LedgerFilter = { [Name in "user" | "solver" | "status"]?: Thesis[Name] | undefined };

/** A transaction that was signed by its sender, with the receipt that it gets. */
export interface EvaluatedTransaction {
  tx: Transaction;
  receipt: Receipt;
  /** Only of an `RfqSubmit`. */
  quoteHash?: Hex | undefined;
  /** Only of a `BackfillOracle`. */
  fillableSpans?: readonly TimeSpan[];
}

/**
 * Balances, permissions, theses and receipts: the state of the chain without its prices.
 *
 * It is synchronous and uses no sockets or clocks: transactions arrive parsed and signed by their
 * senders, together with the context to evaluate them in. Unsettled theses are in memory,
 * everything else is in the records. Balances plus unsettled theses always equal deposits plus
 * genesis.
 */
export class Ledger {
  readonly #records: ChainRecords;
  readonly #holders: ReadonlyMap<Permission, ReadonlySet<Address>>;
  /** By id. */
  readonly #unsettled: Map<number, StoredThesis>;

  constructor(records: ChainRecords, { relayers, admins }: PermissionLists) {
    this.#records = records;
    this.#holders = new Map([["relayer", new Set(relayers)], ["admin", new Set(admins)]]);
    const unsettled = records.unsettledTheses();
    this.#unsettled = new Map(unsettled.map((stored) => [stored.thesis.id, stored]));
  }

  /** Unsettled theses by id, each with the prices that it lacks. */
  get unsettled(): ReadonlyMap<number, StoredThesis> {
    return this.#unsettled;
  }

  /** All theses that were not deleted, by id. */
  get theses(): Thesis[] {
    return this.thesesBetween(1, this.lastThesisId + 1);
  }

  /** The highest id of a thesis that was ever opened. */
  get lastThesisId(): number {
    return this.#records.state.lastThesisId;
  }

  /** The lowest id of a thesis that was not deleted; the next id if there is none. */
  get firstThesisId(): number {
    return this.#selectTheses("ORDER BY key LIMIT 1")[0]?.id ?? this.lastThesisId + 1;
  }

  /** The account of an address; its balance is 0 if it was never used. */
  account(address: Address): Account {
    const permissions = [...this.#holders.keys()].filter((name) => this.#has(name, address));
    return { address, ...this.#records.accounts.get(address), permissions };
  }

  /** The current state of a thesis; undefined if it never existed or was deleted. */
  findThesis(id: number): Thesis | undefined {
    return (this.#unsettled.get(id) ?? this.#records.tables.theses.get(id))?.thesis;
  }

  /**
   * Theses with an id in `[fromId, toId)` that match, by id. The database filters them: parsing a row
   * takes ten times as long.
   *
   * @param max Most theses; by default all.
   */
  thesesBetween(fromId: number, toId: number, filter: LedgerFilter = {}, max = -1): Thesis[] {
    const wanted = Object.entries(filter).flatMap(([name, value]) =>
      value === undefined ? [] : [{ name, value }]
    );
    const conditions = wanted.map(({ name }) => ` AND value ->> '$.thesis.${name}' = ?`).join("");
    return this.#selectTheses(
      `WHERE key >= ? AND key < ?${conditions} ORDER BY key LIMIT ?`,
      ...[fromId, toId],
      ...wanted.map(({ value }) => value),
      max,
    );
  }

  findReceipt(txHash: Hex): Receipt | undefined {
    return this.#records.tables.receipts.get(hashKey(txHash))?.receipt;
  }

  /**
   * Whether the failure of a transaction is recorded. It is not if the sender lacks the permission
   * for the type, or never had a balance: anyone can sign such transactions, and their receipts
   * could fill the disk.
   */
  recordsFailureOf(tx: Transaction): boolean {
    if (tx.type === "Deposit") return this.#has("relayer", tx.from);
    if (tx.type === "BackfillOracle") return this.#has("admin", tx.from);
    return this.#records.accounts.has(tx.from);
  }

  /** Records the receipt of a transaction. A failed transaction has no other effect. */
  record(receipt: Receipt, atMs: number): void {
    this.#records.tables.receipts.add(hashKey(receipt.txHash), { receipt, atMs });
  }

  /** The receipt that a new transaction would get now. */
  evaluate(
    { tx, quoteHash }: Omit<EvaluatedTransaction, "receipt">,
    txHash: Hex,
    context: EvaluationContext,
  ): Receipt {
    const { blockNumber } = context;
    const error = this.#refusalOf(tx, quoteHash, context);
    if (error !== undefined) return { txHash, status: "failed", blockNumber, error };
    const receipt: Receipt = { txHash, status: "committed", blockNumber };
    return tx.type === "RfqSubmit" ? { ...receipt, thesisId: this.lastThesisId + 1 } : receipt;
  }

  /**
   * Applies a committed transaction with its receipt.
   *
   * @returns The thesis it opened, if any.
   */
  apply(evaluated: EvaluatedTransaction, atMs: number): Thesis | undefined {
    const { tx, receipt } = evaluated;
    this.record(receipt, atMs);
    if (tx.type === "Deposit") this.#deposit(tx);
    if (tx.type === "RfqSubmit") return this.#open(tx, evaluated, atMs);
  }

  /**
   * Settles a thesis and pays the whole payout to the winner, or marks it as `needs_backfill`.
   *
   * @throws {RangeError} If the thesis does not exist or is settled already.
   */
  applyOutcome(id: number, outcome: Outcome, settledAt: number): Thesis {
    const open = this.#unsettled.get(id)?.thesis;
    if (open === undefined) throw new RangeError(`Thesis to settle is not open: received ${id}`);
    const { status } = outcome;
    const { accounts, tables: { theses } } = this.#records;
    if (status === "needs_backfill") {
      const stored = { thesis: { ...open, status }, missing: outcome.missing };
      this.#unsettled.set(id, stored);
      theses.put(id, stored);
      return stored.thesis;
    }
    const thesis: Thesis = { ...open, status, settledAt };
    if (status === "lost") thesis.breach = outcome.breach;
    accounts.add(status === "won" ? open.user : open.solver, { balance: open.payout });
    accounts.add(open.user, { locked: -open.betAmount });
    accounts.add(open.solver, { locked: open.betAmount - open.payout });
    this.#unsettled.delete(id);
    theses.put(id, { thesis });
    return thesis;
  }

  #selectTheses(end: string, ...values: (number | string)[]): Thesis[] {
    return this.#records.tables.theses.select(end, ...values).map(([, { thesis }]) => thesis);
  }

  #has(permission: Permission, address: Address): boolean {
    return this.#holders.get(permission)?.has(address) ?? false;
  }

  #refusalOf(
    tx: Transaction,
    quoteHash: Hex | undefined,
    context: EvaluationContext,
  ): Refusal | undefined {
    switch (tx.type) {
      case "Deposit":
        return this.#depositRefusal(tx);
      case "RfqSubmit":
        return this.#rfqRefusal(tx, quoteHash!, context); // each has one
      case "BackfillOracle":
        return this.#backfillRefusal(tx, context);
    }
  }

  #depositRefusal(tx: Deposit): Refusal | undefined {
    const { from: address, externalTxHash } = tx;
    if (!this.#has("relayer", address)) {
      return refuse("PERMISSION_DENIED", { address, permission: "relayer" });
    }
    if (this.#records.tables.deposits.has(hashKey(externalTxHash))) {
      return refuse("DEPOSIT_ALREADY_PROCESSED", { externalTxHash });
    }
  }

  #rfqRefusal(tx: RfqSubmit, quoteHash: Hex, context: EvaluationContext): Refusal | undefined {
    const { base, quote, lowerPrice, upperPrice, betAmount, deadline } = tx;
    const { nowMs: now, limits: { minBetAmount, maxStartAheadMs } } = context;
    const badSignature = quoteSignatureRefusal(tx, quoteHash);
    if (badSignature !== undefined) return badSignature;
    const market = context.marketOf(tx);
    if (market === undefined) return refuse("UNSUPPORTED_PAIR", { base, quote });
    if (lowerPrice >= upperPrice) return refuse("INVALID_PRICE_RANGE", { lowerPrice, upperPrice });
    if (now > deadline) return refuse("QUOTE_EXPIRED", { deadline, now });
    if (betAmount < minBetAmount) return refuse("BET_TOO_SMALL", { betAmount, minBetAmount });
    const badWindow = windowRefusal(tx, now, maxStartAheadMs);
    if (badWindow !== undefined) return badWindow;
    if (this.#records.tables.quotes.has(quoteKey(tx.startTime, quoteHash))) {
      return refuse("QUOTE_ALREADY_USED", { quoteHash });
    }
    if (!context.isFresh(market)) return refuse("ORACLE_STALE", { symbol: market.symbol });
    const breach = context.breachOf(tx);
    if (breach !== undefined) return refuse("RANGE_BROKEN", { ...breach, lowerPrice, upperPrice });
    for (const [address, needed] of stakesOf(tx)) {
      const { balance } = this.#records.accounts.get(address);
      if (balance < needed) return refuse("INSUFFICIENT_BALANCE", { address, balance, needed });
    }
  }

  #backfillRefusal(tx: BackfillOracle, context: EvaluationContext): Refusal | undefined {
    const { from: address, base, quote } = tx;
    if (!this.#has("admin", address)) {
      return refuse("PERMISSION_DENIED", { address, permission: "admin" });
    }
    if (context.marketOf(tx) === undefined) return refuse("UNSUPPORTED_PAIR", { base, quote });
    const slotTime = tx.startTime + (tx.prices.length - 1) * SLOT_MS;
    const { newestSlotMs: newestSlotTime } = context;
    if (slotTime > newestSlotTime) {
      return refuse("INVALID_TIME_RANGE", { slotTime, newestSlotTime });
    }
  }

  #deposit({ user, amount, externalTxHash }: Deposit): void {
    const { accounts, tables, state } = this.#records;
    tables.deposits.add(hashKey(externalTxHash), true);
    accounts.add(user, { balance: amount });
    state.issued += amount;
  }

  #open(tx: RfqSubmit, { receipt, quoteHash }: EvaluatedTransaction, atMs: number): Thesis {
    const { accounts, tables, state } = this.#records;
    for (const [address, amount] of stakesOf(tx)) {
      accounts.add(address, { balance: -amount, locked: amount });
    }
    const { user, from: solver, payout } = tx;
    const thesis: Thesis = {
      id: receipt.thesisId ?? state.lastThesisId + 1,
      user,
      solver,
      ...betOf(tx),
      payout,
      createdAt: atMs,
      quoteHash: quoteHash!, // each has one
      txHash: receipt.txHash,
      status: "open",
    };
    state.lastThesisId = thesis.id;
    this.#unsettled.set(thesis.id, { thesis });
    tables.theses.add(thesis.id, { thesis });
    tables.quotes.add(quoteKey(thesis.startTime, thesis.quoteHash), true);
    return thesis;
  }
}
