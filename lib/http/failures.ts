import { failuresOf } from "../failures.ts";
import { shown } from "../protocol/scalars.ts";

/** An error of every HTTP API: text and `details` are made from the same facts. */
export const httpFailure = failuresOf({
  BODY_TOO_LARGE: ({ maxBytes }: { maxBytes: number }) =>
    `Body is over ${maxBytes} bytes: send a smaller one`,
  NOT_FOUND: ({ method, path }: { method: string; path: string }) =>
    `No route ${method} ${path}: GET / says where the endpoints are described`,
  ORIGIN_NOT_ALLOWED: ({ origin }: { origin: string }) =>
    `Pages of ${shown(origin)} may not call this service: operators: see --cors-origins`,
  UNSUPPORTED_MEDIA_TYPE: ({ contentType }: { contentType: string | null }) =>
    `Expected Content-Type: application/json: received ${
      contentType === null ? "none" : shown(contentType)
    }`,
  RATE_LIMITED: ({ retryAfterMs }: { retryAfterMs: number }) =>
    `Too many requests: retry after ${retryAfterMs / 1_000} s`,
}, ["RATE_LIMITED"]);
