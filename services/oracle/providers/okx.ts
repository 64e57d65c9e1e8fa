import { z } from "zod";
import {
  createReader,
  type Frame,
  listOf,
  type Provider,
  readFrame,
  tradesFrame,
} from "./provider.ts";

const millisecondsSchema = z.string().regex(/^\d{1,15}$/).transform(Number);

const channelSchema = z.object({ channel: z.literal("tickers"), instId: z.string() });

const readers = [
  createReader(
    z.object({
      arg: channelSchema,
      data: listOf(z.object({ instId: z.string(), last: z.string(), ts: millisecondsSchema })),
    }),
    ({ data }) =>
      tradesFrame(data.map((ticker) => ({
        symbol: ticker.instId,
        priceText: ticker.last,
        exchangeTimeMs: ticker.ts,
      }))),
  ),
  createReader(
    z.object({ event: z.literal("subscribe"), arg: channelSchema }),
    ({ arg }) => ({ kind: "acknowledged", symbols: [arg.instId] }),
  ),
  createReader(
    z.object({ event: z.literal("error"), code: z.string(), msg: z.string() }),
    ({ code, msg }) => ({ kind: "refused", reason: `${code} ${msg}` }),
  ),
  createReader(
    z.object({ event: z.literal("notice"), code: z.string() }),
    ({ code }) => ({ kind: "closing", reason: `notice ${code}` }),
  ),
];

const ALIVE: Frame = { kind: "alive" };

/**
 * OKX v5, tickers channel: pushed on a trade and on a change of the best bid or ask, at most about
 * every 100 ms. Each push repeats the last trade and so confirms its price; its time may be newer
 * than the trade.
 */
export const okx: Provider = {
  name: "provider_d",
  url: "wss://ws.okx.com:8443/ws/v5/public",
  subscribeFrames: (symbols) => [
    JSON.stringify({
      id: "1",
      op: "subscribe",
      args: symbols.map((instId) => ({ channel: "tickers", instId })),
    }),
  ],
  parse: (text) => text === "pong" ? ALIVE : readFrame(text, readers),
  // OKX closes a connection after 30 s without a message. Earlier pings detect a dead one sooner.
  liveness: {
    silenceMs: 10_000,
    streamSilenceMs: 60_000,
    ping: { afterMs: 5_000, text: "ping" },
  },
  // Limits: 480 subscriptions an hour, 3 connections a second.
  retry: {
    initialMs: 500,
    maxMs: 2_000,
    limit: { event: "subscriptions", burst: 110, refillMs: 10_000 },
  },
};
