import { getLogger } from "@logtape/logtape";
import type { Clock } from "../../../lib/clock.ts";
import { messageOf } from "../../../lib/errors.ts";
import { LOG_ROOT } from "../../../lib/http/logging.ts";
import { parseJson, parseResponse } from "../../../lib/protocol/jsonrpc.ts";
import { quantitySchema } from "../hub/head_watch.ts";
import { answerLost, limitExceeded, nodeTimeout, nodeUnreachable } from "./failures.ts";
import { BusyError, HttpPool, ReplyTimeoutError } from "../http_pool/http_pool.ts";
import type { ProxyMetrics, Target } from "../metrics.ts";
import { ConnectionError } from "../http_pool/node_connection.ts";
import { bodyText, type NodeReply } from "../http_pool/reply_body.ts";

const log = getLogger([LOG_ROOT, "proxy"]);

/** A node as the router sees it. */
export interface NodePort {
  /**
   * Posts a message.
   *
   * @param mayRepeat It may be posted a second time where a kept connection turns out to have ended;
   *   otherwise it never is.
   * @throws {ProxyError} -32002 where no answer came (502) or not in time (504); -32005 (429) where
   *   too many requests are under way.
   */
  post(text: string, forwardedFor: string, mayRepeat?: boolean): Promise<NodeReply>;
}

/** Where a node is and how patient to be with it. */
export interface NodeHttpOptions {
  target: Target;
  url: string;
  timeoutMs: number;
  /** For durations alone. */
  clock: Clock;
  metrics: ProxyMetrics;
}

/** One node over HTTP. */
export class NodeHttp implements NodePort {
  readonly #options: NodeHttpOptions;
  readonly #connections: HttpPool;

  constructor(options: NodeHttpOptions) {
    this.#options = options;
    const { url, timeoutMs, clock } = options;
    this.#connections = new HttpPool({ url: new URL(url), timeoutMs, clock });
  }

  /** Ends what is under way, and the connections that are kept. */
  stop(): void {
    this.#connections.stop();
  }

  async post(text: string, forwardedFor: string, mayRepeat = false): Promise<NodeReply> {
    const { target, metrics } = this.#options;
    const startedAtMs = performance.now();
    try {
      return await this.#connections.post(text, forwardedFor, mayRepeat);
    } catch (thrown) {
      metrics.upstreamErrors.inc({ target });
      throw this.#failure(thrown);
    } finally {
      metrics.observeUpstream(target, performance.now() - startedAtMs);
    }
  }

  #failure(thrown: unknown): Error {
    const { target, timeoutMs } = this.#options;
    const cause = thrown instanceof Error ? thrown.cause : undefined;
    log.debug("The {target} node gave no answer: {reason}", {
      target,
      reason: messageOf(cause ?? thrown),
    });
    if (thrown instanceof BusyError) {
      return limitExceeded(429, `The ${target} node: ${thrown.message}`);
    }
    if (cause instanceof ReplyTimeoutError) return nodeTimeout(target, timeoutMs);
    const sent = !(thrown instanceof ConnectionError) || thrown.stage !== "connecting";
    return (sent ? answerLost : nodeUnreachable)(target, messageOf(thrown), thrown);
  }
}

/** Reads the newest block number of a node over HTTP. */
export async function readHead(node: NodePort): Promise<bigint> {
  const text = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}';
  const reply = await node.post(text, "127.0.0.1");
  return quantitySchema.parse(parseResponse(parseJson(bodyText(reply.body))).result);
}
