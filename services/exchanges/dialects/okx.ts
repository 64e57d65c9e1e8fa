import { z } from "zod";
import { HOUR_MS } from "../../../lib/time.ts";
import { tryParseJson } from "../../../lib/json.ts";
import { formatPrice } from "../../../lib/protocol/price.ts";
import type { Dialect } from "./dialect.ts";

const subscribeSchema = z.object({
  id: z.string().optional(),
  op: z.literal("subscribe"),
  args: z.array(z.object({ channel: z.literal("tickers"), instId: z.string() })).min(1).max(100),
});

const CONNECTION_ID = "a4d3ae55";

/** OKX v5: tickers, and a text pong for a text ping. */
export const okx: Dialect = {
  provider: "provider_d",
  path: "/okx/ws/v5/public",
  delayMs: 50,
  limits: {
    connections: { count: 3, windowMs: 1_000 },
    subscriptions: { count: 480, windowMs: HOUR_MS },
    idleMs: 30_000,
  },
  read(text) {
    if (text === "ping") return { kind: "ping" };
    const parsed = subscribeSchema.safeParse(tryParseJson(text));
    if (!parsed.success) return { kind: "invalid", reason: "Invalid request" };
    const { args, id } = parsed.data;
    return { kind: "subscribe", symbols: args.map((arg) => arg.instId), id };
  },
  acknowledge: (added, _all, id) =>
    added.map((instId) =>
      JSON.stringify({
        id,
        event: "subscribe",
        arg: { channel: "tickers", instId },
        connId: CONNECTION_ID,
      })
    ),
  refuse: (symbols, reason, id) => [
    JSON.stringify({
      id,
      event: "error",
      code: symbols.length === 0 ? "60012" : "60018",
      msg: reason,
      connId: CONNECTION_ID,
    }),
  ],
  trade(symbol, trade) {
    const price = formatPrice(trade.price);
    return JSON.stringify({
      arg: { channel: "tickers", instId: symbol },
      data: [{
        instType: "SPOT",
        instId: symbol,
        last: price,
        lastSz: trade.amount,
        askPx: price,
        bidPx: price,
        ts: String(trade.timeMs),
      }],
    });
  },
  sendsNewest: true,
  pong: "pong",
  shutdownNotice: JSON.stringify({
    event: "notice",
    code: "64008",
    msg: "The connection will soon be closed for a service upgrade. Please reconnect.",
    connId: CONNECTION_ID,
  }),
};
