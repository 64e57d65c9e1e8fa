import type { Handler, Hono } from "hono";
import type { Registry } from "prom-client";
import { listen, type RequestHandler } from "./listener.ts";
import { serviceLog } from "../log/logging.ts";
import { monotonicClock } from "../clock.ts";
import { createCachedCall } from "../timing/cached.ts";
import { aboutOperation, documentedHandler, metricsOperation } from "./openapi.ts";
import config from "../../deno.json" with { type: "json" };

/** A running service; the `start…` function of a service returns one, perhaps with more members. */
export interface RunningService extends AsyncDisposable {
  /** Base URL without a trailing slash. */
  readonly url: string;
  /** Stops the service; resolves when nothing of it runs any more. */
  stop(): Promise<void>;
}

interface ServiceDefinition {
  name: string;
  host: string;
  /** Names under which it answers, see `AllowedHosts`. */
  allowedHosts?: readonly string[];
  /** 0 chooses a free port. */
  port: number;
  /** The option that gives the port, where it is not `--port`. */
  portFlag?: string;
  /** Whether several processes may listen on the port; Linux only. */
  reusePort?: boolean;
  /** Routes of the service; `GET /`, `GET /health` and `GET /metrics` are added here. */
  app: Hono;
  /** The app answers `GET /` itself. */
  servesRoot?: true;
  /** Answers `GET /health` in place of the default answer. */
  health: Handler;
  registry: Registry;
  /**
   * Gets requests before the routes: for WebSockets, and for a route that must be fast. Undefined
   * passes the request to the app.
   */
  beforeRoutes?: (
    ...request: Parameters<RequestHandler>
  ) => Response | Promise<Response> | undefined;
  /** Called first on stop: refuse new work, close sockets. */
  drain?: () => void | Promise<void>;
  /** Called last on stop, when no request is open: stop timers, close stores. */
  close?: () => void | Promise<void>;
}

/**
 * Starts a service, and closes its parts at once if the start fails.
 *
 * @param start Adds each opened part to the stack, which the returned service closes when it stops.
 */
export async function startOrClose<T>(
  start: (cleanup: AsyncDisposableStack) => Promise<T>,
): Promise<T> {
  const cleanup = new AsyncDisposableStack();
  try {
    return await start(cleanup);
  } catch (thrown) {
    await cleanup.disposeAsync();
    throw thrown;
  }
}

/** Starts listening. @throws {ListenError} If the address cannot be bound. */
export function startService(definition: ServiceDefinition): RunningService {
  const { name, app, registry } = definition;
  const log = serviceLog(name);
  const about = documentedHandler(aboutOperation, (c) => c.text(describe(definition)));
  if (!definition.servesRoot) app.get("/", about);
  app.get("/health", definition.health);
  // Requests that come together share one text, which takes some milliseconds to write.
  const readMetrics = createCachedCall(() => registry.metrics(), 0, monotonicClock);
  const metrics = documentedHandler(metricsOperation, async (c) => {
    c.header("content-type", registry.contentType);
    return c.body(await readMetrics());
  });
  app.get("/metrics", metrics);
  const handler: RequestHandler = (request, remote, served) =>
    definition.beforeRoutes?.(request, remote, served) ?? app.fetch(request, { remote });
  const listener = listen(definition.host, definition.port, handler, definition);
  log.info("Listening on {url}", { event: "listening", url: listener.boundUrl });
  let stopping: Promise<void> | undefined;
  const stop = async () => {
    await definition.drain?.();
    await listener.stop();
    await definition.close?.();
    log.info("Stopped", { event: "stopped" });
  };
  return {
    url: listener.url,
    stop: () => stopping ??= stop(),
    [Symbol.asyncDispose]() {
      return this.stop();
    },
  };
}

/** The answer to `GET /`: name, version, and where the endpoints are described. */
function describe({ name, app }: ServiceDefinition): string {
  const hasOpenApi = app.routes.some(({ path }) => path === "/openapi.json");
  const documents = `docs/reference.md${hasOpenApi ? ", and here in /openapi.json" : ""}`;
  return `rangemaker ${name} ${config.version}: its endpoints are described in ${documents}\n`;
}
