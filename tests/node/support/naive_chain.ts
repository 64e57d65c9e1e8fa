import type { Address, Hex } from "../../../lib/protocol/scalars.ts";
import type { BackfillOracle, Deposit, RfqSubmit } from "../../../lib/protocol/transaction.ts";
import { actors } from "./actors.ts";
import { GENESIS } from "./chain_in_memory.ts";

/** A thesis as the naive chain sees it. */
export interface NaiveThesis {
  user: Address;
  solver: Address;
  betAmount: bigint;
  payout: bigint;
  lower: bigint;
  upper: bigint;
  start: number;
  end: number;
  /** Slots that no attempt has seen inside the box yet. */
  unknown: Set<number>;
  status: "open" | "needs_backfill" | "won" | "lost";
}

/**
 * The rules of the protocol page in the plainest way there is: one market, every slot looked at one
 * by one, nothing cached, nothing on the disk.
 */
export class NaiveChain {
  readonly balances = new Map<Address, bigint>(GENESIS.balances);
  readonly theses: NaiveThesis[] = [];
  readonly externalHashes = new Set<Hex>();
  readonly quotes = new Set<string>();
  issued = [...GENESIS.balances.values()].reduce((sum, balance) => sum + balance, 0n);
  price: { value: bigint; lastUpdate: number } | undefined;
  readonly #ringSlots: number;
  readonly #maxStaleMs: number;
  readonly #recorded = new Map<number, bigint>();
  readonly #filled = new Map<number, bigint>();
  #newest = -1;

  constructor(ringSlots: number, maxStaleMs: number) {
    this.#ringSlots = ringSlots;
    this.#maxStaleMs = maxStaleMs;
  }

  /** @returns The code of the receipt's error, or "committed". */
  deposit(tx: Deposit): string {
    if (tx.from !== actors.relayer.address) return "PERMISSION_DENIED";
    if (this.externalHashes.has(tx.externalTxHash)) return "DEPOSIT_ALREADY_PROCESSED";
    this.externalHashes.add(tx.externalTxHash);
    this.#credit(tx.user, tx.amount);
    this.issued += tx.amount;
    return "committed";
  }

  /** @param quote Identifies a quote. */
  submit(tx: RfqSubmit, quote: string, nowMs: number): string {
    if (this.quotes.has(quote)) return "QUOTE_ALREADY_USED";
    if (!this.#isFresh(nowMs)) return "ORACLE_STALE";
    for (let time = Math.ceil(tx.startTime / 100) * 100; time < tx.endTime; time += 100) {
      const price = this.#at(time / 100);
      if (price !== undefined && (price < tx.lowerPrice || price > tx.upperPrice)) {
        return "RANGE_BROKEN";
      }
    }
    const isSame = tx.user === tx.from;
    const userStake = isSame ? tx.payout : tx.betAmount;
    if (this.#balance(tx.user) < userStake) return "INSUFFICIENT_BALANCE";
    if (!isSame && this.#balance(tx.from) < tx.payout - tx.betAmount) return "INSUFFICIENT_BALANCE";
    this.quotes.add(quote);
    this.#credit(tx.user, -tx.betAmount);
    this.#credit(tx.from, tx.betAmount - tx.payout);
    const unknown = new Set<number>();
    for (let time = Math.ceil(tx.startTime / 100) * 100; time < tx.endTime; time += 100) {
      unknown.add(time / 100);
    }
    this.theses.push({
      ...{ user: tx.user, solver: tx.from, betAmount: tx.betAmount, payout: tx.payout },
      ...{ lower: tx.lowerPrice, upper: tx.upperPrice, start: tx.startTime, end: tx.endTime },
      ...{ unknown, status: "open" },
    });
    return "committed";
  }

  /** Records the price if it is fresh, and settles what has ended or is broken. */
  checkpoint(timeMs: number): void {
    this.#newest = timeMs / 100;
    if (this.price !== undefined && this.#isFresh(timeMs)) {
      this.#recorded.set(this.#newest, this.price.value);
    }
    for (const thesis of this.theses) {
      if (thesis.status !== "open") continue;
      const isBroken = thesis.unknown.has(this.#newest) && this.#isOutside(this.#newest, thesis);
      if (isBroken || thesis.end <= timeMs) this.#attempt(thesis);
    }
  }

  /** Fills what is missing and within reach. @returns How many slots. */
  backfill(tx: BackfillOracle): number {
    const taken: number[] = [];
    for (const [index, price] of tx.prices.entries()) {
      const slot = tx.startTime / 100 + index;
      const isNeeded = this.theses.some((thesis) =>
        !isSettled(thesis) && slot * 100 >= thesis.start && slot * 100 < thesis.end
      );
      if (this.#at(slot) !== undefined || !(isNeeded || this.#inRing(slot))) continue;
      this.#filled.set(slot, price);
      taken.push(slot);
    }
    for (const thesis of this.theses) {
      const helped = [...thesis.unknown].filter((slot) =>
        slot >= taken[0]! && slot <= taken.at(-1)!
      );
      if (isSettled(thesis) || taken.length === 0 || helped.length === 0) continue;
      const isBroken = [...thesis.unknown].some((slot) => this.#isOutside(slot, thesis));
      if (thesis.status === "needs_backfill" || isBroken) this.#attempt(thesis);
    }
    return taken.length;
  }

  /** Tries to settle a thesis that has ended or has a breach. */
  settle(thesis: NaiveThesis, headMs: number): void {
    if (isSettled(thesis)) return;
    const isBroken = [...thesis.unknown].some((slot) => this.#isOutside(slot, thesis));
    if (isBroken || thesis.end <= headMs) this.#attempt(thesis);
  }

  /** After a killed process, everything since the last flush is lost, and so is the last price. */
  die(flushedMs: number): void {
    for (const slot of this.#recorded.keys()) {
      if (slot * 100 > flushedMs) this.#recorded.delete(slot);
    }
    this.price = undefined;
  }

  #attempt(thesis: NaiveThesis): void {
    if ([...thesis.unknown].some((slot) => this.#isOutside(slot, thesis))) {
      thesis.status = "lost";
      return this.#credit(thesis.solver, thesis.payout);
    }
    for (const slot of thesis.unknown) {
      if (this.#at(slot) !== undefined) thesis.unknown.delete(slot);
    }
    thesis.status = thesis.unknown.size === 0 ? "won" : "needs_backfill";
    if (thesis.status === "won") this.#credit(thesis.user, thesis.payout);
  }

  #isOutside(slot: number, { lower, upper }: NaiveThesis): boolean {
    const price = this.#at(slot);
    return price !== undefined && (price < lower || price > upper);
  }

  #at(slot: number): bigint | undefined {
    return (this.#inRing(slot) ? this.#recorded.get(slot) : undefined) ?? this.#filled.get(slot);
  }

  #inRing(slot: number): boolean {
    return slot <= this.#newest && slot > this.#newest - this.#ringSlots;
  }

  #isFresh(nowMs: number): boolean {
    return this.price !== undefined && nowMs - this.price.lastUpdate <= this.#maxStaleMs;
  }

  #balance(address: Address): bigint {
    return this.balances.get(address) ?? 0n;
  }

  #credit(address: Address, amount: bigint): void {
    this.balances.set(address, this.#balance(address) + amount);
  }
}

function isSettled({ status }: NaiveThesis): boolean {
  return status === "won" || status === "lost";
}
