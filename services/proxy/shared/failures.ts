/** The proxy's own JSON-RPC errors, such as those of a node that does not answer. */
import { RpcCode, RpcError } from "../../../lib/protocol/jsonrpc.ts";
import type { Target } from "./metrics.ts";

/** HTTP statuses of failures (docs/protocol.md, "JSON-RPC answers of the proxy"). */
type FailureStatus = 200 | 400 | 403 | 408 | 413 | 429 | 500 | 502 | 503 | 504;

/** A failure of the proxy itself: a JSON-RPC error, and the HTTP status of a single call. */
export class ProxyError extends RpcError {
  readonly status: FailureStatus;

  constructor(status: FailureStatus, rpcCode: number, message: string, cause?: unknown) {
    super(rpcCode, message, { cause });
    this.status = status;
  }
}

/** 502 / -32002: the request was not sent. */
export function nodeUnreachable(target: Target, why: string, cause?: unknown): ProxyError {
  const message = `The ${target} node cannot be reached: ${why}; try again`;
  return new ProxyError(502, RpcCode.resourceUnavailable, message, cause);
}

/** 502 / -32002: the request was sent and no answer came; a write may have taken effect. */
export function answerLost(target: Target, why: string, cause?: unknown): ProxyError {
  const message = `The ${target} node gave no answer: ${why}${retryAdvice(target)}`;
  return new ProxyError(502, RpcCode.resourceUnavailable, message, cause);
}

/** 504 / -32002: no answer came in time; a write that was sent may have taken effect. */
export function nodeTimeout(
  target: Target,
  timeoutMs: number,
  cause?: unknown,
  { isSent = true } = {},
): ProxyError {
  const message = isSent
    ? `The ${target} node did not answer within ${timeoutMs} ms${retryAdvice(target)}`
    : `The ${target} node accepted no connection within ${timeoutMs} ms; try again`;
  return new ProxyError(504, RpcCode.resourceUnavailable, message, cause);
}

/** How a call whose answer is lost may be repeated. */
export function retryAdvice(target: Target): string {
  return target === "write"
    ? "; the write may have taken effect: only the same signed transaction may be sent again"
    : "; try again";
}

/** 403: the page's origin is not in `--cors-origins`. */
export function originRefused(origin: string | null): ProxyError {
  const message =
    `Pages of ${origin} may not call this proxy: its operator can allow them with --cors-origins`;
  return new ProxyError(403, RpcCode.invalidRequest, message);
}

/** A caller without an open request gets it too, if others behind its load balancer have too many. */
export const TOO_MANY_REQUESTS =
  "Too many open requests from this address, or behind its load balancer: try again";

/** -32005: a limit is exceeded; 408 for a time, 413 for a size, 429 for a number in use. */
export function limitExceeded(
  status: 408 | 413 | 429,
  message: string,
  cause?: unknown,
): ProxyError {
  return new ProxyError(status, RpcCode.limitExceeded, message, cause);
}

/** 400 / -32700: the caller disconnected in the middle of its body; the answer is only counted. */
export function bodyEnded(cause: unknown): ProxyError {
  return new ProxyError(400, RpcCode.parseError, "Body ended early", cause);
}

/** The text of a failure answer, with the id of the call as it was written. */
export function failureText(
  id: string | undefined,
  { rpcCode: code, message }: Pick<RpcError, "rpcCode" | "message">,
): string {
  return answerText(id, "error", JSON.stringify({ code, message }));
}

/** The text of an answer of the proxy itself; `value` is JSON. */
export function answerText(
  id: string | undefined,
  member: "result" | "error",
  value: string,
): string {
  return `{"jsonrpc":"2.0","id":${id ?? "null"},"${member}":${value}}`;
}
