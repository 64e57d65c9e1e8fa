import { type Context, Hono } from "hono";
import { secureHeaders } from "hono/secure-headers";
import { RangemakerError } from "../../lib/errors.ts";
import { handleErrors, sendFailure } from "../../lib/http/json_api.ts";
import type { ErrorAnswers } from "../../lib/http/error_answers.ts";
import type { PageConfig } from "./page_config.ts";
import type { PageFile, PageFiles } from "./page_files.ts";
import { runbookPage } from "./runbook.ts";

/** Dependencies of the routes. */
interface ConsoleApiOptions {
  page: PageFiles;
  /** Returns undefined until the URLs of the services are known. */
  findConfig: () => PageConfig | undefined;
}

const STARTING = { STARTING: { status: 503, retry: "later" } } as const satisfies ErrorAnswers;

/** Routes of the console: files, and the URLs of the services. */
export function createConsoleApi({ page, findConfig }: ConsoleApiOptions): Hono {
  const app = new Hono();
  // No type sniffing, no referrers, no use by other origins; TLS is for whatever is in front of it.
  app.use(secureHeaders({ strictTransportSecurity: false }));
  app.use(async (c, next) => {
    await next();
    c.header("content-security-policy", policyOf(findConfig()));
  });
  app.get("/config.json", (c) => {
    const body = findConfig();
    if (body === undefined) {
      const message = "The services are still starting: try again in a second";
      return sendFailure(c, new RangemakerError("STARTING", message), STARTING);
    }
    return c.json(body, 200, { "cache-control": "no-store" });
  });
  const stylesheet = [...page.keys()].find((path) => /^\/main.*\.css$/.test(path)) ?? "";
  app.get("/runbook/:chapter", (c, next) => {
    const html = runbookPage(c.req.param("chapter"), stylesheet);
    return html === undefined ? next() : c.html(html);
  });
  for (const [path, file] of page) {
    const serve = (c: Context) => answerFile(c, file);
    app.get(path, serve);
    if (path === "/index.html") app.get("/", serve);
  }
  handleErrors(app, "console");
  return app;
}

function answerFile(c: Context, file: PageFile): Response {
  const { mediaType, etag, isImmutable, plain } = file;
  const headers = {
    etag,
    "cache-control": isImmutable ? "public, max-age=31536000, immutable" : "no-cache",
    vary: "accept-encoding",
  };
  if (c.req.header("if-none-match") === etag) return c.body(null, 304, headers);
  const accepted = c.req.header("accept-encoding") ?? "";
  const brotli = /\bbr\b/.test(accepted) ? file.findBrotli() : undefined;
  const gzip = /\bgzip\b/.test(accepted) ? file.gzip : undefined;
  const packed = brotli ?? gzip;
  return c.body(packed ?? plain, 200, {
    ...headers,
    "content-type": mediaType,
    ...(packed && { "content-encoding": packed === brotli ? "br" : "gzip" }),
  });
}

/** Content security policy: the page's own files, and connections to the services only. */
function policyOf(config: PageConfig | undefined): string {
  // A policy cannot name an IPv6 address, so it allows any host at that port.
  const services = Object.values(config?.urls ?? {})
    .map((url) => new URL(url).origin.replace(/\[.*\]/, "*"));
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    `connect-src ${["'self'", ...new Set(services)].join(" ")}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join("; ");
}
