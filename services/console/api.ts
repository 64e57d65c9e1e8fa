import { type Context, Hono } from "hono";
import { secureHeaders } from "hono/secure-headers";
import { parseAccept } from "hono/utils/accept";
import { handleErrors } from "../../lib/http/json_api.ts";
import type { PageConfig } from "./page_config.ts";
import type { PageFile, PageFiles } from "./page_files.ts";
import { runbookPage } from "./runbook.ts";

/** Dependencies of the routes. */
interface ConsoleApiOptions {
  page: PageFiles;
  /** Every answer waits for it: a page may call the services that it names, and no others. */
  config: PageConfig | Promise<PageConfig>;
}

/** Routes of the console: files, and the URLs of the services. */
export function createConsoleApi({ page, config }: ConsoleApiOptions): Hono {
  const app = new Hono();
  // No type sniffing, no referrers, no use by other origins; TLS is for whatever is in front of it.
  app.use(secureHeaders({ strictTransportSecurity: false }));
  app.use(async (c, next) => {
    const policy = policyOf(await config);
    await next();
    c.header("content-security-policy", policy);
  });
  app.get(
    "/config.json",
    async (c) => c.json(await config, 200, { "cache-control": "no-store" }),
  );
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

/** Browsers send some thirty characters; tens of thousands would take 30 ms to parse. */
const ACCEPT_CHARS_MAX = 1_000;

function answerFile(c: Context, file: PageFile): Response {
  const { mediaType, etag, isImmutable, plain } = file;
  const headers = {
    etag,
    "cache-control": isImmutable ? "public, max-age=31536000, immutable" : "no-cache",
    vary: "accept-encoding",
  };
  if (c.req.header("if-none-match") === etag) return c.body(null, 304, headers);
  const offered = c.req.header("accept-encoding")?.slice(0, ACCEPT_CHARS_MAX) ?? "";
  const accepted = parseAccept(offered);
  const isAccepted = (name: string) => accepted.some(({ type, q }) => type === name && q > 0);
  const brotli = isAccepted("br") ? file.findBrotli() : undefined;
  const gzip = isAccepted("gzip") ? file.gzip : undefined;
  const packed = brotli ?? gzip;
  return c.body(packed ?? plain, 200, {
    ...headers,
    "content-type": mediaType,
    ...(packed && { "content-encoding": packed === brotli ? "br" : "gzip" }),
  });
}

/** Content security policy: the page's own files, and connections to the services only. */
function policyOf({ urls }: PageConfig): string {
  // A policy cannot name an IPv6 address, so it allows any host at that port.
  const services = Object.values(urls).map((url) => new URL(url).origin.replace(/\[.*\]/, "*"));
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
