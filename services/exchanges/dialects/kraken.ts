import { z } from "zod";
import { tryParseJson } from "../../../lib/json.ts";
import { formatPrice } from "../../../lib/protocol/price.ts";
import type { Dialect } from "./dialect.ts";

const pingSchema = z.object({ method: z.literal("ping") });

const subscribeSchema = z.object({
  method: z.literal("subscribe"),
  params: z.object({
    channel: z.literal("trade"),
    symbol: z.array(z.string()).min(1).max(100),
  }),
  req_id: z.int().optional(),
});

/** Kraken v2: trades, with prices as JSON numbers, and a heartbeat when idle. */
export const kraken: Dialect = {
  provider: "provider_c",
  path: "/kraken/v2",
  delayMs: 35,
  // Kraken asks for a second between connections. Two allow for a second client.
  limits: { connections: { count: 2, windowMs: 1_000 } },
  read(text) {
    const frame = tryParseJson(text);
    if (pingSchema.safeParse(frame).success) return { kind: "ping" };
    const parsed = subscribeSchema.safeParse(frame);
    if (!parsed.success) return { kind: "invalid", reason: "Malformed request" };
    return { kind: "subscribe", symbols: parsed.data.params.symbol, id: parsed.data.req_id };
  },
  acknowledge: (added, _all, id) =>
    added.map((symbol) =>
      JSON.stringify({
        method: "subscribe",
        result: { channel: "trade", symbol, snapshot: false },
        success: true,
        req_id: id,
      })
    ),
  refuse: (symbols, reason, id) =>
    (symbols.length === 0 ? [undefined] : symbols).map((symbol) =>
      JSON.stringify({ method: "subscribe", success: false, error: reason, symbol, req_id: id })
    ),
  trade(symbol, trade) {
    const fields = [
      `"symbol":${JSON.stringify(symbol)}`,
      `"side":"${trade.side}"`,
      // As decimal text: a float would lose the trailing zeros that Kraken sends.
      `"price":${formatPrice(trade.price)}`,
      `"qty":${trade.amount}`,
      `"ord_type":"limit"`,
      `"trade_id":${trade.id}`,
      `"timestamp":"${new Date(trade.timeMs).toISOString()}"`,
    ];
    return `{"channel":"trade","type":"update","data":[{${fields.join(",")}}]}`;
  },
  sendsNewest: false,
  heartbeat: {
    everyMs: 1_000,
    onlyIdle: true,
    frames: () => [JSON.stringify({ channel: "heartbeat" })],
  },
  pong: JSON.stringify({ method: "pong" }),
  shutdownNotice: JSON.stringify({
    channel: "status",
    type: "update",
    data: [{ system: "maintenance", api_version: "v2", version: "2.0.0" }],
  }),
};
