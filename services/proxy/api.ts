import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { cors } from "hono/cors";
import type { CallerAddress } from "./caller_address.ts";
import { limitExceeded } from "./failures.ts";
import type { ProxyMetrics } from "./metrics.ts";
import { failureText, type Router } from "./router.ts";

/** What the routes work with. */
export interface ApiOptions {
  router: Router;
  metrics: ProxyMetrics;
  /** Origins that browsers may call from; `*` alone for all. */
  corsOrigins: readonly string[];
  maxBodyBytes: number;
  addressOf: (request: Request, remote: string) => CallerAddress;
  /** Why the proxy is not ready to serve, or undefined where it is. */
  notReady: () => string | undefined;
}

/** The HTTP routes (specification, "Endpoints"); `/health` and `/metrics` are every service's own. */
export function createApi(options: ApiOptions): Hono {
  const { router, metrics, corsOrigins, maxBodyBytes } = options;
  const app = new Hono();
  app.use(cors({
    origin: corsOrigins.includes("*") ? "*" : [...corsOrigins],
    allowMethods: ["GET", "POST", "OPTIONS"],
    maxAge: 86_400,
  }));
  const limit = bodyLimit({
    maxSize: maxBodyBytes,
    onError: (c) => {
      metrics.httpRequests.inc({ method: "POST", target: "proxy", status: "413" });
      const error = limitExceeded(413, `Body is over ${maxBodyBytes} bytes`);
      return c.body(failureText(null, error), 413, { "content-type": "application/json" });
    },
  });
  app.post("/", limit, async (c) => {
    const startedAt = performance.now();
    const text = await c.req.text();
    const { forwardedFor } = options.addressOf(c.req.raw, remoteOf(c));
    const { status, body, target } = await router.answer(text, { forwardedFor });
    metrics.httpRequests.inc({ method: "POST", target, status: String(status) });
    metrics.httpDuration.observe({ target }, (performance.now() - startedAt) / 1000);
    return body === null ? new Response(null, { status: 204 }) : new Response(body, {
      status,
      headers: { "content-type": "application/json" },
    });
  });
  app.get("/ready", (c) => {
    const reason = options.notReady();
    return reason === undefined ? c.text("OK") : c.text(reason, 503);
  });
  app.get("/ws", (c) => c.text("Expected a WebSocket handshake", 426, { upgrade: "websocket" }));
  app.all("/", (c) => c.text("Expected POST with a JSON-RPC request", 405, { allow: "POST" }));
  return app;
}

/** The address of the peer, which the service hands to every route. */
function remoteOf(c: Context): string {
  const { remote } = c.env as { remote: string }; // see startService
  return remote;
}
