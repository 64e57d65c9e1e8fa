import { z } from "zod";
import { tryParseJson } from "../../../lib/json.ts";
import { formatPrice } from "../../../lib/protocol/price.ts";
import type { Dialect } from "./dialect.ts";

const subscribeSchema = z.object({
  type: z.literal("subscribe"),
  product_ids: z.array(z.string()).min(1).max(100),
  channels: z.array(z.string()).refine((channels) => channels.includes("ticker")),
});

/** Coinbase Exchange: tickers and heartbeats. */
export const coinbase: Dialect = {
  provider: "provider_b",
  path: "/coinbase",
  delayMs: 20,
  limits: { subscribeWithinMs: 5_000 },
  read(text) {
    const parsed = subscribeSchema.safeParse(tryParseJson(text));
    if (!parsed.success) return { kind: "invalid", reason: "Malformed JSON or unknown channel" };
    return { kind: "subscribe", symbols: parsed.data.product_ids };
  },
  acknowledge: (_added, all) => [
    JSON.stringify({
      type: "subscriptions",
      channels: [{ name: "ticker", product_ids: all }, { name: "heartbeat", product_ids: all }],
    }),
  ],
  refuse: (_symbols, reason) => [
    JSON.stringify({ type: "error", message: "Failed to subscribe", reason }),
  ],
  trade: (symbol, trade) =>
    JSON.stringify({
      type: "ticker",
      // The real one counts messages of all channels, so it rises by more than one between tickers.
      sequence: trade.id * 7,
      product_id: symbol,
      price: formatPrice(trade.price),
      best_bid: formatPrice(trade.price),
      best_ask: formatPrice(trade.price),
      side: trade.side,
      time: new Date(trade.timeMs).toISOString(),
      trade_id: trade.id,
      last_size: trade.amount,
    }),
  sendsNewest: true,
  heartbeat: {
    everyMs: 1_000,
    onlyIdle: false,
    frames: (subscriptions, nowMs) =>
      subscriptions.map(({ symbol, newest }) =>
        JSON.stringify({
          type: "heartbeat",
          sequence: (newest?.id ?? 0) * 7 + 1,
          last_trade_id: newest?.id ?? 0,
          product_id: symbol,
          time: new Date(nowMs).toISOString(),
        })
      ),
  },
};
