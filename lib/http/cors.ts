import type { MiddlewareHandler } from "hono";

/** Seconds for which a browser may cache the answer to a preflight. */
const MAX_AGE_S = 86_400;

/** The CORS policy of a service: the origins of pages that may call. */
export class Cors {
  readonly #origins: ReadonlySet<string>;
  readonly #allowsAny: boolean;

  /** @param origins As a browser sends them (`https://app.example`); `*` for all. */
  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
    this.#allowsAny = this.#origins.has("*");
  }

  /** Whether a page may call; only browsers send an origin. */
  allows(origin: string | null): boolean {
    return this.#allowsAny || origin === null || this.#origins.has(origin);
  }

  headers(origin: string | null): [name: string, value: string][] {
    if (this.#allowsAny) return origin === null ? [] : [["access-control-allow-origin", "*"]];
    const vary: [string, string] = ["vary", "origin"];
    if (origin === null || !this.allows(origin)) return [vary];
    return [["access-control-allow-origin", origin], vary];
  }

  /** The answer to a preflight, which a browser sends before it posts JSON. */
  preflight(request: Request): Response {
    const wanted = request.headers.get("access-control-request-headers");
    const allowed: [string, string][] = wanted === null
      ? []
      : [["access-control-allow-headers", wanted]];
    return new Response(null, {
      status: 204,
      headers: [
        ...this.headers(request.headers.get("origin")),
        ["access-control-allow-methods", "GET,POST,OPTIONS"],
        ["access-control-max-age", String(MAX_AGE_S)],
        ...allowed,
      ],
    });
  }

  /** Answers preflights, and lets pages read the answers of the routes after it. */
  readonly handle: MiddlewareHandler = async (c, next) => {
    const { method, headers } = c.req.raw;
    if (method === "OPTIONS") return this.preflight(c.req.raw);
    // Headers set by `c.header` would be lost when a route answers with a response of its own.
    for (const [name, value] of this.headers(headers.get("origin"))) c.res.headers.set(name, value);
    await next();
  };
}
