/** The JSON envelope of the solver and the bridge: `{ success, … }` or `{ success: false, error }`. */
import { getLogger } from "@logtape/logtape";
import type { Context, Hono, MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { cors } from "hono/cors";
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { z } from "zod";
import { NodeTimeoutError, NodeUnreachableError } from "../net/core_client.ts";
import { messageOf, RangemakerError } from "../errors.ts";
import { OutcomeUnknownError, StoreConnectionLostError, StoreError } from "../intents/intent.ts";
import { RpcError } from "../protocol/jsonrpc.ts";
import { describeIssue } from "../protocol/scalars.ts";
import { SignatureError } from "../protocol/signature.ts";
import { LOG_ROOT } from "./logging.ts";

/** The largest body of a request: the biggest valid one is under 2 KiB. */
export const BODY_BYTES_MAX = 64 * 1024;

/** A failure with the HTTP status it is answered with. */
export class RequestError extends RangemakerError {
  readonly status: ContentfulStatusCode;

  constructor(status: ContentfulStatusCode, code: string, message: string, cause?: unknown) {
    super(code, message, { cause });
    this.status = status;
  }
}

/** Refuses bodies over the limit with 413, before they are read whole. */
export function limitBody(maxBytes: number = BODY_BYTES_MAX): MiddlewareHandler {
  return bodyLimit({
    maxSize: maxBytes,
    onError: (c) => failure(c, 413, `INVALID_REQUEST: Body is over ${maxBytes} bytes`),
  });
}

/** A failure answer. */
export function failure(c: Context, status: ContentfulStatusCode, error: string): Response {
  return c.json({ success: false, error }, status);
}

/**
 * The body of a request, parsed by a schema.
 *
 * @throws {RequestError} 400 `INVALID_REQUEST`, naming the field and its rule.
 */
export async function readBody<S extends z.ZodType>(c: Context, schema: S): Promise<z.output<S>> {
  const text = await c.req.text();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new RequestError(400, "INVALID_REQUEST", "INVALID_REQUEST: Body is not JSON", cause);
  }
  return parseInput(value, schema);
}

/**
 * Any part of a request, parsed by a schema.
 *
 * @throws {RequestError} 400 `INVALID_REQUEST`, naming the field and its rule.
 */
export function parseInput<S extends z.ZodType>(value: unknown, schema: S): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new RequestError(400, "INVALID_REQUEST", `INVALID_REQUEST: ${describeIssue(parsed.error)}`);
}

/** The status of an error that a caller is told of, or undefined where the fault is our own. */
function statusOf(thrown: unknown): ContentfulStatusCode | undefined {
  if (thrown instanceof RequestError) return thrown.status;
  if (thrown instanceof SignatureError) return 401;
  if (thrown instanceof StoreConnectionLostError) return 504;
  if (thrown instanceof StoreError) return 503;
  if (thrown instanceof NodeUnreachableError || thrown instanceof NodeTimeoutError) return 503;
  // What the core node refused to tell.
  if (thrown instanceof RpcError) return 503;
  if (thrown instanceof OutcomeUnknownError) return 504;
  // Hono's own, such as a body that ended early.
  if (thrown instanceof HTTPException) return thrown.status;
  return undefined;
}

/**
 * Answers unknown routes and thrown errors in the envelope, and lets pages of the given origins read
 * all answers; `*` stands for every origin.
 */
export function useEnvelope(app: Hono, service: string, corsOrigins: readonly string[]): void {
  const log = getLogger([LOG_ROOT, service]);
  app.use(cors({ origin: corsOrigins.includes("*") ? "*" : [...corsOrigins] }));
  app.notFound((c) => failure(c, 404, `NOT_FOUND: No route ${c.req.method} ${c.req.path}`));
  app.onError((thrown, c) => {
    const status = statusOf(thrown);
    if (status !== undefined) return failure(c, status, messageOf(thrown));
    log.error("{method} {path} failed: {error}", {
      method: c.req.method,
      path: c.req.path,
      error: thrown,
    });
    return failure(c, 500, "INTERNAL_ERROR: The request could not be handled; see the log");
  });
}
