import { RpcCode, RpcError } from "../../../lib/protocol/jsonrpc.ts";
import type { Target } from "../metrics.ts";

/** HTTP statuses of the proxy's own failures (protocol page, "JSON-RPC answers of the proxy"). */
export type FailureStatus = 400 | 403 | 413 | 429 | 502 | 503 | 504;

/** A failure of the proxy itself: a JSON-RPC error, and the HTTP status of a single call's answer. */
export class ProxyError extends RpcError {
  readonly status: FailureStatus;

  constructor(status: FailureStatus, rpcCode: number, message: string, cause?: unknown) {
    super(rpcCode, message, { cause });
    this.status = status;
  }
}

/** 502 / -32002: the node was told nothing. */
export function nodeUnreachable(target: Target, why: string, cause?: unknown): ProxyError {
  const message = `The ${target} node cannot be reached: ${why}`;
  return new ProxyError(502, RpcCode.resourceUnavailable, message, cause);
}

/** 502 / -32002: the node was asked, and gave no answer; a write may have been carried out. */
export function answerLost(target: Target, why: string, cause?: unknown): ProxyError {
  const message = `The ${target} node gave no answer: ${why}${doubtOf(target)}`;
  return new ProxyError(502, RpcCode.resourceUnavailable, message, cause);
}

/** 504 / -32002: the node did not answer in time; a write may have been carried out. */
export function nodeTimeout(target: Target, timeoutMs: number): ProxyError {
  const message = `The ${target} node did not answer within ${timeoutMs} ms${doubtOf(target)}`;
  return new ProxyError(504, RpcCode.resourceUnavailable, message);
}

function doubtOf(target: Target): string {
  return target === "write" ? "; whether it acted is not known" : "";
}

/** 403: a page of an origin that may not call. */
export function originRefused(): ProxyError {
  return new ProxyError(403, RpcCode.invalidRequest, "Origin is not allowed");
}

/** -32005: a limit of the proxy is passed; 413 for a size, 429 for a number in use. */
export function limitExceeded(status: 413 | 429, message: string): ProxyError {
  return new ProxyError(status, RpcCode.limitExceeded, message);
}

/** 400: the text is no JSON (-32700) or no request (-32600). */
export function badRequest(error: RpcError): ProxyError {
  return new ProxyError(400, error.rpcCode, error.message, error);
}
