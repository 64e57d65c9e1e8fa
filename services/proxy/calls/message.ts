import {
  idAtStart,
  idOf,
  parseJson,
  parseRequest,
  RpcCode,
  RpcError,
  type RpcRequest,
} from "../../../lib/protocol/jsonrpc.ts";
import { SMALL_BYTES } from "../shared/byte_budget.ts";
import { isTooComplex } from "../../../lib/protocol/json_complexity.ts";
import { arrayElements, memberText } from "../shared/json_text.ts";
import { type Envelope, readEnvelope } from "../shared/envelopes.ts";
import { badRequest, limitExceeded, ProxyError } from "../shared/failures.ts";

/** Longest method name; the schema of requests has the same bound. */
const METHOD_LENGTH_MAX = 256;

/** Complexity limit of a message over {@link SMALL_BYTES}: 1,000 calls use half of it. */
const MESSAGE_BOUNDS = { depth: 64, parts: 16_384 };

export interface Call extends Envelope {
  method: string;
  params: RpcRequest["params"];
}

/** A message, or an element of a batch, that is invalid. */
export class MessageError extends ProxyError {
  /** The message's id as it is written if it is valid, else `null`. */
  readonly id: string;

  constructor(id: string, error: ProxyError) {
    super(error.status, error.rpcCode, error.message, error);
    this.id = id;
  }
}

export type Message = Call | (Call | MessageError)[];

/**
 * Reads a message: one call or a batch of them, in which some may be invalid.
 *
 * @throws {MessageError} -32700, -32600 (an empty batch too), or -32005 for a batch over the limit.
 */
export function readMessage(text: string, maxBatch: number): Message {
  if (text.length > SMALL_BYTES && isTooComplex(text, MESSAGE_BOUNDS)) {
    const { depth, parts } = MESSAGE_BOUNDS;
    const message = `Message has over ${parts} members or is nested over ${depth} levels deep: ` +
      "send less at once";
    throw new MessageError(JSON.stringify(idAtStart(text)), limitExceeded(413, message));
  }
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (cause) {
    if (!(cause instanceof RpcError)) throw cause;
    throw new MessageError("null", badRequest(cause));
  }
  return Array.isArray(value) ? readBatch(value, text, maxBatch) : readCall(value, text);
}

function readBatch(values: unknown[], text: string, maxBatch: number): (Call | MessageError)[] {
  if (values.length === 0) {
    const message = "Invalid request: Batch is empty: send one call or more";
    throw new MessageError("null", badRequest(new RpcError(RpcCode.invalidRequest, message)));
  }
  if (values.length > maxBatch) {
    const message =
      `Batch has ${values.length} calls: the limit is ${maxBatch}; send several batches`;
    throw new MessageError("null", limitExceeded(413, message));
  }
  const texts = arrayElements(text);
  return values.map((value, index) => {
    try {
      return readCall(value, texts[index] ?? "");
    } catch (thrown) {
      if (thrown instanceof MessageError) return thrown;
      throw thrown;
    }
  });
}

function readCall(value: unknown, text: string): Call {
  try {
    // The schema is slower than the rest of a read, so it only runs if the quick check fails.
    const { method, params } = isRequest(value) ? value : parseRequest(value);
    const envelope = readEnvelope(text, method);
    // Written out: spreading the envelope would take longer than reading it.
    const { paramsText, textAfterId } = envelope;
    return { id: envelope.id, method, params, paramsText, textAfterId };
  } catch (thrown) {
    throw thrown instanceof RpcError ? invalidRequest(value, text, thrown) : thrown;
  }
}

function invalidRequest(value: unknown, text: string, error: RpcError): MessageError {
  const id = idOf(value) === null ? undefined : memberText(text, "id");
  return new MessageError(id ?? "null", badRequest(error));
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
