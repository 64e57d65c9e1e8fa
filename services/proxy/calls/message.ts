/** What clients send: a call or a batch of calls. */
import { arrayElements, isTooComplex, memberText } from "../../../lib/json_text.ts";
import {
  idBesideParams,
  idOf,
  parseJson,
  parseRequest,
  RpcCode,
  RpcError,
  type RpcRequest,
} from "../../../lib/protocol/jsonrpc.ts";
import { SMALL_BYTES } from "../shared/limits.ts";
import { type Envelope, parseEnvelope } from "../shared/envelopes.ts";
import { ProxyError } from "../shared/failures.ts";

/** Complexity limit of a message over {@link SMALL_BYTES}: 1,000 calls use half of it. */
const MESSAGE_BOUNDS = { depth: 64, parts: 16_384, commas: 2 ** 18 };

export interface Call extends Envelope {
  method: string;
  params: RpcRequest["params"];
}

/** A message that is invalid as a whole. */
export class MessageError extends ProxyError {
  /** The message's id as it is written if it is valid, else `null`. */
  readonly id: string;

  constructor(id: string, ...error: ConstructorParameters<typeof ProxyError>) {
    super(...error);
    this.id = id;
  }
}

/** An invalid element of a batch: a caller may send thousands, and each error records a stack. */
export interface InvalidCall {
  /** As in a {@link MessageError}. */
  id: string;
  error: RpcError;
}

export type Message = Call | (Call | InvalidCall)[];

/**
 * Reads a message: one call or a batch of them, in which some may be invalid.
 *
 * @throws {MessageError} -32700, -32600 (an empty batch too), or -32005 for a batch over the
 *   limit, or a message that is too complex.
 */
export function parseMessage(text: string, maxBatch: number): Message {
  if (text.length > SMALL_BYTES && isTooComplex(text, MESSAGE_BOUNDS)) {
    const { depth, parts, commas } = MESSAGE_BOUNDS;
    const message =
      `Message has over ${parts} members, over ${commas} list elements or is nested over ${depth} ` +
      "levels deep: send less at once";
    throw new MessageError(
      JSON.stringify(idBesideParams(text)),
      413,
      RpcCode.limitExceeded,
      message,
    );
  }
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (cause) {
    if (!(cause instanceof RpcError)) throw cause;
    throw new MessageError("null", 400, cause.rpcCode, cause.message, cause);
  }
  if (Array.isArray(value)) return parseBatch(value, text, maxBatch);
  const call = parseCall(value, text);
  if (!("error" in call)) return call;
  const { id, error } = call;
  throw new MessageError(id, 400, error.rpcCode, error.message, error);
}

function parseBatch(values: unknown[], text: string, maxBatch: number): (Call | InvalidCall)[] {
  if (values.length === 0) {
    const message = "Invalid request: Batch is empty: send one call or more";
    throw new MessageError("null", 400, RpcCode.invalidRequest, message);
  }
  if (values.length > maxBatch) {
    const message =
      `Batch has ${values.length} calls: the limit is ${maxBatch}; send several batches`;
    throw new MessageError("null", 413, RpcCode.limitExceeded, message);
  }
  const texts = arrayElements(text);
  return values.map((value, index) => parseCall(value, texts[index] ?? ""));
}

function parseCall(value: unknown, text: string): Call | InvalidCall {
  try {
    const { method, params } = parseRequest(value);
    const { id, paramsText, textAfterId } = parseEnvelope(text, method);
    // Written out: spreading the envelope would take longer than reading it.
    return { id, method, params, paramsText, textAfterId };
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    const id = idOf(value) === null ? undefined : memberText(text, "id");
    return { id: id ?? "null", error };
  }
}
