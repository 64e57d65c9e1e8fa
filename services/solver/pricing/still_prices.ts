import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import { DecayedMean } from "./decayed_mean.ts";

/**
 * Memory of how often the price is still. Still slots come in clusters (Kolokolov, Livieri and
 * Pirino, "Statistical inferences for price staleness", 2020).
 */
const HALF_LIFE_MS = 300_000;

/** The smallest move is forgotten after one to two of these periods. */
const TICK_MEMORY_MS = 1_800_000;

/**
 * A price within this many ticks of its last move's end has not moved: trades alternate between the
 * bid, the ask and the level behind (Roll, "A simple implicit measure of the effective bid-ask
 * spread", 1984). On a quiet market, the few larger moves decide most boxes.
 */
const BOUNCE_TICKS = 2n;

/** How often the price is still from one slot to the next, and its smallest move. */
export class StillPrices {
  readonly #still = new DecayedMean(HALF_LIFE_MS);
  #slot = -1;
  #price = 0n;
  /** The price after its last move. */
  #anchor = 0n;
  #ticksFromMs = 0;
  #tick: bigint | undefined;
  #tickBefore: bigint | undefined;

  /** Adds the price of a slot that is later than all before. */
  add(slot: number, price: bigint): void {
    const slots = slot - this.#slot;
    const moved = distance(price, this.#anchor) > BOUNCE_TICKS * (this.tick ?? 0n);
    if (this.#slot >= 0) {
      this.#still.decay(slots * SLOT_MS);
      // The prices of missing slots are unknown.
      if (slots === 1) this.#still.add(moved ? 0 : 1);
      const change = distance(price, this.#price);
      if (slots === 1 && change > 0n) this.#learnTick(slot * SLOT_MS, change);
    }
    this.#slot = slot;
    this.#price = price;
    if (moved) this.#anchor = price;
  }

  /** Expected share of the next slots in which the price does not move; 0 without data. */
  get share(): number {
    return this.#still.mean ?? 0;
  }

  /** The smallest move of the last half hour or more; undefined before the first move. */
  get tick(): bigint | undefined {
    const [now, before] = [this.#tick, this.#tickBefore];
    if (now === undefined || before === undefined) return now ?? before;
    return now < before ? now : before;
  }

  #learnTick(timeMs: number, move: bigint): void {
    if (timeMs - this.#ticksFromMs >= TICK_MEMORY_MS) {
      this.#tickBefore = this.#tick;
      this.#tick = undefined;
      this.#ticksFromMs = timeMs;
    }
    if (this.#tick === undefined || move < this.#tick) this.#tick = move;
  }
}

function distance(a: bigint, b: bigint): bigint {
  return a > b ? a - b : b - a;
}
