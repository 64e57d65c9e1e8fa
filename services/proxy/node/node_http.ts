import type { Clock } from "../../../lib/clock.ts";
import { messageOf } from "../../../lib/errors.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import type { ByteBudget } from "../byte_budget.ts";
import { type Answer, answerTo, callText, type NodeReply, readAnswer } from "../call_envelope.ts";
import type { ProxyMetrics, Target } from "../metrics.ts";
import { answerLost, limitExceeded, nodeTimeout, nodeUnreachable } from "../failures.ts";
import {
  BusyError,
  HttpPool,
  type HttpPoolOptions,
  type HttpPostOptions,
  type PostError,
  ReplyTimeoutError,
} from "./http_pool.ts";
import type { Read } from "./open_reads.ts";
import { ReplyBudgetError } from "./reply_body.ts";

const log = serviceLog("proxy");

/** The router's interface to a node. */
export interface NodePort {
  /**
   * Posts a message. It is never sent to the same node twice, unless it is plain.
   *
   * @throws {ProxyError} -32002 if no answer came (502) or not in time (504); -32005 (429) if too
   *   many requests are open or too many bytes of answers are in memory.
   */
  post(text: string, options: PostOptions): Promise<NodeReply>;
}

/** How a message is posted. */
export interface PostOptions extends HttpPostOptions {
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
  failover?: HttpPoolOptions["failover"];
}

/** HTTP connections to one node, with metrics and JSON-RPC errors. */
export function nodeHttp(options: NodeHttpOptions): HttpPool {
  const { target, url, timeoutMs, clock, budget, metrics, onEnd, failover } = options;
  const observe = metrics.upstreamLatency(target);
  return new HttpPool({
    url: new URL(url),
    timeoutMs,
    clock,
    budget,
    failover,
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

function failureOf(error: PostError, target: Target, timeoutMs: number): Error {
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

/**
 * Sends a plain read, again if it was lost on a stale connection, and to another node if this one
 * fails.
 *
 * @throws {ProxyError} As {@link NodePort.post}, and 502 if the node answered another call.
 */
export async function askOverHttp(
  nodes: NodePort,
  { rest, node, forwardedFor }: Read,
  id: number,
): Promise<Answer> {
  const isAnswer = (body: string) => readAnswer({ status: 200, body }, id) !== undefined;
  const options = { forwardedFor, node, isPlain: true, isAnswer };
  return answerTo(id, await nodes.post(callText(rest, id), options), "read");
}
