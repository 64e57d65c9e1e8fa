import { z } from "zod";
import { type ExchangeHistory, ExchangeHistoryError } from "../../lib/net/exchange_history.ts";
import type { TimeSpan } from "../../lib/prices/price_slots.ts";
import { SLOT_MS } from "../../lib/protocol/constants.ts";
import { parsePrice } from "../../lib/protocol/price.ts";

/** A past trade: the source of a slot price. */
export interface PastTrade {
  /** Unix milliseconds. */
  time: number;
  /** With 6 decimals. */
  price: bigint;
}

/** Trades per page: the endpoint's own limit. */
const PAGE_TRADES = 1_000;

/** Pages per span: a million trades, far more than ten minutes have. */
const TRADE_PAGES_MAX = 1_000;

/** A price as decimal text. The value has 6 decimals. */
export const priceText = z.string().transform((text, context) => {
  const price = parsePrice(text);
  if (price !== undefined) return price;
  context.addIssue({ code: "custom", message: "Expected a price above 0, such as 2998.41" });
  return z.NEVER;
});

/** One page of the endpoint: id, price and time of each trade. */
const pageSchema = z.array(z.object({
  a: z.number().int(),
  p: priceText,
  T: z.number().int(),
}));

/** Trades from Binance's `GET /api/v3/aggTrades`, or an endpoint with the same API. */
export class TradeHistory {
  readonly #history: Pick<ExchangeHistory, "page">;

  constructor(history: Pick<ExchangeHistory, "page">) {
    this.#history = history;
  }

  /**
   * Trades of a market in a time span, in order.
   *
   * @param symbol The market as its exchange names it.
   * @throws {ExchangeHistoryError} If the endpoint refuses, or every attempt fails.
   */
  async *trades(symbol: string, { from, to }: TimeSpan): AsyncGenerator<PastTrade> {
    const range = { startTime: from.toString(), endTime: (to - 1).toString() };
    let page = await this.#page({ symbol, ...range });
    for (let pages = 1; page.length > 0; pages++) {
      for (const { p: price, T: time } of page) {
        if (time >= to) return;
        yield { time, price };
      }
      if (page.length < PAGE_TRADES) return;
      if (pages === TRADE_PAGES_MAX) {
        throw new ExchangeHistoryError(
          `${symbol} has over ${TRADE_PAGES_MAX * PAGE_TRADES} trades in one span`,
        );
      }
      const nextId = page.at(-1)!.a + 1; // the page is not empty
      page = await this.#page({ symbol, fromId: nextId.toString() });
    }
  }

  #page(query: Record<string, string>) {
    const limit = PAGE_TRADES.toString();
    return this.#history.page("/api/v3/aggTrades", { ...query, limit }, pageSchema);
  }
}

/** A history in which every slot has a trade at the price that an admin has fixed. */
export function fixedPriceHistory(price: bigint): Pick<TradeHistory, "trades"> {
  return {
    async *trades(_symbol, { from, to }) {
      for (let time = from; time < to; time += SLOT_MS) yield { time, price };
    },
  };
}
