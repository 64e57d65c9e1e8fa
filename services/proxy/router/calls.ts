import {
  idOf,
  parseJson,
  parseRequest,
  RpcCode,
  RpcError,
  type RpcId,
  type RpcRequest,
} from "../../../lib/protocol/jsonrpc.ts";
import { SMALL_BYTES } from "../byte_budget.ts";
import { isTooComplex } from "../../../lib/protocol/json_complexity.ts";
import { arrayElements, type Cut, cutAtMember, memberText } from "../json_text.ts";
import { badRequest, limitExceeded, ProxyError } from "./failures.ts";

/** Longest method name; the schema of requests has the same bound. */
const METHOD_LENGTH_MAX = 256;

/** Complexity limit of a message over {@link SMALL_BYTES}: a batch of 1,000 calls has half of it. */
const COMPLEXITY_MAX = { depth: 64, parts: 16_384 };

const COMMA = 0x2c;

/** One call as received. */
export interface Call extends RpcRequest {
  /** The caller's own bytes, which are sent to the node. */
  text: string;
}

/** An invalid element of a batch. */
export interface BrokenCall {
  /** Its own id if that is valid, else null. */
  id: RpcId;
  error: ProxyError;
}

/** One message of a caller: a call, or a batch of calls. */
export type Message = Call | (Call | BrokenCall)[];

/** The id of a call as JSON, digit by digit where a JavaScript number would lose some. */
export function idText({ id = null, text }: Call): string {
  const isExact = typeof id !== "number" || Number.isSafeInteger(id);
  return (isExact ? undefined : memberText(text, "id")) ?? JSON.stringify(id);
}

/** The usual beginning of a call with a number as its id. */
export const USUAL_START = '{"jsonrpc":"2.0","id":';

/** The text of a call, cut at its id; undefined if it has none. */
export function cutAtId({ id, text }: Call): Cut | undefined {
  const value = String(id);
  const end = USUAL_START.length + value.length;
  const isUsual = typeof id === "number" && text.charCodeAt(end) === COMMA &&
    text.startsWith(USUAL_START) && text.startsWith(value, USUAL_START.length);
  // A second id would replace the first; it may be written with an escape.
  if (!isUsual || text.includes('"id"', end) || text.includes("\\", end)) {
    return cutAtMember(text, "id");
  }
  return { before: USUAL_START, value, after: text.slice(end) };
}

/** Whether a batch element is invalid. */
export function isBroken(call: Call | BrokenCall): call is BrokenCall {
  return "error" in call;
}

/**
 * Reads a message: one call or a batch of them.
 *
 * @throws {MessageError} -32700, -32600 (an empty batch too), or -32005 for a batch over the limit.
 */
export function readMessage(text: string, maxBatch: number): Message {
  if (text.length > SMALL_BYTES && isTooComplex(text, COMPLEXITY_MAX)) {
    const { depth, parts } = COMPLEXITY_MAX;
    const message = `Message has over ${parts} members or is nested over ${depth} levels deep: ` +
      "send less at once";
    throw new MessageError(idAtStart(text), limitExceeded(413, message));
  }
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (cause) {
    if (!(cause instanceof RpcError)) throw cause;
    throw new MessageError(null, badRequest(cause));
  }
  return Array.isArray(value) ? readBatch(value, text, maxBatch) : readCall(value, text);
}

/** The id of a call that is not parsed, if it is written first, as most clients do. */
function idAtStart(text: string): RpcId {
  const start = /^\{"jsonrpc":"2\.0","id":(\d{1,15}|"[^"\\]{0,64}"),/.exec(text.slice(0, 128));
  return start?.[1] === undefined ? null : JSON.parse(start[1]);
}

/** A message that cannot be handled at all, with the id for its answer. */
export class MessageError extends ProxyError {
  readonly id: RpcId;

  constructor(id: RpcId, error: ProxyError) {
    super(error.status, error.rpcCode, error.message, error);
    this.id = id;
  }
}

function readBatch(values: unknown[], text: string, maxBatch: number): (Call | BrokenCall)[] {
  if (values.length === 0) {
    const error = new RpcError(
      RpcCode.invalidRequest,
      "Invalid request: Batch is empty: send one call or more",
    );
    throw new MessageError(null, badRequest(error));
  }
  if (values.length > maxBatch) {
    const message =
      `Batch has ${values.length} calls: the limit is ${maxBatch}; send several batches`;
    throw new MessageError(null, limitExceeded(413, message));
  }
  const texts = arrayElements(text);
  return values.map((value, index) => {
    try {
      return readCall(value, texts[index] ?? "");
    } catch (thrown) {
      if (thrown instanceof MessageError) return { id: thrown.id, error: thrown };
      throw thrown;
    }
  });
}

function readCall(value: unknown, text: string): Call {
  // The schema is slower than the rest of a read, so it only provides the message of a refusal.
  if (isRequest(value)) {
    const { id, method, params } = value;
    return { jsonrpc: "2.0", id, method, params, text };
  }
  try {
    return { ...parseRequest(value), text };
  } catch (thrown) {
    if (thrown instanceof RpcError) throw new MessageError(idOf(value), badRequest(thrown));
    throw thrown;
  }
}

/** Whether a value is certainly a request. If not, it may still pass the schema. */
function isRequest(value: unknown): value is RpcRequest {
  if (typeof value !== "object" || value === null) return false;
  const { jsonrpc, id, method, params }: Partial<Record<keyof RpcRequest, unknown>> = value;
  return jsonrpc === "2.0" && typeof method === "string" &&
    method.length > 0 && method.length <= METHOD_LENGTH_MAX &&
    (id === undefined || id === null || typeof id === "string" || Number.isFinite(id)) &&
    (params === undefined || (typeof params === "object" && params !== null));
}
