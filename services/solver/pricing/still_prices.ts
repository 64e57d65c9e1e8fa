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
 * One in this many moves may be smaller than the tick: an exchange may report a trade between two
 * steps of its prices.
 */
const MOVES_PER_ODD_ONE = 100;

/** Small moves that are kept: with a move in every slot, as many may be odd. */
const SMALL_MOVES_MAX = 1 + TICK_MEMORY_MS / SLOT_MS / MOVES_PER_ODD_ONE;

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
  /** The smallest moves of this period, ascending, and how many moves there were. */
  #smallMoves: bigint[] = [];
  #moves = 0;
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

  /**
   * The smallest move of the last half hour or more, without the one in a hundred that are odd;
   * undefined before the first move.
   */
  get tick(): bigint | undefined {
    const [now, before] = [this.#tickNow, this.#tickBefore];
    if (now === undefined || before === undefined) return now ?? before;
    return now < before ? now : before;
  }

  get #tickNow(): bigint | undefined {
    return this.#smallMoves[Math.floor(this.#moves / MOVES_PER_ODD_ONE)];
  }

  #learnTick(timeMs: number, move: bigint): void {
    if (timeMs - this.#ticksFromMs >= TICK_MEMORY_MS) {
      this.#tickBefore = this.#tickNow;
      this.#smallMoves = [];
      this.#moves = 0;
      this.#ticksFromMs = timeMs;
    }
    this.#moves += 1;
    // From the largest on: most moves end here at once.
    const place = this.#smallMoves.findLastIndex((small) => small <= move) + 1;
    if (place === SMALL_MOVES_MAX) return;
    this.#smallMoves.splice(place, 0, move);
    if (this.#smallMoves.length > SMALL_MOVES_MAX) this.#smallMoves.pop();
  }
}

function distance(a: bigint, b: bigint): bigint {
  return a > b ? a - b : b - a;
}
