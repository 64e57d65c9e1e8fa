import { SLOT_MS } from "../../../lib/protocol/constants.ts";
import { gaussian, type RandomSource, seededRandom } from "../../../lib/random.ts";
import type { Candle } from "../../../services/solver/pricing/candle.ts";
import type { SlotPrice, SlotSource } from "../../../services/solver/backtest/slots.ts";
import { CandleMoves } from "./candle_moves.ts";

/**
 * Shares of slots in which the price moves by more than two ticks (until candles give a better
 * value), and in which it only goes to the other side of the spread: 34 and 293 of 2,073 slots of
 * recorded trades (ETH/USDT, 2 February 2023).
 */
const MOVING_SHARE = 0.0164;
const BOUNCING_SHARE = 0.1413;

/** Fewest moves of a candle that is not flat: one each to its high, low and close. */
const MOVES_MIN = 3;

/** Random walks tried per candle; the one most like the candle is used. */
const WALKS = 32;

/**
 * Makes a price for every 100 ms from candles of one length, oldest first, so that models see
 * prices much like those of production. Within each candle, the price walks from the previous close
 * to the close and touches the recorded high and low; earlier candles decide the number of moves.
 * Between moves the price is still, or bounces by a tick. The recorded prices alone therefore
 * decide a box of whole candles.
 */
export function bridgedSlots(candles: readonly Candle[], seed: number): SlotSource {
  const [first, last] = [candles[0], candles.at(-1)];
  if (first === undefined || last === undefined) throw new TypeError("Expected candles");
  return {
    fromMs: first.timeMs,
    toMs: last.timeMs + last.durationMs,
    *slots() {
      const bridge = new CandleBridge(seededRandom(seed), first.durationMs);
      for (const candle of candles) yield* bridge.slotsOf(candle);
    },
  };
}

/** Turns one candle after the other into slots. */
class CandleBridge {
  readonly #random: RandomSource;
  readonly #candleMoves: CandleMoves;
  /** The largest number that divides all prices so far. */
  #tick = 0;
  #endMs: number | undefined;
  #close = 0;

  constructor(random: RandomSource, durationMs: number) {
    this.#random = random;
    this.#candleMoves = new CandleMoves(MOVING_SHARE * durationMs / SLOT_MS);
  }

  slotsOf(candle: Candle): SlotPrice[] {
    const { timeMs, durationMs, open, high, low, close } = candle;
    for (const price of [open, high, low, close]) this.#tick = commonDivisor(this.#tick, price);
    const start = timeMs === this.#endMs ? this.#close : open;
    this.#candleMoves.add(candle, start, this.#tick);
    this.#endMs = timeMs + durationMs;
    this.#close = close;
    const count = durationMs / SLOT_MS;
    const isFlat = high === low && close === start;
    const moves = isFlat ? [] : this.#moveSlots(count);
    const path = this.#walk(candle, start, moves.length);
    let [made, bounces] = [0, false];
    return Array.from({ length: count }, (_, slot) => {
      // A slot has the price of the last trade before its start, the first one the previous close.
      if (slot === moves[made]) [made, bounces] = [made + 1, false];
      else if (!isFlat && slot > 0 && this.#random() < BOUNCING_SHARE) bounces = !bounces;
      const level = path[made] ?? start;
      const other = level - low > high - level ? level - this.#tick : level + this.#tick;
      const price = bounces && other >= low && other <= high ? other : level;
      return { timeMs: timeMs + slot * SLOT_MS, price };
    });
  }

  /** The slots that begin with a new price. */
  #moveSlots(count: number): number[] {
    const slots = new Set<number>();
    const movingShare = this.#candleMoves.perCandle / count;
    for (let slot = 1; slot < count; slot++) if (this.#random() < movingShare) slots.add(slot);
    while (slots.size < MOVES_MIN) {
      slots.add(1 + Math.floor(this.#random() * (count - 1)));
    }
    return [...slots].sort((a, b) => a - b);
  }

  /** The prices of a walk: the start, then one per move. */
  #walk({ high, low, close }: Candle, start: number, moves: number): number[] {
    const [bottom, top] = [Math.min(low, start), Math.max(high, start)];
    const shareOf = (price: number) => top === bottom ? 0 : (price - bottom) / (top - bottom);
    const [from, to] = [shareOf(start), shareOf(close)];
    let best: number[] = [];
    let nearest = Infinity;
    for (let walk = 0; walk < WALKS && moves > 0; walk++) {
      const path = this.#scaledWalk(moves);
      const distance = Math.abs(path[0]! - from) + Math.abs(path[moves]! - to); // as long as the moves
      if (distance < nearest) [best, nearest] = [path, distance];
    }
    const [first = 0, last = 0] = [best[0], best[moves]];
    const prices = best.map((share, move) => {
      const right = share + (from - first) * (1 - move / moves) + (to - last) * move / moves;
      const price = Math.round((bottom + right * (top - bottom)) / this.#tick) * this.#tick;
      return Math.max(low, Math.min(high, price));
    });
    prices[0] = start;
    if (moves > 0) prices[moves] = close;
    // If the correction has moved the high or low, the nearest price between the ends does.
    for (const [extreme, pick] of [[high, Math.max], [low, Math.min]] as const) {
      if (moves === 0 || prices.includes(extreme, 1)) continue;
      const between = prices.slice(1, -1);
      prices[1 + between.indexOf(pick(...between))] = extreme;
    }
    return prices;
  }

  /** A random walk whose lowest value is 0 and whose highest is 1. */
  #scaledWalk(moves: number): number[] {
    const path = [0];
    for (let move = 0; move < moves; move++) path.push(path[move]! + gaussian(this.#random)); // made so far
    const [lowest, highest] = [Math.min(...path), Math.max(...path)];
    return path.map((value) => (value - lowest) / (highest - lowest));
  }
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}
