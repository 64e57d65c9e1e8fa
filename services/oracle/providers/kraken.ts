import { z } from "zod";
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
      channel: z.literal("trade"),
      type: z.literal("update"),
      data: listOf(z.object({
        symbol: z.string(),
        price: z.string(),
        trade_id: z.int(),
        timestamp: isoTimeSchema,
      })),
    }),
    ({ data }) =>
      tradesFrame(data.map((trade) => ({
        symbol: trade.symbol,
        priceText: trade.price,
        exchangeTimeMs: trade.timestamp,
        sequence: trade.trade_id,
      }))),
  ),
  createReader(
    z.object({ channel: z.literal("heartbeat") }),
    () => ({ kind: "alive", idle: true }),
  ),
  createReader(
    z.object({
      method: z.literal("subscribe"),
      success: z.literal(true),
      result: z.object({ channel: z.literal("trade"), symbol: z.string() }),
    }),
    ({ result }) => ({ kind: "acknowledged", symbols: [result.symbol] }),
  ),
  createReader(
    z.object({
      method: z.literal("subscribe"),
      success: z.literal(false),
      error: z.string(),
      symbol: z.string().optional(),
    }),
    ({ error, symbol }) => ({
      kind: "refused",
      reason: error,
      symbols: symbol === undefined ? undefined : [symbol],
    }),
  ),
  createReader(
    z.object({
      channel: z.literal("status"),
      data: listOf(z.object({ system: z.string() })).refine((data) => data.length > 0),
    }),
    ({ data }) => {
      const offline = data.find(({ system }) => system !== "online");
      return offline === undefined
        ? { kind: "alive" }
        : { kind: "closing", reason: `status ${offline.system}` };
    },
  ),
];

/**
 * Quotes prices, which are JSON numbers here, to keep their digits. Quotes inside a JSON string are
 * escaped, so the pattern matches only keys with their numbers.
 */
function quotePrices(text: string): string {
  return text.replace(/"price"\s*:\s*([-+.\deE]+)/g, '"price":"$1"');
}

/** Kraken v2, trade channel: every trade, numbered without gaps; one update may carry several. */
export const kraken: Provider = {
  name: "provider_c",
  url: "wss://ws.kraken.com/v2",
  subscribeFrames: (symbols) => [
    JSON.stringify({
      method: "subscribe",
      params: { channel: "trade", symbol: symbols, snapshot: false },
      req_id: 1,
    }),
  ],
  parse: (text) => readFrame(quotePrices(text), readers),
  // Kraken sends a heartbeat a second while it has nothing else to send. The heartbeat names no
  // trade, so it shows that the source is quiet, but does not confirm a price. Markets with few
  // orders may have no trade for minutes.
  liveness: { silenceMs: 5_000, streamSilenceMs: 300_000 },
  // Kraken asks for at least a second between connections and for longer waits in long outages, and
  // allows about 150 in 10 minutes. Jitter shortens a wait by up to half.
  retry: {
    initialMs: 2_000,
    maxMs: 2_000,
    limit: { event: "connections", burst: 80, refillMs: 9_000 },
  },
};
