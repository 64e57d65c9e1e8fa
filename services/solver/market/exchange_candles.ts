import { z } from "zod";
import {
  EXCHANGE_HISTORY_PROVIDER,
  type ExchangeHistory,
  ExchangeHistoryError,
} from "../../../lib/net/exchange_history.ts";
import type { TimeSpan } from "../../../lib/prices/price_slots.ts";
import { exchangeSymbol, type Market, PRICE_DECIMALS } from "../../../lib/protocol/markets.ts";
import { type Candle, CANDLE_MS } from "../pricing/candle.ts";

/** Candles per page: the limit of Binance. Another endpoint's pages may be shorter. */
const PAGE_CANDLES = 1_000;

const PRICE_RULE = "Expected a price above 0";

/** A price in the unit of slots, so that slots can continue candles. */
const priceSchema = z.string().regex(/^\d{1,12}(\.\d{1,18})?$/, PRICE_RULE)
  .transform((text) => Number(text) * 10 ** PRICE_DECIMALS)
  .refine((price) => price > 0, PRICE_RULE);

/** Start, open, high, low and close of each candle; volumes follow. */
export const candlePageSchema = z.array(
  z.tuple([z.number().int(), priceSchema, priceSchema, priceSchema, priceSchema], z.unknown())
    .transform(([timeMs, open, high, low, close]): Candle => ({
      timeMs,
      durationMs: CANDLE_MS,
      open,
      high,
      low,
      close,
    }))
    .refine(
      ({ open, high, low, close }) => low <= Math.min(open, close) && high >= Math.max(open, close),
      "Expected a candle whose low and high include open and close",
    ),
).max(PAGE_CANDLES);

/**
 * Candles of a minute from an exchange's history, oldest first.
 *
 * @param span Aligned to minutes.
 * @throws {ExchangeHistoryError} If it cannot be read, or its candles are not those of the span.
 */
export async function* readExchangeCandles(
  history: ExchangeHistory,
  market: Market,
  { from, to }: TimeSpan,
  signal: AbortSignal,
): AsyncGenerator<Candle> {
  const symbol = exchangeSymbol(market, EXCHANGE_HISTORY_PROVIDER);
  let next = from;
  while (next < to) {
    const query = {
      symbol,
      interval: "1m",
      startTime: next.toString(),
      endTime: (to - 1).toString(),
      limit: PAGE_CANDLES.toString(),
    };
    const page = await history.readPage("/api/v3/klines", query, candlePageSchema, signal);
    for (const candle of page) {
      if (candle.timeMs < next || candle.timeMs >= to || candle.timeMs % CANDLE_MS !== 0) {
        throw new ExchangeHistoryError(
          `Candle of ${symbol} at ${candle.timeMs} is not one of the minutes from ${next} to ${to}`,
        );
      }
      yield candle;
      next = candle.timeMs + CANDLE_MS;
    }
    // The rest does not exist: the exchange was down, or does not have the last minutes yet.
    if (page.length === 0) return;
  }
}
