import { type Handler, Hono } from "hono";
import type { Clock } from "../../lib/clock.ts";
import { allowReadsFrom, handleErrors } from "../../lib/http/json_api.ts";
import { documentedHandler, jsonHandler, serveDocument } from "../../lib/http/openapi.ts";
import { readyHandler } from "../../lib/http/readiness.ts";
import type { OracleMetrics } from "./metrics.ts";
import { description, operations } from "./operations.ts";
import type { PriceOracle } from "./price_oracle.ts";
import { checkReadiness, viewHealth, viewProviders } from "./status.ts";

interface OracleApiOptions {
  oracle: PriceOracle;
  clock: Clock;
  metrics: OracleMetrics;
  startedAtMs: number;
  minSources: number;
  /** Pages that may read all answers. */
  corsOrigins?: readonly string[] | undefined;
}

/** Routes of the oracle (spec: price oracle, "Endpoints"); `/health` is {@link healthHandler}. */
export function createOracleApi(
  { oracle, clock, metrics, minSources, corsOrigins }: OracleApiOptions,
): Hono {
  const app = new Hono();
  allowReadsFrom(app, corsOrigins);
  serveDocument(app, description);
  const prices = documentedHandler(operations.prices, () => {
    const end = metrics.requestSeconds.startTimer({ path: "/prices" });
    const response = new Response(oracle.board.body, {
      headers: { "content-type": "application/json", "cache-control": "no-store" },
    });
    end();
    return response;
  });
  const providers = jsonHandler(operations.providers, () => {
    const end = metrics.requestSeconds.startTimer({ path: "/providers" });
    const body = viewProviders(oracle, clock);
    end();
    return body;
  });
  app.get("/prices", prices);
  app.get("/providers", providers);
  app.get("/ready", readyHandler(operations.ready, () => checkReadiness(oracle, minSources)));
  handleErrors(app, "oracle");
  return app;
}

/** The handler of `GET /health`: 503 while no market has a price. */
export function healthHandler({ oracle, clock, startedAtMs }: OracleApiOptions): Handler {
  return documentedHandler(operations.health, (c) => {
    const body = viewHealth(oracle, clock, startedAtMs);
    return c.json(body, body.status === "unhealthy" ? 503 : 200);
  });
}
