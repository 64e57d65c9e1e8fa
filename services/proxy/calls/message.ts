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
import { limitExceeded } from "../shared/failures.ts";

/** Complexity limit of a message over {@link SMALL_BYTES}: 1,000 calls use half of it. */
const MESSAGE_BOUNDS = { depth: 64, parts: 16_384, commas: 2 ** 18 };

export interface Call extends Envelope {
  method: string;
  params: RpcRequest["params"];
}

/** A message, or an element of a batch, that is invalid. */
export interface InvalidCall {
  /** Its id as it is written if that is valid, else `null`. */
  id: string;
  error: RpcError;
}

export type Batch = (Call | InvalidCall)[];

export type Message = Call | InvalidCall | Batch;

/**
 * Reads a message: one call or a batch of them, in which some may be invalid. The error of an invalid
 * one is -32700, -32600 (an empty batch too), or -32005 for a batch over the limit, or a message that
 * is too complex.
 */
export function parseMessage(text: string, maxBatch: number): Message {
  if (text.length > SMALL_BYTES && isTooComplex(text, MESSAGE_BOUNDS)) {
    const { depth, parts, commas } = MESSAGE_BOUNDS;
    const message =
      `Message has over ${parts} members, over ${commas} list elements or is nested over ${depth} ` +
      "levels deep: send less at once";
    return { id: JSON.stringify(idBesideParams(text)), error: limitExceeded(413, message) };
  }
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    return { id: "null", error };
  }
  return Array.isArray(value) ? parseBatch(value, text, maxBatch) : parseCall(value, text);
}

function parseBatch(values: unknown[], text: string, maxBatch: number): Batch | InvalidCall {
  if (values.length === 0) {
    const message = "Invalid request: Batch is empty: send one call or more";
    return { id: "null", error: new RpcError(RpcCode.invalidRequest, message) };
  }
  if (values.length > maxBatch) {
    const message =
      `Batch has ${values.length} calls: the limit is ${maxBatch}; send several batches`;
    return { id: "null", error: limitExceeded(413, message) };
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
