import type { NumberedTrade } from "./dialects/dialect.ts";

/**
 * The last trades of one market, for the history endpoints. Numbers rise by one, so a trade is
 * found by its number without a search.
 */
export class TradeLog {
  readonly #capacity: number;
  #trades: NumberedTrade[] = [];
  #lastId = 0;

  /** @param capacity Minimum number of trades that are kept; there may be up to twice as many. */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get newest(): NumberedTrade | undefined {
    return this.#trades.at(-1);
  }

  append(trade: Omit<NumberedTrade, "id">): NumberedTrade {
    const numbered = { ...trade, id: ++this.#lastId };
    this.#trades.push(numbered);
    if (this.#trades.length >= 2 * this.#capacity) {
      this.#trades = this.#trades.slice(-this.#capacity);
    }
    return numbered;
  }

  /** Trades with this number or a higher one, oldest first. */
  fromId(id: number, limit: number): NumberedTrade[] {
    const first = this.#trades[0]?.id ?? 1;
    const index = Math.max(0, id - first);
    return this.#trades.slice(index, index + limit);
  }

  /** Trades at `fromMs` or later and at `toMs` or earlier, oldest first. */
  between(fromMs: number, toMs: number, limit: number): NumberedTrade[] {
    return this.#trades.filter(({ timeMs }) => timeMs >= fromMs && timeMs <= toMs).slice(0, limit);
  }
}
