import { Hono } from "hono";
import type { Clock } from "../../lib/clock.ts";
import type { OracleMetrics } from "./metrics.ts";
import type { Oracle } from "./oracle.ts";
import { healthBody, providersBody } from "./status.ts";

/** What the routes answer from. */
export interface OracleApi {
  oracle: Oracle;
  clock: Clock;
  metrics: OracleMetrics;
  startedAtMs: number;
}

/** Routes of the oracle (spec: price oracle, "Endpoints"); `/health` is {@link answerHealth}. */
export function oracleApi({ oracle, clock, metrics }: OracleApi): Hono {
  const app = new Hono();
  app.get("/prices", () => {
    const end = metrics.requestSeconds.startTimer({ path: "/prices" });
    const response = new Response(oracle.board.body, {
      headers: { "content-type": "application/json", "cache-control": "no-store" },
    });
    end();
    return response;
  });
  app.get("/providers", (c) => {
    const end = metrics.requestSeconds.startTimer({ path: "/providers" });
    const body = providersBody(oracle, clock);
    end();
    return c.json(body);
  });
  app.notFound((c) => c.json({ error: `No route ${c.req.method} ${c.req.path}` }, 404));
  return app;
}

/** Answers `GET /health`: 503 while no pair has a price. */
export function answerHealth({ oracle, clock, startedAtMs }: OracleApi): Response {
  const body = healthBody(oracle, clock, startedAtMs);
  return Response.json(body, { status: body.status === "unhealthy" ? 503 : 200 });
}
