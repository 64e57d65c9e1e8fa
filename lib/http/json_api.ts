/** Requests and failures of a JSON API over HTTP. */
import type { Context, Hono, MiddlewareHandler } from "hono";
import { z } from "zod";
import { type Clock, systemClock, withinMs } from "../clock.ts";
import { RangemakerError } from "../errors.ts";
import { isTooComplex } from "../json_text.ts";
import { describeInput, describeValue } from "../protocol/describe_input.ts";
import { RpcError } from "../protocol/jsonrpc.ts";
import { readText } from "./body_text.ts";
import { remoteOf } from "./caller_address.ts";
import { Cors } from "./cors.ts";
import {
  answerOfCode,
  COMMON_ERRORS,
  type ErrorAnswer,
  type ErrorAnswers,
  httpError,
} from "./error_answers.ts";
import { serviceLog } from "../log/logging.ts";

/** The largest body of a request: the biggest valid one is under 2 KiB. */
const BODY_BYTES_MAX = 64 * 1024;

/**
 * The most complex body that is parsed: the biggest valid one has 20 members. 64 KiB of members
 * would take 4 ms, and one caller may send hundreds of them at once.
 */
const BODY_BOUNDS = { depth: 32, parts: 1_000 };

/** How long a body may take to arrive; the first 64 KiB at the proxy have the same time. */
const BODY_MS_MAX = 5_000;

declare module "hono" {
  interface ContextVariableMap {
    /** Set by {@link prefixErrorCodes}. */
    prefixesErrorCodes?: true;
  }
}

/** Writes every `error` of a route as `<CODE>: <message>` (spec: quote solver, "Errors"). */
export const prefixErrorCodes: MiddlewareHandler = async (c, next) => {
  c.set("prefixesErrorCodes", true);
  await next();
};

/**
 * Makes a reader of JSON bodies, also from pages of the allowed origins. It refuses other origins
 * with 403, other types and compressed bodies with 415, bodies over {@link BODY_BYTES_MAX} with 413
 * before they are read whole, those that take longer than {@link BODY_MS_MAX} with 408, and what
 * does not fit the schema with `INVALID_REQUEST`, which names the field and its rule. Browsers send a
 * page's POST of another type without a preflight, so hiding the answer would not be enough.
 *
 * @param corsOrigins `*` allows every origin.
 */
export function createBodyReader(corsOrigins: readonly string[], clock: Clock = systemClock) {
  const cors = new Cors(corsOrigins);
  return async <S extends z.core.$ZodType>(c: Context, schema: S): Promise<z.output<S>> => {
    const { headers } = c.req.raw;
    const origin = headers.get("origin");
    if (!cors.allows(origin)) throw httpError("ORIGIN_NOT_ALLOWED", { origin: String(origin) });
    requireJson(headers);
    const text = await readInTime(c, BODY_BYTES_MAX, clock);
    if (text === undefined) throw httpError("BODY_TOO_LARGE", { maxBytes: BODY_BYTES_MAX });
    return parseInput(parseBody(text), schema);
  };
}

function requireJson(headers: Headers): void {
  const contentType = headers.get("content-type");
  if (contentType === null || !/^application\/json\s*(;|$)/i.test(contentType)) {
    throw httpError("UNSUPPORTED_MEDIA_TYPE", { contentType });
  }
  const contentEncoding = headers.get("content-encoding") ?? "identity";
  if (contentEncoding.toLowerCase() === "identity") return;
  throw httpError("UNSUPPORTED_MEDIA_TYPE", { contentEncoding });
}

const LATE: unique symbol = Symbol("late");

/**
 * Reads a body as {@link readText} does, within {@link BODY_MS_MAX}. A caller that disconnects within
 * it is a bad request, and not logged.
 *
 * @throws {RangemakerError} `BODY_TOO_SLOW`, or `INVALID_REQUEST` if it cannot be read.
 */
export async function readInTime(
  c: Context,
  maxBytes: number,
  clock: Clock,
): Promise<string | undefined> {
  const reading = readText(c.req.raw, remoteOf(c), maxBytes).catch((cause: unknown) => {
    throw new RangemakerError("INVALID_REQUEST", "Body ended early", { cause });
  });
  const result = await withinMs(reading, BODY_MS_MAX, LATE, clock);
  if (result === LATE) throw httpError("BODY_TOO_SLOW", { maxMs: BODY_MS_MAX });
  return result;
}

function parseBody(text: string): unknown {
  if (isTooComplex(text, BODY_BOUNDS)) {
    const { parts, depth } = BODY_BOUNDS;
    throw new RangemakerError(
      "INVALID_REQUEST",
      `Body has over ${parts} members or is nested over ${depth} levels deep: send a smaller object`,
    );
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new RangemakerError(
      "INVALID_REQUEST",
      `Body is not JSON: received ${describeValue(text)}; send a JSON object`,
      { cause },
    );
  }
}

/**
 * Parses any part of a request with a schema.
 *
 * @throws {RangemakerError} `INVALID_REQUEST`, naming the field and its rule.
 */
export function parseInput<S extends z.core.$ZodType>(value: unknown, schema: S): z.output<S> {
  const parsed = z.safeParse(schema, value);
  if (parsed.success) return parsed.data;
  const field = parsed.error.issues[0]?.path.join(".") ?? "";
  throw new RangemakerError("INVALID_REQUEST", describeInput(parsed.error, value), {
    details: { field },
  });
}

/** Lets pages of these origins read the answers to `GET` alone. Call it before routes are added. */
export function allowReadsFrom(app: Hono, origins: readonly string[] = []): void {
  if (origins.length === 0) return;
  app.get("*", new Cors(origins).handle);
}

/**
 * Answers unknown routes and thrown errors in the envelope, and lets pages of the given origins
 * read all answers; `*` allows every origin.
 */
export function useJsonApi(
  app: Hono,
  service: string,
  corsOrigins: readonly string[],
  answers: ErrorAnswers,
): void {
  app.use(new Cors(corsOrigins).handle);
  handleErrors(app, service, answers);
}

/**
 * Answers unknown routes and thrown errors in the envelope.
 *
 * @param answers The codes that callers may see. All other errors are faults of our own.
 */
export function handleErrors(
  app: Hono,
  service: string,
  answers: ErrorAnswers = COMMON_ERRORS,
): void {
  const log = serviceLog(service);
  app.notFound((c) => {
    const { method, path } = c.req;
    const methods = METHODS.filter((each) => hasRoute(app, each, path));
    if (methods.length === 0 || methods.includes(method)) {
      return sendFailure(c, httpError("NOT_FOUND", { method, path }));
    }
    const allow = methods.join(", ");
    c.header("allow", allow);
    return sendFailure(c, httpError("METHOD_NOT_ALLOWED", { method, path, allow }));
  });
  app.onError((thrown, c) => {
    const error = asCallerError(thrown, answers);
    if (error !== undefined) return sendFailure(c, error, answers);
    log.error("{method} {path} failed: {error}", {
      method: c.req.method,
      path: c.req.path,
      error: thrown,
    });
    return sendFailure(c, internalError());
  });
}

const METHODS = ["GET", "POST", "PUT", "DELETE"];

/** Whether a route answers a method at a path; handlers for all paths are none. */
function hasRoute({ router }: Hono, method: string, path: string): boolean {
  return router.match(method, path)[0].some(([[, route]]) =>
    route.method === method && route.path !== "/*"
  );
}

/** The error for a request that failed through a fault of our own. */
export function internalError(): RangemakerError {
  const message = "The request could not be handled; operators: see the log";
  return new RangemakerError("INTERNAL_ERROR", message);
}

/** The error to send to the caller, or undefined if the fault is our own. */
function asCallerError(thrown: unknown, answers: ErrorAnswers): RangemakerError | undefined {
  if (thrown instanceof RpcError) {
    // A busy or paused node, or a proxy without one, may take the same call later.
    const [code, what] = thrown.retry === "later"
      ? ["NODE_UNREACHABLE", "cannot take the call now"]
      : ["NODE_REFUSED", "refused the call"];
    return new RangemakerError(code, `Core node ${what}: ${thrown.message}`, {
      details: { rpcCode: thrown.rpcCode },
    });
  }
  const isKnown = thrown instanceof RangemakerError && Object.hasOwn(answers, thrown.code);
  return isKnown ? thrown : undefined;
}

export function sendFailure(
  c: Context,
  error: RangemakerError,
  answers?: ErrorAnswers,
): Response {
  const answer = answerOfCode(error.code, answers);
  return c.json(failureBody(error, answer, c.get("prefixesErrorCodes")), answer.status);
}

/** A failure in the envelope, where there is no router. */
export function failureResponse(error: RangemakerError, headers: HeadersInit = {}): Response {
  const answer = answerOfCode(error.code);
  return Response.json(failureBody(error, answer), { status: answer.status, headers });
}

/** The failure of a plain request to the path of a WebSocket. */
export function handshakeExpected(path: string): RangemakerError {
  const message = `Expected a WebSocket handshake at GET ${path}: connect with a WebSocket client`;
  return new RangemakerError("UPGRADE_REQUIRED", message);
}

function failureBody(
  { code, message, details }: RangemakerError,
  { retry, advice }: ErrorAnswer,
  prefixesAll = false,
) {
  const text = advice === undefined ? message : `${message}; ${advice}`;
  // The codes of every service precede the message on every route.
  const isCommon = code === "INTERNAL_ERROR" || Object.hasOwn(COMMON_ERRORS, code);
  const error = isCommon || prefixesAll ? `${code}: ${text}` : text;
  const hasDetails = Object.keys(details).length > 0;
  return { success: false, error, code, retry, ...(hasDetails && { details }) };
}
