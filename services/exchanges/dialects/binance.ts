import { z } from "zod";
import { tryParseJson } from "../../../lib/json.ts";
import { formatPrice } from "../../../lib/protocol/price.ts";
import { DAY_MS } from "../../../lib/time.ts";
import type { Dialect, NumberedTrade } from "./dialect.ts";

const STREAM_PATTERN = /^([a-z0-9]+)@aggTrade$/;

const subscribeSchema = z.object({
  method: z.literal("SUBSCRIBE"),
  params: z.array(z.string().regex(STREAM_PATTERN)).min(1).max(1_024),
  id: z.int(),
});

/** Binance: combined streams of aggregate trades. */
export const binance: Dialect = {
  provider: "provider_a",
  path: "/binance/stream",
  delayMs: 5,
  limits: {
    connections: { count: 300, windowMs: 300_000 },
    messages: { count: 5, windowMs: 1_000 },
    lifetimeMs: DAY_MS,
  },
  read(text) {
    const parsed = subscribeSchema.safeParse(tryParseJson(text));
    if (!parsed.success) return { kind: "invalid", reason: "Invalid request" };
    const { params, id } = parsed.data;
    const symbols = params.map((stream) => stream.replace(STREAM_PATTERN, "$1").toUpperCase());
    return { kind: "subscribe", symbols, id };
  },
  acknowledge: (_added, _all, id) => [JSON.stringify({ result: null, id })],
  refuse: (_symbols, reason) => [JSON.stringify({ code: 2, msg: reason })],
  trade: (symbol, trade) =>
    JSON.stringify({
      stream: `${symbol.toLowerCase()}@aggTrade`,
      data: {
        e: "aggTrade",
        E: trade.timeMs,
        s: symbol,
        ...aggregateTrade(trade),
      },
    }),
  sendsNewest: false,
  shutdownNotice: JSON.stringify({ e: "serverShutdown" }),
};

/** The fields of an aggregate trade, the same in stream and history. */
export function aggregateTrade(trade: NumberedTrade) {
  return {
    a: trade.id,
    p: formatPrice(trade.price),
    q: trade.amount,
    f: trade.id,
    l: trade.id,
    T: trade.timeMs,
    m: trade.side === "sell",
    M: true,
  };
}
