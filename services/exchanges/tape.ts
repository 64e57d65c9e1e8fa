import { spanMs, type TapeRow } from "../../lib/prices/tape.ts";
import { PROVIDER_NAMES } from "../../lib/protocol/providers.ts";
import type { Trade, TradeSource } from "./trade.ts";

/**
 * A recording as a source of trades: played from `startMs` on at the pace it was recorded, again and
 * again. Every venue sees every trade.
 */
export class Tape implements TradeSource {
  readonly #rows: readonly TapeRow[];
  readonly #market: string;
  readonly #loopMs: number;
  #shiftMs: number;
  #position = 0;

  /** @param rows What `parseTape` gave. */
  constructor(rows: readonly TapeRow[], market: string, startMs: number) {
    this.#rows = rows;
    this.#market = market;
    // Between the last trade and the first again lies what lies between two trades on average.
    this.#loopMs = spanMs(rows) + Math.max(1, Math.round(spanMs(rows) / (rows.length - 1)));
    this.#shiftMs = startMs - (rows[0]?.timeMs ?? 0);
  }

  next(): Trade {
    const venues = PROVIDER_NAMES.length;
    const row = this.#rows[Math.floor(this.#position / venues)];
    const provider = PROVIDER_NAMES[this.#position % venues];
    if (row === undefined || provider === undefined) {
      this.#position = 0;
      this.#shiftMs += this.#loopMs;
      return this.next();
    }
    this.#position += 1;
    return { ...row, provider, market: this.#market, timeMs: row.timeMs + this.#shiftMs };
  }
}
