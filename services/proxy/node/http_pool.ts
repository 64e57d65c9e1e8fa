import { Buffer } from "node:buffer";
import type { Clock } from "../../../lib/clock.ts";
import { messageOf } from "../../../lib/errors.ts";
import { FORWARDED_FOR } from "../../../lib/http/caller_address.ts";
import { gatewayReason } from "../../../lib/net/http_request.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import type { ByteBudget } from "../shared/limits.ts";
import type { NodeReply } from "../shared/envelopes.ts";
import {
  answerLost,
  limitExceeded,
  nodeTimeout,
  nodeUnreachable,
  type ProxyError,
} from "../shared/failures.ts";
import type { ProxyMetrics, Target } from "../shared/metrics.ts";
import { Deadlines } from "../shared/deadlines.ts";
import { ConnectionError, HttpConnection } from "./http_connection.ts";
import type { ReadNode } from "./read_node.ts";
import { ReplyError } from "./reply_body.ts";

const log = serviceLog("proxy");

/** Most connections to one node, each with one request: the default of an nginx worker. */
export const HTTP_CONNECTIONS_MAX = 1_024;

export interface NodePort {
  /**
   * Posts a message. It is never sent to the same node twice, unless it is plain.
   *
   * @throws {ProxyError} -32002 if no answer came (502) or not in time (504); -32005 (429) if too
   *   many requests are open or too many bytes of answers are in memory.
   */
  post(text: string, options: PostOptions): Promise<NodeReply>;
}

export interface HttpPoolOptions {
  target: Target;
  /** An `http:` or `https:` URL; a user and password in it are sent along. */
  url: URL;
  /** How long the node may take from the request to the end of its answer. */
  timeoutMs: number;
  /** Measures durations. */
  clock: Clock;
  /** Counts the bytes of answers that are being read. */
  budget: ByteBudget;
  metrics?: Pick<ProxyMetrics, "upstreamLatencyOf" | "upstreamErrors" | "countRefusal">;
  /** Called when a request is answered, with the status, or failed. */
  onEnd?: (status: number | undefined, error?: ConnectionError) => void;
}

export interface PostOptions {
  /** The read node; the leader by default. */
  node?: ReadNode;
  forwardedFor: string;
  /**
   * The message changes nothing. It goes over a reused connection, is sent again if that was stale,
   * and is sent to another node with its blocks if this one fails. All other messages are sent at
   * most once, over a new connection: a node may close an idle connection at the moment of a request.
   */
  isPlain?: boolean;
  /** The blocks that a plain message names. */
  blocks?: readonly number[] | undefined;
  /** Whether a body answers this message. Any other body is rejected, and its connection closed. */
  isAnswer?: (body: string) => boolean;
}

/**
 * Posts to a node over HTTP/1.1 connections of undici. The runtime's `fetch` and `node:http` send
 * a POST twice when a reused connection closes before the answer; undici does not.
 */
export class HttpPool implements NodePort {
  readonly #options: HttpPoolOptions;
  readonly #headers: readonly string[];
  /** Connections with a request that is not answered yet. */
  readonly #open: Deadlines<HttpConnection>;
  /** Connections for plain reads, most recently used last. undici closes those that are idle. */
  readonly #idle: HttpConnection[] = [];
  readonly #observe: ((seconds: number) => void) | undefined;
  #isStopped = false;

  constructor(options: HttpPoolOptions) {
    this.#options = options;
    const { url, clock, timeoutMs, metrics, target } = options;
    this.#observe = metrics?.upstreamLatencyOf(target);
    const fixed = ["content-type", "application/json", "accept-encoding", "identity"];
    this.#headers = [...fixed, ...authorization(url)];
    this.#open = new Deadlines(clock, timeoutMs, (connection) => {
      connection.destroy(new ReplyError("timeout", `No answer within ${timeoutMs} ms`));
    });
  }

  /** Posts a message. @throws {ProxyError} See {@link NodePort}; its cause is a ConnectionError. */
  async post(text: string, options: PostOptions): Promise<NodeReply> {
    const { clock, onEnd, metrics, target } = this.#options;
    const startedAtMs = clock.now();
    let status: number | undefined;
    let error: ConnectionError | undefined;
    try {
      const reply = await this.#ask(text, options, startedAtMs);
      status = reply.status;
      if (gatewayReason(status) !== undefined) metrics?.upstreamErrors.inc({ target });
      return reply;
    } catch (thrown) {
      if (!(thrown instanceof ConnectionError)) throw thrown;
      error = thrown;
      metrics?.upstreamErrors.inc({ target });
      throw this.#failureOf(error);
    } finally {
      this.#observe?.((clock.now() - startedAtMs) / 1000);
      onEnd?.(status, error);
    }
  }

  /** Ends the connections with an open request, so that their plain reads move to another node. */
  abandon(reason: string): void {
    for (const connection of this.#open.clear()) {
      connection.destroy(new ReplyError("abandoned", reason));
    }
  }

  /** Fails open requests and closes every connection; later posts fail. */
  stop(): void {
    this.#isStopped = true;
    const reason = new Error("The proxy is stopping");
    for (const connection of [...this.#open.clear(), ...this.#idle.splice(0)]) {
      connection.destroy(reason);
    }
  }

  /**
   * Sends a message. A plain one is sent again, over a new connection and with the whole time for
   * its answer, if a reused one was stale.
   */
  async #ask(text: string, options: PostOptions, nowMs: number): Promise<NodeReply> {
    if (!options.isPlain) return await this.#send(text, options, nowMs);
    try {
      return await this.#send(text, options, nowMs, { mayReuse: true });
    } catch (thrown) {
      if (!(thrown instanceof ConnectionError && thrown.isStale)) throw thrown;
      return await this.#send(text, options, this.#options.clock.now());
    }
  }

  /** Sends a message once. @throws {ConnectionError} If there is no answer to it. */
  async #send(
    text: string,
    { forwardedFor, isPlain = false, isAnswer }: PostOptions,
    nowMs: number,
    { mayReuse = false } = {},
  ): Promise<NodeReply> {
    if (this.#isStopped) {
      throw new ConnectionError("connecting", new Error("The proxy is stopping"));
    }
    if (this.#open.size >= HTTP_CONNECTIONS_MAX) {
      const busy = new ReplyError("busy", `${HTTP_CONNECTIONS_MAX} requests are open`);
      throw new ConnectionError("connecting", busy);
    }
    const { url, budget } = this.#options;
    const reused = mayReuse ? this.#idle.pop() : undefined;
    const connection = reused ?? new HttpConnection(url, budget);
    const deadline = this.#open.add(connection, nowMs);
    let isReusable = false;
    try {
      const headers = [...this.#headers, FORWARDED_FOR, forwardedFor];
      const reply = await connection.send(text, headers, !isPlain);
      if (reply.status === 200 && isAnswer?.(reply.body) === false) {
        // From now on, each answer on this connection would belong to another request.
        throw new ConnectionError("reused", new ReplyError("invalid", "It answered another call"));
      }
      isReusable = isPlain && connection.isDrained && !this.#isStopped;
      return reply;
    } finally {
      this.#open.finish(deadline);
      if (isReusable) this.#idle.push(connection);
      else connection.destroy(new Error("The connection is not used again"));
    }
  }

  #failureOf(error: ConnectionError): ProxyError {
    const { target, timeoutMs, metrics } = this.#options;
    const { stage, abortReason, message, cause } = error;
    const reason = messageOf(cause);
    log.debug("The {target} node gave no answer: {reason}", { target, reason });
    if (abortReason === "memory") metrics?.countRefusal("buffered_bytes");
    if (abortReason === "busy") return limitExceeded(429, `The ${target} node: ${message}`, error);
    if (abortReason === "memory" && target === "read") return limitExceeded(429, message, error);
    const isSent = stage !== "connecting";
    if (abortReason === "timeout") return nodeTimeout(target, timeoutMs, error, { isSent });
    return (isSent ? answerLost : nodeUnreachable)(target, message, error);
  }
}

/** User and password of a URL as a header (RFC 7617), or nothing. */
function authorization({ username, password }: URL): string[] {
  if (username === "" && password === "") return [];
  const pair = `${decoded(username)}:${decoded(password)}`;
  return ["authorization", `Basic ${Buffer.from(pair).toString("base64")}`];
}

/** A part of a URL without its escapes; unchanged if it has none. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a percent sign that starts no escape
  }
}
