import { z } from "zod";
import { binance } from "./binance.ts";
import {
  createReader,
  isoTimeSchema,
  listOf,
  type Provider,
  readFrame,
  tradesFrame,
} from "./provider.ts";

const readers = [
  createReader(
    z.object({
      type: z.literal("ticker"),
      product_id: z.string(),
      price: z.string(),
      time: isoTimeSchema,
      trade_id: z.int(),
    }),
    (ticker) =>
      tradesFrame([{
        symbol: ticker.product_id,
        priceText: ticker.price,
        exchangeTimeMs: ticker.time,
        sequence: ticker.trade_id,
      }]),
  ),
  createReader(
    z.object({ type: z.literal("heartbeat"), product_id: z.string(), last_trade_id: z.int() }),
    (beat) => ({
      kind: "alive",
      newest: { symbol: beat.product_id, sequence: beat.last_trade_id },
    }),
  ),
  createReader(
    z.object({
      type: z.literal("subscriptions"),
      channels: listOf(z.object({ name: z.string(), product_ids: listOf(z.string()) })),
    }),
    ({ channels }) => ({
      kind: "acknowledged",
      symbols: channels.filter((channel) => channel.name === "ticker")
        .flatMap((channel) => channel.product_ids),
    }),
  ),
  createReader(
    z.object({ type: z.literal("error"), message: z.string(), reason: z.string().optional() }),
    ({ message, reason }) => ({ kind: "refused", reason: reason ?? message }),
  ),
];

/**
 * Coinbase Exchange, ticker channel: one ticker per match; cascading matches are merged into one.
 * Its `sequence` counts messages of all channels, so it has gaps between tickers, and so has
 * `trade_id`, which only rises. The heartbeat's `last_trade_id` confirms a price, unless the ticker
 * of that trade was lost.
 */
export const coinbase: Provider = {
  name: "provider_b",
  url: "wss://ws-feed.exchange.coinbase.com",
  // One frame per product: Coinbase refuses a whole frame.
  subscribeFrames: (symbols) =>
    symbols.map((symbol) =>
      JSON.stringify({
        type: "subscribe",
        product_ids: [symbol],
        channels: ["ticker", "heartbeat"],
      })
    ),
  parse: (text) => readFrame(text, readers),
  // Coinbase sends one heartbeat a second for each product.
  liveness: { silenceMs: 5_000, streamSilenceMs: 300_000 },
  // Coinbase publishes no limit of connections: the same as for Binance.
  retry: binance.retry,
};
