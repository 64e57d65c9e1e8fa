import type { BetTerms } from "../../../lib/protocol/terms.ts";
import { type BetAtRisk, riskOf } from "./bet_at_risk.ts";

/** Numbers stored per bet, one after the other, so that a scan reads memory in order. */
const FIELDS = 5;

/** Initial capacity of a market's list, in bets; it doubles when it is full. */
const ROOM = 16;

/**
 * The bets of a book by market, to find the risk in the direction of another bet. A bet is added and
 * removed in constant time; a query scans the bets of one market.
 */
export class OverlapIndex {
  readonly #markets = new Map<string, MarketBets>();
  readonly #places = new Map<string, MarketBets>();

  /** Adds a bet. Does nothing if it is there: the terms of a quote hash never change. */
  add(quoteHash: string, bet: BetAtRisk): void {
    if (this.#places.has(quoteHash)) return;
    const key = marketOf(bet);
    let bets = this.#markets.get(key);
    if (bets === undefined) this.#markets.set(key, bets = new MarketBets());
    bets.add(quoteHash, bet);
    this.#places.set(quoteHash, bets);
  }

  /** Removes a bet. Does nothing if there is none with this quote hash. */
  delete(quoteHash: string): void {
    this.#places.get(quoteHash)?.remove(quoteHash);
    this.#places.delete(quoteHash);
  }

  /**
   * Risk of all bets that tend to win together with a bet, USDC with 6 decimals. Each counts by the
   * overlap coefficient of the ranges times that of the remaining windows: the part that both share, as
   * a share of the smaller one. So a bet counts in full if one box lies inside the other, and not at
   * all if they share no price or no time.
   */
  riskBeside(bet: BetTerms, nowMs: number): number {
    return this.#markets.get(marketOf(bet))?.riskBeside(bet, nowMs) ?? 0;
  }
}

/** The bets of one market, without gaps: the last one takes the place of one that is removed. */
class MarketBets {
  #numbers = new Float64Array(ROOM * FIELDS);
  readonly #hashes: string[] = [];
  readonly #places = new Map<string, number>();

  add(quoteHash: string, bet: BetAtRisk): void {
    const place = this.#hashes.length;
    if ((place + 1) * FIELDS > this.#numbers.length) {
      const larger = new Float64Array(this.#numbers.length * 2);
      larger.set(this.#numbers);
      this.#numbers = larger;
    }
    const { startTime, endTime, lowerPrice, upperPrice } = bet;
    const range = [Number(lowerPrice), Number(upperPrice) + 1]; // both bounds belong to the range
    this.#numbers.set([startTime, endTime, ...range, Number(riskOf(bet))], place * FIELDS);
    this.#hashes.push(quoteHash);
    this.#places.set(quoteHash, place);
  }

  remove(quoteHash: string): void {
    const place = this.#places.get(quoteHash);
    const last = this.#hashes.pop();
    if (place === undefined || last === undefined) return;
    this.#places.delete(quoteHash);
    if (last === quoteHash) return;
    const from = this.#hashes.length * FIELDS;
    this.#numbers.copyWithin(place * FIELDS, from, from + FIELDS);
    this.#hashes[place] = last;
    this.#places.set(last, place);
  }

  riskBeside({ startTime, endTime, lowerPrice, upperPrice }: BetTerms, nowMs: number): number {
    const numbers = this.#numbers;
    const end = this.#hashes.length * FIELDS;
    const start = Math.max(startTime, nowMs);
    const lower = Number(lowerPrice);
    const upper = Number(upperPrice) + 1;
    let sum = 0;
    for (let at = 0; at < end; at += FIELDS) {
      const heldStart = Math.max(numbers[at]!, nowMs); // `at` is below the length
      const heldEnd = numbers[at + 1]!;
      const sharedMs = Math.min(endTime, heldEnd) - Math.max(start, heldStart);
      if (sharedMs <= 0) continue;
      const heldLower = numbers[at + 2]!;
      const heldUpper = numbers[at + 3]!;
      const shared = Math.min(upper, heldUpper) - Math.max(lower, heldLower);
      if (shared <= 0) continue;
      const smallerMs = Math.min(endTime - start, heldEnd - heldStart);
      const smaller = Math.min(upper - lower, heldUpper - heldLower);
      sum += numbers[at + 4]! * (sharedMs / smallerMs) * (shared / smaller);
    }
    return sum;
  }
}

function marketOf({ base, quote }: BetTerms): string {
  return `${base}/${quote}`;
}
