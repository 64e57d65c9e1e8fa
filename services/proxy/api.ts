import { Hono } from "hono";
import { handleErrors, handshakeExpected, sendFailure } from "../../lib/http/json_api.ts";
import type { Cors } from "../../lib/http/cors.ts";
import type { ProxyMetrics } from "./shared/metrics.ts";

interface ProxyApiOptions {
  cors: Cors;
  metrics: ProxyMetrics;
  /** The reason why the proxy is not ready; undefined if it is. */
  notReadyReason: () => string | undefined;
}

/**
 * The routes other than `POST /` and WebSockets (spec: RPC proxy, "Endpoints"); `/health` and
 * `/metrics` are common to all services.
 */
export function createProxyApi({ cors, metrics, notReadyReason }: ProxyApiOptions): Hono {
  const app = new Hono();
  app.use(async (c, next) => {
    const startedAtMs = performance.now();
    await next();
    const tookMs = performance.now() - startedAtMs;
    metrics.countHttp(c.req.method, "proxy", c.res.status, tookMs);
  });
  app.use(cors.handle);
  app.get("/ready", (c) => {
    const reason = notReadyReason();
    return reason === undefined ? c.text("OK") : c.text(reason, 503);
  });
  app.get("/ws", (c) => {
    c.header("upgrade", "websocket");
    return sendFailure(c, handshakeExpected("/ws"));
  });
  // Answered before the routes, by `clients/rpc_endpoint.ts`; here for the methods that `/` allows.
  app.post("/", (c) => c.notFound());
  handleErrors(app, "proxy");
  return app;
}
