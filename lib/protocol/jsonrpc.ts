import * as z from "zod/mini";
import { RangemakerError } from "../errors.ts";
import { describeValue } from "./describe_input.ts";

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

/** One call. Without an `id` it is a notification, which is never answered. */
export interface RpcRequest {
  jsonrpc: "2.0";
  id?: RpcId | undefined;
  /** At most {@link METHOD_LENGTH_MAX} characters. */
  method: string;
  /** Neither validated nor copied: a caller may send 50,000 members. */
  params?: unknown[] | Record<string, unknown> | undefined;
}

const METHOD_LENGTH_MAX = 256;

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

/** Reads one call. @throws {RpcError} -32600 if it is not a JSON-RPC 2.0 request. */
export function parseRequest(value: unknown): RpcRequest {
  // By hand: a schema would take longer than all that the proxy does with a read.
  if (!isObject(value) || Array.isArray(value)) throw invalidRequest("Expected an object", value);
  const { jsonrpc, id, method, params } = value;
  if (jsonrpc !== "2.0") throw invalidRequest('jsonrpc: Expected "2.0"', jsonrpc);
  if (id !== undefined && !isId(id)) {
    throw invalidRequest("id: Expected a string, a number or null", id);
  }
  if (typeof method !== "string" || method === "") {
    throw invalidRequest("method: Expected a method name", method);
  }
  if (method.length > METHOD_LENGTH_MAX) {
    throw invalidRequest(`method: Expected at most ${METHOD_LENGTH_MAX} characters`, method);
  }
  if (params !== undefined && !isObject(params)) {
    throw invalidRequest("params: Expected an array or an object", params);
  }
  return { jsonrpc, id, method, params };
}

function invalidRequest(expected: string, received: unknown): RpcError {
  const message = `Invalid request: ${expected}: received ${describeValue(received)}`;
  return new RpcError(RpcCode.invalidRequest, message);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function isId(value: unknown): value is RpcId {
  return value === null || typeof value === "string" || Number.isFinite(value);
}

/** The id for the answer to an invalid call: its own if that is valid, else null. */
export function idOf(value: unknown): RpcId {
  return isObject(value) && isId(value.id) ? value.id : null;
}

/** The members of a request beside its parameters, as clients write them. */
const ID_MEMBER = String.raw`"id"\s*:\s*(-?(?:0|[1-9]\d{0,14})|"[^"\\\p{Cc}]*")`;
const OTHER_MEMBERS = String.raw`"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*`;

const ID_AT_START = new RegExp(
  String.raw`^\s*\{\s*(?:${OTHER_MEMBERS},\s*)*${ID_MEMBER}\s*[,}]`,
  "u",
);

/** The id near the end of an object: only these members and the last brace follow it. */
const ID_AT_END = new RegExp(
  String.raw`[,{]\s*${ID_MEMBER}\s*(?:,\s*${OTHER_MEMBERS})*\}\s*$`,
  "u",
);

/** Characters at each end of a request in which its id is looked for. */
const EDGE_CHARS = 512;

/**
 * The id of a request that is refused before it is parsed, so that its sender can tell which one it
 * was. It is found where clients write it, before the parameters (viem) or after them (ethers,
 * web3.py); otherwise it is null.
 */
export function idBesideParams(text: string): RpcId {
  const start = text.slice(0, EDGE_CHARS);
  const isObject = /^\s*\{/.test(start);
  const found = ID_AT_START.exec(start) ??
    (isObject ? ID_AT_END.exec(text.slice(-EDGE_CHARS)) : null);
  const id = found?.[1];
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
  id: z.union([z.string(), z.number(), z.null()]),
  result: z.optional(z.unknown()),
  error: z.optional(
    z.object({ code: z.number(), message: z.string(), data: z.optional(z.unknown()) }),
  ),
});

/**
 * Parses an answer and returns its result, or undefined if it is not JSON-RPC.
 *
 * @throws {RpcError} With the node's own code and message if the answer is an error.
 */
export function tryParseResponse(value: unknown): { id: RpcId; result: unknown } | undefined {
  const parsed = responseSchema.safeParse(value);
  if (!parsed.success) return undefined;
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
