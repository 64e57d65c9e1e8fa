import type { BetTerms } from "../../../lib/protocol/terms.ts";
import { type BetAtRisk, riskOf } from "./bet_at_risk.ts";

/** Numbers stored per bet, one after the other, so that a scan reads memory in order. */
const FIELDS = 5;

/** Initial capacity of a market's list, in bets; it doubles when it is full. */
const INITIAL_CAPACITY = 16;

/**
 * Bets by market, to find the risk in the direction of another bet. A bet is added and removed in
 * constant time; a query scans the bets of one market.
 */
export class OverlapIndex {
  readonly #markets = new Map<string, MarketBets>();

  /** Adds a bet that is not there yet. */
  add(quoteHash: string, bet: BetAtRisk): void {
    const key = marketOf(bet);
    let bets = this.#markets.get(key);
    if (bets === undefined) this.#markets.set(key, bets = new MarketBets());
    bets.add(quoteHash, bet);
  }

  /** Removes a bet. Does nothing if it is not there. */
  delete(quoteHash: string, bet: BetTerms): void {
    this.#markets.get(marketOf(bet))?.delete(quoteHash);
  }

  /**
   * Risk of all bets that tend to win together with a bet, USDC with 6 decimals. Each counts by the
   * overlap coefficient of the ranges times that of the remaining windows: the part that both share, as
   * a share of the smaller one. So a bet counts in full if one box lies inside the other, and not at
   * all if they share no price or no time.
   */
  correlatedRisk(bet: BetTerms, nowMs: number): number {
    return this.#markets.get(marketOf(bet))?.correlatedRisk(bet, nowMs) ?? 0;
  }
}

/** The bets of one market, without gaps: the last one moves to the slot of one that is removed. */
class MarketBets {
  #numbers = new Float64Array(INITIAL_CAPACITY * FIELDS);
  readonly #hashes: string[] = [];
  readonly #slots = new Map<string, number>();

  add(quoteHash: string, bet: BetAtRisk): void {
    const slot = this.#hashes.length;
    if ((slot + 1) * FIELDS > this.#numbers.length) {
      const larger = new Float64Array(this.#numbers.length * 2);
      larger.set(this.#numbers);
      this.#numbers = larger;
    }
    const { startTime, endTime, lowerPrice, upperPrice } = bet;
    const range = [Number(lowerPrice), Number(upperPrice) + 1]; // both bounds belong to the range
    this.#numbers.set([startTime, endTime, ...range, Number(riskOf(bet))], slot * FIELDS);
    this.#hashes.push(quoteHash);
    this.#slots.set(quoteHash, slot);
  }

  delete(quoteHash: string): void {
    const slot = this.#slots.get(quoteHash);
    if (slot === undefined) return;
    const last = this.#hashes.pop()!; // it has a slot, so the list is not empty
    this.#slots.delete(quoteHash);
    if (last === quoteHash) return;
    const from = this.#hashes.length * FIELDS;
    this.#numbers.copyWithin(slot * FIELDS, from, from + FIELDS);
    this.#hashes[slot] = last;
    this.#slots.set(last, slot);
  }

  correlatedRisk({ startTime, endTime, lowerPrice, upperPrice }: BetTerms, nowMs: number): number {
    const numbers = this.#numbers;
    const end = this.#hashes.length * FIELDS;
    const start = Math.max(startTime, nowMs);
    const lower = Number(lowerPrice);
    const upper = Number(upperPrice) + 1;
    let sum = 0;
    for (let at = 0; at < end; at += FIELDS) {
      const otherStart = Math.max(numbers[at]!, nowMs); // `at` is below the length
      const otherEnd = numbers[at + 1]!;
      const sharedMs = Math.min(endTime, otherEnd) - Math.max(start, otherStart);
      if (sharedMs <= 0) continue;
      const otherLower = numbers[at + 2]!;
      const otherUpper = numbers[at + 3]!;
      const shared = Math.min(upper, otherUpper) - Math.max(lower, otherLower);
      if (shared <= 0) continue;
      const smallerMs = Math.min(endTime - start, otherEnd - otherStart);
      const smaller = Math.min(upper - lower, otherUpper - otherLower);
      sum += numbers[at + 4]! * (sharedMs / smallerMs) * (shared / smaller);
    }
    return sum;
  }
}

function marketOf({ base, quote }: BetTerms): string {
  return `${base}/${quote}`;
}
