import { z } from "zod";
import { type Clock, waitMs } from "../../lib/clock.ts";
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

/** Trades per page: the limit of Binance. Another endpoint's pages may be shorter. */
const PAGE_TRADES = 1_000;

/** Pages per span: a million trades, far more than ten minutes have. */
const TRADE_PAGES_MAX = 1_000;

/** The exchange may list a trade this late: an earlier answer can lack the last ones of a span. */
export const HISTORY_LAG_MS = 3_000;

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

/**
 * The trades of a market in a time span, in order.
 *
 * @param symbol The market as its exchange names it.
 */
export type TradeSource = (symbol: string, span: TimeSpan) => AsyncIterable<PastTrade>;

/**
 * Trades from Binance's `GET /api/v3/aggTrades`, or an endpoint with the same API. A span that has
 * just ended is read when all of its trades can be: a slot keeps the first price that it gets.
 *
 * @param headMs Time of the newest block, Unix milliseconds.
 * @throws {ExchangeHistoryError} While they are read: the endpoint refuses, or every attempt fails.
 */
export function exchangeTrades(
  history: Pick<ExchangeHistory, "readPage">,
  clock: Clock,
  headMs: number,
): TradeSource {
  // Spans are in the time of the chain: this clock may be wrong, and a development chain far ahead.
  const aheadMs = headMs - clock.now();
  const limit = PAGE_TRADES.toString();
  const readPage = (query: Record<string, string>) =>
    history.readPage("/api/v3/aggTrades", { ...query, limit }, pageSchema);
  return async function* (symbol, { from, to }) {
    // Never longer: this clock may be set back meanwhile.
    const untilListedMs = Math.min(to + HISTORY_LAG_MS - clock.now() - aheadMs, HISTORY_LAG_MS);
    if (untilListedMs > 0) await waitMs(clock, untilListedMs);
    const range = { startTime: from.toString(), endTime: (to - 1).toString() };
    let page = await readPage({ symbol, ...range });
    for (let pages = 1; page.length > 0; pages++) {
      for (const { p: price, T: time } of page) {
        if (time >= to) return;
        yield { time, price };
      }
      if (pages === TRADE_PAGES_MAX) {
        throw new ExchangeHistoryError(
          `${symbol} has over ${TRADE_PAGES_MAX * PAGE_TRADES} trades in one span`,
        );
      }
      const nextId = page.at(-1)!.a + 1; // the page is not empty
      page = await readPage({ symbol, fromId: nextId.toString() });
    }
  };
}

/** Trades at the price that an admin has fixed, one in every slot. */
export function fixedPriceTrades(price: bigint): TradeSource {
  return async function* (_symbol, { from, to }) {
    for (let time = from; time < to; time += SLOT_MS) yield { time, price };
  };
}
