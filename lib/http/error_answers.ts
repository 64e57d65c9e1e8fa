/** Codes that every HTTP API may answer, and their statuses; services add their own. */
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { z } from "zod";
import { createErrors, type Retry } from "../errors.ts";
import { failureSchema } from "../protocol/answers.ts";
import { describeValue } from "../protocol/describe_input.ts";

/** One answer of an operation. The wire carries the input type of `body`. */
export interface OperationAnswer {
  description: string;
  body: z.core.$ZodType;
  /** `application/json` unless another is named. */
  mediaType?: string;
  /** Headers that a caller should look at. */
  headers?: Record<string, { description: string; schema: { type: "integer"; minimum: number } }>;
}

/** An error of every HTTP API: text and `details` are made from the same facts. */
export const httpError = createErrors({
  BODY_TOO_SLOW: ({ maxMs }: { maxMs: number }) =>
    `Body did not arrive within ${maxMs} ms: send it at once`,
  BODY_TOO_LARGE: ({ maxBytes }: { maxBytes: number }) =>
    `Body is over ${maxBytes} bytes, or in too many pieces: send a smaller one at once`,
  NOT_FOUND: ({ method, path }: { method: string; path: string }) =>
    `No route ${method} ${path}: GET / says where the endpoints are described`,
  METHOD_NOT_ALLOWED: ({ method, path, allow }: { method: string; path: string; allow: string }) =>
    `${path} answers ${allow}: received ${method}`,
  ORIGIN_NOT_ALLOWED: ({ origin }: { origin: string }) =>
    `Pages of ${describeValue(origin)} may not call this service: operators: see --cors-origins`,
  UNSUPPORTED_MEDIA_TYPE: (d: { contentType: string | null } | { contentEncoding: string }) =>
    "contentEncoding" in d
      ? `Expected no Content-Encoding: received ${describeValue(d.contentEncoding)}; ` +
        "send the body uncompressed"
      : "Expected Content-Type: application/json: received " +
        (d.contentType === null ? "none" : describeValue(d.contentType)),
  RATE_LIMITED: ({ retryAfterMs }: { retryAfterMs: number }) =>
    `Too many requests: retry after ${retryAfterMs / 1_000} s`,
});

/** How an error is answered. */
export interface ErrorAnswer {
  status: ContentfulStatusCode;
  retry: Retry;
  /** Added to the message, for errors that shared code throws. */
  advice?: string;
}

/** The answers by error code. A code that is not listed is a fault of our own. */
export type ErrorAnswers = Readonly<Record<string, ErrorAnswer>>;

/** Codes of every HTTP API; services add their own. */
export const COMMON_ERRORS = {
  INVALID_REQUEST: { status: 400, retry: "never" },
  ORIGIN_NOT_ALLOWED: { status: 403, retry: "never" },
  HOST_NOT_ALLOWED: { status: 403, retry: "never" },
  NOT_FOUND: { status: 404, retry: "never" },
  METHOD_NOT_ALLOWED: { status: 405, retry: "never" },
  BODY_TOO_SLOW: { status: 408, retry: "later" },
  BODY_TOO_LARGE: { status: 413, retry: "never" },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, retry: "never" },
  UPGRADE_REQUIRED: { status: 426, retry: "never" },
  RATE_LIMITED: { status: 429, retry: "later" },
} as const satisfies ErrorAnswers;

/** How a fault of our own is answered. */
const FAULT: ErrorAnswer = { status: 500, retry: "same" };

/** How an error code is answered. */
export function answerOfCode(code: string, answers: ErrorAnswers = COMMON_ERRORS): ErrorAnswer {
  return Object.hasOwn(answers, code) ? answers[code] ?? FAULT : FAULT;
}

/** The meaning of each status on all routes. */
const MEANINGS: Readonly<Record<number, string>> = {
  400: "A field does not fit, a rule is broken, or there is no `Host` header",
  401: "A signature fails its check; `details` has the digest that was checked",
  403: "The name in the `Host` header is not in `--allowed-hosts`; or, of a POST, the web page's " +
    "origin is not in `--cors-origins`",
  404: "Not found",
  408: "The body took longer than 5 s to arrive",
  409: "Already used by an earlier request; `error` names its state",
  413: "The body is over 64 KiB",
  415: "The body is not `application/json`, or is compressed",
  429: "Too many requests, from one address or in total",
  503: "Nothing was done: `retry` says whether it may be tried again, or was refused for good",
  504: "The outcome is unknown: ask for it, or send the same request again",
};

const RETRY_AFTER: OperationAnswer["headers"] = {
  "Retry-After": {
    description: "Seconds after which to try again",
    schema: { type: "integer", minimum: 1 },
  },
};

/** Describes the failures of a route in OpenAPI: its codes, grouped into one answer per status. */
export function failureAnswersOf<A extends ErrorAnswers>(answers: A) {
  return (...codes: (keyof A & string)[]): Record<number, OperationAnswer> => {
    const byStatus = Object.groupBy(new Set(codes), (code) => Number(answers[code]?.status));
    return Object.fromEntries(
      Object.entries(byStatus).map(([status, codes = []]) => [status, {
        description: MEANINGS[Number(status)] ?? "The service failed",
        body: z.object({
          ...failureSchema.shape,
          code: z.enum(codes),
          retry: z.enum(codes.map((code) => answerOfCode(code, answers).retry)),
        }),
        ...(codes.includes("RATE_LIMITED") && { headers: RETRY_AFTER }),
      }]),
    );
  };
}

/** Codes of every route. */
export const HOST_CODES = ["INVALID_REQUEST", "HOST_NOT_ALLOWED"] as const;

/** Codes of every route that takes a body. */
export const BODY_CODES = [
  ...HOST_CODES,
  "ORIGIN_NOT_ALLOWED",
  "BODY_TOO_SLOW",
  "BODY_TOO_LARGE",
  "UNSUPPORTED_MEDIA_TYPE",
  "RATE_LIMITED",
] as const;
