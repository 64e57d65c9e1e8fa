import type { Clock } from "../../../lib/clock.ts";
import { messageOf } from "../../../lib/errors.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import { parseJson, parseResponse } from "../../../lib/protocol/jsonrpc.ts";
import type { ByteBudget } from "../byte_budget.ts";
import {
  BusyError,
  HttpPool,
  type HttpPoolOptions,
  ReplyTimeoutError,
} from "../http_pool/http_pool.ts";
import type { ConnectionError } from "../http_pool/node_connection.ts";
import type { NodeReply } from "../http_pool/reply_body.ts";
import { ReplyBudgetError } from "../http_pool/reply_reader.ts";
import type { ProxyMetrics, Target } from "../metrics.ts";
import { answerLost, limitExceeded, nodeTimeout, nodeUnreachable } from "../failures.ts";

const log = serviceLog("proxy");

/** The router's interface to a node. */
export interface NodePort {
  /**
   * Posts a message. It is never sent to the same node twice, unless `retryIfStale` is set.
   *
   * @throws {ProxyError} -32002 if no answer came (502) or not in time (504); -32005 (429) if too
   *   many requests are open or too many bytes of answers are in memory.
   */
  post(text: string, options: PostOptions): Promise<NodeReply>;
}

/** How a message is posted. */
export interface PostOptions {
  /** Value of `X-Forwarded-For`. */
  forwardedFor: string;
  /** Send it again if a reused connection turns out to be closed. */
  retryIfStale?: boolean;
  /** Whether a body answers this message; another one is not taken, and ends its connection. */
  isAnswer?: (body: string) => boolean;
  /** Send it once more to another read node, if there are several and this one failed. */
  allowFailover?: boolean;
  /** Which one of the read nodes; by default the one that leads. */
  node?: number;
}

/** Address and timeout of a node. */
export interface NodeHttpOptions {
  target: Target;
  url: string;
  timeoutMs: number;
  /** For durations only. */
  clock: Clock;
  budget: ByteBudget;
  metrics: ProxyMetrics;
  onEnd?: HttpPoolOptions["onEnd"];
  elsewhere?: HttpPoolOptions["elsewhere"];
}

/** HTTP connections to one node, with metrics and JSON-RPC errors. */
export function nodeHttp(options: NodeHttpOptions): HttpPool {
  const { target, url, timeoutMs, clock, budget, metrics, onEnd, elsewhere } = options;
  const observe = metrics.upstreamLatency(target);
  return new HttpPool({
    url: new URL(url),
    timeoutMs,
    clock,
    budget,
    elsewhere,
    onEnd(tookMs, status, error) {
      observe(tookMs / 1000);
      if (error !== undefined) metrics.upstreamErrors.inc({ target });
      onEnd?.(tookMs, status, error);
    },
    failure(error) {
      if (error.cause instanceof ReplyBudgetError) metrics.countRefusal("buffered_bytes");
      return failureOf(error, target, timeoutMs);
    },
  });
}

/** Posts a message to one node. */
export function postTo(pool: HttpPool, text: string, options: PostOptions): Promise<NodeReply> {
  const { forwardedFor, retryIfStale = false, allowFailover = false, isAnswer } = options;
  return pool.post(text, forwardedFor, retryIfStale, allowFailover, isAnswer);
}

function failureOf(error: ConnectionError | BusyError, target: Target, timeoutMs: number): Error {
  const { cause } = error;
  const reason = messageOf(cause ?? error);
  log.debug("The {target} node gave no answer: {reason}", { target, reason });
  if (error instanceof BusyError) return limitExceeded(429, `The ${target} node: ${error.message}`);
  if (cause instanceof ReplyBudgetError && target === "read") {
    return limitExceeded(429, cause.message);
  }
  if (cause instanceof ReplyTimeoutError) return nodeTimeout(target, timeoutMs);
  const wasSent = error.stage !== "connecting";
  return (wasSent ? answerLost : nodeUnreachable)(target, error.message, error);
}

/** Calls a method of a node for the proxy itself. @returns Its result. */
export async function ask(
  node: Pick<NodePort, "post">,
  method: string,
  params: unknown[],
): Promise<unknown> {
  const text = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const reply = await node.post(text, { forwardedFor: "127.0.0.1" });
  return parseResponse(parseJson(reply.body)).result;
}
