import {
  idOf,
  parseJson,
  parseRequest,
  RpcCode,
  RpcError,
  type RpcId,
  type RpcRequest,
} from "../../../lib/protocol/jsonrpc.ts";
import { badRequest, limitExceeded, ProxyError } from "./failures.ts";
import { arrayElements, memberText } from "../json_text.ts";

/** One call as it came. */
export interface Call extends RpcRequest {
  /** The caller's own bytes, which is what a node is sent. */
  text: string;
}

/** An element of a batch that is no request. */
export interface BrokenCall {
  /** Its own id where it has a proper one, else null. */
  id: RpcId;
  error: ProxyError;
}

/** What one message of a caller holds. */
export type Message = { single: Call } | { batch: (Call | BrokenCall)[] };

/** The id of a call as JSON, in its own digits where a number of the runtime would lose some. */
export function idText({ id = null, text }: Call): string {
  const isExact = typeof id !== "number" || Number.isSafeInteger(id);
  return (isExact ? undefined : memberText(text, "id")) ?? JSON.stringify(id);
}

/** Tells the two kinds of batch elements apart. */
export function isBroken(call: Call | BrokenCall): call is BrokenCall {
  return "error" in call;
}

/**
 * Reads a message: one call or a batch of them.
 *
 * @throws {MessageError} -32700, -32600 (an empty batch too), or -32005 for a batch over the limit.
 */
export function readMessage(text: string, maxBatch: number): Message {
  const value = attempt(() => null, () => parseJson(text));
  if (!Array.isArray(value)) return { single: readCall(value, text) };
  if (value.length === 0) {
    throw new MessageError(
      null,
      badRequest(new RpcError(RpcCode.invalidRequest, "Invalid request: Batch is empty")),
    );
  }
  if (value.length > maxBatch) {
    const message = `Batch has ${value.length} calls: at most ${maxBatch} are taken`;
    throw new MessageError(null, limitExceeded(413, message));
  }
  const texts = arrayElements(text);
  return { batch: value.map((element, index) => readElement(element, texts[index] ?? "")) };
}

/** A message that cannot be handled at all, with the id to answer it under. */
export class MessageError extends ProxyError {
  readonly id: RpcId;

  constructor(id: RpcId, error: ProxyError) {
    super(error.status, error.rpcCode, error.message, error);
    this.id = id;
  }
}

function readCall(value: unknown, text: string): Call {
  const request = attempt(() => idOf(value), () => parseRequest(value));
  return { ...request, text };
}

function readElement(value: unknown, text: string): Call | BrokenCall {
  try {
    return readCall(value, text);
  } catch (thrown) {
    if (thrown instanceof MessageError) return { id: thrown.id, error: thrown };
    throw thrown;
  }
}

function attempt<T>(id: () => RpcId, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof RpcError) throw new MessageError(id(), badRequest(thrown));
    throw thrown;
  }
}
