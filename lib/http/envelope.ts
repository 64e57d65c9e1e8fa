/** The JSON envelope of solver and bridge: `{ success: true, … }` or `{ success: false, error, code }`. */
import { getLogger } from "@logtape/logtape";
import type { Context, Hono, MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { cors } from "hono/cors";
import { HTTPException } from "hono/http-exception";
import type { z } from "zod";
import { RangemakerError } from "../errors.ts";
import { RpcError } from "../protocol/jsonrpc.ts";
import { redact } from "../redact.ts";
import { describeInput } from "./describe_input.ts";
import { statusOfCode } from "./error_status.ts";
import { LOG_ROOT } from "./logging.ts";

/** The largest body of a request: the biggest valid one is under 2 KiB. */
export const BODY_BYTES_MAX = 64 * 1024;

declare module "hono" {
  interface ContextVariableMap {
    /** Set by {@link prefixErrorCodes}. */
    prefixesErrorCodes?: true;
  }
}

/** Codes that stand in front of the message on every route. */
const ALWAYS_PREFIXED: ReadonlySet<string> = new Set([
  "INVALID_REQUEST",
  "BODY_TOO_LARGE",
  "NOT_FOUND",
  "RATE_LIMITED",
  "INTERNAL_ERROR",
]);

/** Characters of a body that is not JSON that the answer shows. */
const SHOWN_CHARS = 40;

/** Writes every `error` of a route as `<CODE>: <message>` (spec: quote solver, "Errors"). */
export const prefixErrorCodes: MiddlewareHandler = async (c, next) => {
  c.set("prefixesErrorCodes", true);
  await next();
};

/** Refuses bodies over the limit with 413, before they are read whole. */
export function limitBody(maxBytes: number = BODY_BYTES_MAX): MiddlewareHandler {
  const limit = bodyLimit({
    maxSize: maxBytes,
    onError() {
      throw new RangemakerError(
        "BODY_TOO_LARGE",
        `Body is over ${maxBytes} bytes: send a smaller one`,
      );
    },
  });
  // Hono reads a chunked body itself.
  return (c, next) => readingBody(() => limit(c, next));
}

/**
 * Reads a body. A caller that disconnects in the middle of it counts as a bad request and is
 * not logged.
 *
 * @throws {RangemakerError} `INVALID_REQUEST` if the body cannot be read.
 */
async function readingBody<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    if (cause instanceof RangemakerError) throw cause;
    throw new RangemakerError("INVALID_REQUEST", "Body ended early", { cause });
  }
}

/**
 * Parses the body of a request with a schema.
 *
 * @throws {RangemakerError} `INVALID_REQUEST`, naming the field and its rule.
 */
export async function readBody<S extends z.ZodType>(c: Context, schema: S): Promise<z.output<S>> {
  const text = await readingBody(() => c.req.text());
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new RangemakerError(
      "INVALID_REQUEST",
      `Body is not JSON: received ${JSON.stringify(startOf(text))}`,
      { cause },
    );
  }
  return parseInput(value, schema);
}

/**
 * Parses any part of a request with a schema.
 *
 * @throws {RangemakerError} `INVALID_REQUEST`, naming the field and its rule.
 */
export function parseInput<S extends z.ZodType>(value: unknown, schema: S): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new RangemakerError("INVALID_REQUEST", describeInput(parsed.error, value));
}

/**
 * Lets pages of these origins read the answers to `GET`, and nothing else. Call it before routes are
 * added.
 */
export function allowReaders(app: Hono, origins: readonly string[] = []): void {
  if (origins.length === 0) return;
  app.get("*", cors({ origin: origins.includes("*") ? "*" : [...origins] }));
}

/**
 * Answers unknown routes and thrown errors in the envelope, and lets pages of the given origins read
 * all answers; `*` allows every origin.
 */
export function useEnvelope(app: Hono, service: string, corsOrigins: readonly string[]): void {
  const log = getLogger([LOG_ROOT, service]);
  app.use(cors({ origin: corsOrigins.includes("*") ? "*" : [...corsOrigins] }));
  app.notFound(answerNoRoute);
  app.onError((thrown, c) => {
    const error = asCallerError(thrown);
    if (error !== undefined) return answerFailure(c, error);
    log.error("{method} {path} failed: {error}", {
      method: c.req.method,
      path: c.req.path,
      error: thrown,
    });
    return answerFailure(
      c,
      new RangemakerError("INTERNAL_ERROR", "The request could not be handled; see the log"),
    );
  });
}

/** Answers a request for a route that the service does not have. */
export function answerNoRoute(c: Context): Response {
  const { method, path } = c.req;
  const message = `No route ${method} ${path}: GET / says where the endpoints are described`;
  return answerFailure(c, new RangemakerError("NOT_FOUND", message));
}

/** The error to send to the caller, or undefined if the fault is our own. */
function asCallerError(thrown: unknown): RangemakerError | undefined {
  if (thrown instanceof RpcError) {
    return new RangemakerError("NODE_REFUSED", thrown.message, {
      details: { rpcCode: thrown.rpcCode },
    });
  }
  // Hono's own, such as a body that ended early.
  if (thrown instanceof HTTPException) {
    return new RangemakerError("INVALID_REQUEST", thrown.message);
  }
  if (thrown instanceof RangemakerError && statusOfCode(thrown.code) !== undefined) return thrown;
  return undefined;
}

function answerFailure(c: Context, { code, message, details }: RangemakerError): Response {
  const isPrefixed = ALWAYS_PREFIXED.has(code) || c.get("prefixesErrorCodes") === true;
  const error = isPrefixed ? `${code}: ${message}` : message;
  const hasDetails = Object.keys(details).length > 0;
  return c.json(
    { success: false, error, code, ...(hasDetails && { details }) },
    statusOfCode(code) ?? 500,
  );
}

/** The start of a body, for an answer: a key could have been sent instead. */
function startOf(text: string): string {
  return redact(text.slice(0, 4 * SHOWN_CHARS)).slice(0, SHOWN_CHARS);
}
