import { Hono } from "hono";
import { z } from "zod";
import { allowReaders, answerFailures } from "../../lib/http/envelope.ts";
import { describeInput } from "../../lib/protocol/scalars.ts";
import { aggregateTrade } from "./dialects/binance.ts";
import type { TradeLog } from "./trades.ts";

const numberSchema = z.string().regex(/^\d{1,15}$/, "Expected a number").transform(Number);

/** The query of `GET /api/v3/aggTrades`. */
const querySchema = z.object({
  symbol: z.string({ error: "Expected a symbol" }),
  fromId: numberSchema.optional(),
  startTime: numberSchema.optional(),
  endTime: numberSchema.optional(),
  limit: numberSchema.default(500).transform((limit) => Math.min(Math.max(limit, 1), 1_000)),
});

/** An answer of the history endpoint in Binance's format. */
export interface HistoryAnswer {
  status: 200 | 400;
  body: unknown;
}

/**
 * Answers Binance's `GET /api/v3/aggTrades`: by `fromId`, by `startTime` and `endTime` (both
 * included), or the newest trades.
 */
export function aggTrades(
  query: Record<string, string>,
  logOf: (symbol: string) => TradeLog | undefined,
): HistoryAnswer {
  const parsed = querySchema.safeParse(query);
  if (!parsed.success) return refusal(-1100, describeInput(parsed.error, query));
  const { symbol, fromId, startTime, endTime, limit } = parsed.data;
  const log = logOf(symbol);
  if (log === undefined) return refusal(-1121, "Invalid symbol.");
  if (fromId !== undefined && (startTime !== undefined || endTime !== undefined)) {
    return refusal(-1128, "Combination of optional parameters invalid.");
  }
  const trades = fromId !== undefined
    ? log.fromId(fromId, limit)
    : startTime !== undefined || endTime !== undefined
    ? log.between(startTime ?? 0, endTime ?? Infinity, limit)
    : log.fromId((log.newest?.id ?? 0) - limit + 1, limit);
  return { status: 200, body: trades.map(aggregateTrade) };
}

function refusal(code: number, msg: string): HistoryAnswer {
  return { status: 400, body: { code, msg } };
}

/** HTTP routes: the history that a backfill reads. New trades go over WebSockets. */
export function exchangesApi(
  historyOf: (symbol: string) => TradeLog | undefined,
  corsOrigins?: readonly string[],
): Hono {
  const app = new Hono();
  allowReaders(app, corsOrigins);
  app.get("/api/v3/aggTrades", (c) => {
    const { status, body } = aggTrades(c.req.query(), historyOf);
    return c.json(body, status);
  });
  answerFailures(app, "exchanges");
  return app;
}
