import { z } from "zod";
import { HOUR_MS } from "../../../lib/time.ts";
import { createReader, type Provider, readFrame, tradesFrame } from "./provider.ts";

const tradeSchema = z.object({
  e: z.literal("aggTrade"),
  s: z.string(),
  a: z.int(),
  p: z.string(),
  T: z.int(),
});

function tradeFrame(trade: z.output<typeof tradeSchema>) {
  return tradesFrame([
    { symbol: trade.s, priceText: trade.p, exchangeTimeMs: trade.T, sequence: trade.a },
  ]);
}

const refusalSchema = z.union([
  z.object({ code: z.int(), msg: z.string() }),
  z.object({ error: z.object({ code: z.int(), msg: z.string() }) }).transform((r) => r.error),
]);

const readers = [
  createReader(z.object({ data: tradeSchema }), ({ data }) => tradeFrame(data)),
  createReader(tradeSchema, tradeFrame),
  createReader(z.object({ result: z.null(), id: z.int() }), () => ({ kind: "acknowledged" })),
  createReader(refusalSchema, ({ code, msg }) => ({ kind: "refused", reason: `${code} ${msg}` })),
  createReader(
    z.union([
      z.object({ e: z.literal("serverShutdown") }),
      z.object({ data: z.object({ e: z.literal("serverShutdown") }) }),
    ]),
    () => ({ kind: "closing", reason: "serverShutdown" }),
  ),
];

/** Binance, aggregate trade streams: every trade, numbered without gaps. */
export const binance: Provider = {
  name: "provider_a",
  url: "wss://stream.binance.com:9443/stream",
  subscribeFrames: (symbols) => [
    JSON.stringify({
      method: "SUBSCRIBE",
      params: symbols.map((symbol) => `${symbol.toLowerCase()}@aggTrade`),
      id: 1,
    }),
  ],
  parse: (text) => readFrame(text, readers),
  // Clients see no heartbeat: only trades show that the connection works, and only a trade confirms
  // a price. The three markets together have several trades a second.
  liveness: { silenceMs: 10_000, streamSilenceMs: 60_000 },
  // Limit: 300 connections in 5 minutes.
  retry: {
    initialMs: 500,
    maxMs: 2_000,
    limit: { event: "connections", burst: 90, refillMs: 1_500 },
  },
  // Binance closes every connection after 24 h.
  lifetimeMs: 23 * HOUR_MS,
};
