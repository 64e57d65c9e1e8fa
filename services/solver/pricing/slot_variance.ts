import { SLOT_MS } from "../../../lib/prices/price_slots.ts";
import { DecayedMean } from "./decayed_mean.ts";
import type { DecayedVariance } from "./volatility_kernel.ts";

/** Slots between the two prices of a slow return: 5 s, where the move is well above the noise. */
const SLOW_SLOTS = 50;

/** Memory of the variance: the last minute, which one-minute candles do not contain yet. */
const HALF_LIFE_MS = 60_000;

/** A move counts as at most this many times the mean absolute move, to limit the effect of jumps. */
const JUMP_MOVES_MAX = 8;

/** Moves before a jump can be recognised. */
const MOVES_MIN = 5;

/** Slots at the start that only determine the usual move. */
const LEARNING_SLOTS = 10;

/**
 * Variance from prices 100 ms apart, on two time scales: the mean square of slow returns contains the
 * move of 5 s and the noise of two prices, that of fast returns the move of 100 ms and the same noise;
 * their difference is free of it (Zhang, Mykland and Aït-Sahalia, "A tale of two time scales", 2005).
 * Jumps are cut before (threshold estimator of Mancini, 2009).
 *
 * Slow returns begin at every slot, so they overlap and use every price.
 */
export class SlotVariance {
  readonly #slow = new DecayedMean(HALF_LIFE_MS);
  readonly #fast = new DecayedMean(HALF_LIFE_MS);
  /** Mean absolute move of slots that moved. */
  readonly #moves = new DecayedMean(HALF_LIFE_MS);
  /** The newest values of the path without jumps by slot; `#slots` says which slot each belongs to. */
  readonly #path = new Float64Array(SLOW_SLOTS + 1);
  readonly #slots = new Float64Array(SLOW_SLOTS + 1).fill(-1);
  #first = -1;
  #newest = -1;
  #log = 0;
  #value = 0;
  #returns = 0;

  /** Adds the price of a slot that is later than all before; slots may be left out. */
  add(slot: number, price: number): void {
    const log = Math.log(price);
    if (this.#newest < 0) this.#first = slot;
    else this.#move(slot - this.#newest, log - this.#log);
    this.#log = log;
    const before = this.#valueAt(slot - 1);
    const longBefore = this.#valueAt(slot - SLOW_SLOTS);
    // Both or neither, so that the noise in one is the noise in the other. The first slow return
    // begins after the moves that jumps are recognised by.
    if (
      before !== undefined && longBefore !== undefined &&
      slot >= this.#first + LEARNING_SLOTS + SLOW_SLOTS
    ) {
      this.#fast.add((this.#value - before) ** 2);
      this.#slow.add((this.#value - longBefore) ** 2);
      this.#returns += 1;
    }
    const place = slot % this.#path.length;
    this.#path[place] = this.#value;
    this.#slots[place] = slot;
    this.#newest = slot;
  }

  /** Time covered by prices so far, in milliseconds; 0 before the first return. */
  get historyMs(): number {
    return this.#returns === 0 ? 0 : (this.#returns + LEARNING_SLOTS + SLOW_SLOTS) * SLOT_MS;
  }

  /** The variance, or undefined before the first return; 0 where noise explains all moves. */
  get variance(): DecayedVariance | undefined {
    const slow = this.#slow.mean;
    const fast = this.#fast.mean;
    if (slow === undefined || fast === undefined) return undefined;
    const perMs = Math.max(0, slow - fast) / ((SLOW_SLOTS - 1) * SLOT_MS);
    return { halfLifeMs: HALF_LIFE_MS, perMs };
  }

  /** Moves the path, by no more than a jump may count. */
  #move(slots: number, move: number): void {
    for (const mean of [this.#slow, this.#fast, this.#moves]) mean.fade(slots * SLOT_MS);
    const typical = this.#moves.weight >= MOVES_MIN ? this.#moves.mean : undefined;
    const limit = (typical ?? Infinity) * JUMP_MOVES_MAX * Math.sqrt(slots);
    const cut = Math.max(-limit, Math.min(limit, move));
    if (cut !== 0) this.#moves.add(Math.abs(cut) / Math.sqrt(slots));
    this.#value += cut;
  }

  #valueAt(slot: number): number | undefined {
    const place = slot % this.#path.length;
    return slot >= 0 && this.#slots[place] === slot ? this.#path[place] : undefined;
  }
}
