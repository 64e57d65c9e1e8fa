import { Hono } from "hono";
import { aggTrades } from "./history.ts";
import type { TradeLog } from "./trade_log.ts";

/** HTTP routes: the history that a backfill reads. Prints themselves go over WebSockets. */
export function exchangesApi(historyOf: (symbol: string) => TradeLog | undefined): Hono {
  const app = new Hono();
  app.get("/api/v3/aggTrades", (c) => {
    const { status, body } = aggTrades(c.req.query(), historyOf);
    return c.json(body, status);
  });
  app.notFound((c) => c.json({ error: `No route ${c.req.method} ${c.req.path}` }, 404));
  return app;
}
