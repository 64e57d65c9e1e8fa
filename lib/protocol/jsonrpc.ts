import * as z from "zod/mini";
import { RangemakerError } from "../errors.ts";
import { describeInput, describeValue } from "./input_errors.ts";

/** JSON-RPC error codes: the standard's, Ethereum's, and this chain's. */
export const RpcCode = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  serverError: -32000,
  resourceUnavailable: -32002,
  transactionRejected: -32003,
  limitExceeded: -32005,
  settlementRefused: -32010,
} as const;

/** Identifies a request to its caller. */
export type RpcId = string | number | null;

const idSchema = z.union([z.string(), z.number(), z.null()], {
  error: "Expected a string, a number or null",
});

const requestSchema = z.object({
  jsonrpc: z.literal("2.0", { error: 'Expected "2.0"' }),
  id: z.optional(idSchema),
  method: z.string({ error: "Expected a method name" }).check(
    z.minLength(1, "Expected a method name"),
    z.maxLength(256, "Expected at most 256 characters"),
  ),
  // Neither validated nor copied: a caller may send 50,000 members.
  params: z.optional(z.custom<unknown[] | Record<string, unknown>>(
    (value) => typeof value === "object" && value !== null,
    { error: "Expected an array or an object" },
  )),
});

/** One call. Without an `id` it is a notification, which is never answered. */
export type RpcRequest = z.output<typeof requestSchema>;

/** The error part of an answer. */
export interface RpcErrorBody {
  code: number;
  message: string;
  data?: unknown;
}

type RpcResponse =
  | { jsonrpc: "2.0"; id: RpcId; result: unknown }
  | { jsonrpc: "2.0"; id: RpcId; error: RpcErrorBody };

/** Codes of a node that does not answer, or of a limit: the same call may succeed later. */
const TEMPORARY: ReadonlySet<number> = new Set([
  RpcCode.resourceUnavailable,
  RpcCode.limitExceeded,
]);

/** A JSON-RPC error; `rpcCode` is one of {@link RpcCode} or the other side's own. */
export class RpcError extends RangemakerError {
  readonly rpcCode: number;
  readonly data: unknown;

  constructor(rpcCode: number, message: string, options: { data?: unknown; cause?: unknown } = {}) {
    const retry = TEMPORARY.has(rpcCode) ? "later" : "never";
    super(`RPC_${rpcCode}`, message, { cause: options.cause, retry });
    this.rpcCode = rpcCode;
    this.data = options.data;
  }
}

/** Parses one call from JSON. @throws {RpcError} -32600 if it is not a JSON-RPC 2.0 request. */
export function parseRequest(value: unknown): RpcRequest {
  const parsed = requestSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new RpcError(
    RpcCode.invalidRequest,
    `Invalid request: ${describeInput(parsed.error, value)}`,
  );
}

/** The id for the answer to an invalid call: its own if that is valid, else null. */
export function idOf(value: unknown): RpcId {
  if (typeof value !== "object" || value === null || !("id" in value)) return null;
  const parsed = idSchema.safeParse(value.id);
  return parsed.success ? parsed.data : null;
}

const ID_AT_START =
  /^\s*\{\s*(?:"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,\s*)*"id"\s*:\s*(-?(?:0|[1-9]\d{0,14})|"[^"\\\p{Cc}]*")\s*[,}]/u;

/** Where {@link ID_AT_START} looks. */
const START_CHARS = 512;

/**
 * The id of a request that is refused before it is parsed, so that its sender can tell which one it
 * was. It is found where clients write it, before the parameters; otherwise it is null.
 */
export function idAtStart(text: string): RpcId {
  const [, id] = ID_AT_START.exec(text.slice(0, START_CHARS)) ?? [];
  return id === undefined ? null : idOf({ id: JSON.parse(id) });
}

export function rpcResult(id: RpcId, result: unknown): RpcResponse {
  return { jsonrpc: "2.0", id, result };
}

/** An answer with an error. */
export function rpcFailure(id: RpcId, code: number, message: string, data?: unknown): RpcResponse {
  return {
    jsonrpc: "2.0",
    id,
    error: data === undefined ? { code, message } : { code, message, data },
  };
}

const responseSchema = z.object({
  id: idSchema,
  result: z.optional(z.unknown()),
  error: z.optional(
    z.object({ code: z.number(), message: z.string(), data: z.optional(z.unknown()) }),
  ),
});

/**
 * Parses an answer and returns its result.
 *
 * @throws {RpcError} With the node's own code and message if the answer is an error.
 */
export function parseResponse(value: unknown): { id: RpcId; result: unknown } {
  const parsed = responseSchema.safeParse(value);
  if (!parsed.success) {
    throw new RpcError(RpcCode.internalError, "Answer of the node is not JSON-RPC", {
      cause: parsed.error,
    });
  }
  const { id, result, error } = parsed.data;
  if (error) throw new RpcError(error.code, error.message, { data: error.data });
  return { id, result };
}

/** Parses JSON text. @throws {RpcError} -32700 if the text is invalid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const message = `Parse error: body is not JSON: received ${describeValue(text)}; ` +
      "send a JSON-RPC 2.0 request, or a batch of them";
    throw new RpcError(RpcCode.parseError, message, { cause });
  }
}
