import { Buffer } from "node:buffer";
import type { Clock } from "../../../lib/clock.ts";
import { messageOf } from "../../../lib/errors.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import type { ByteBudget } from "../byte_budget.ts";
import { type Deadline, Deadlines } from "../deadlines.ts";
import type { NodeReply } from "../call_envelope.ts";
import {
  answerLost,
  limitExceeded,
  nodeTimeout,
  nodeUnreachable,
  type ProxyError,
} from "../failures.ts";
import type { ProxyMetrics, Target } from "../metrics.ts";
import {
  ConnectionError,
  type ConnectionOwner,
  type Exchange,
  HttpConnection,
} from "./http_connection.ts";
import { ReplyError } from "./reply_body.ts";

const log = serviceLog("proxy");

/** Most connections to one node, and so open requests: the default of an nginx worker. */
export const CONNECTIONS_MAX = 1_024;

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
  /** For durations only. */
  clock: Clock;
  /** Counts the bytes of answers that are being read. */
  budget: ByteBudget;
  metrics?: Pick<ProxyMetrics, "upstreamLatency" | "upstreamErrors" | "countRefusal">;
  /** Called when a request is answered, with the status, or failed. */
  onEnd?: (status: number | undefined, error?: ConnectionError) => void;
  /** Another pool for a plain read that this node refused or did not answer; undefined to give up. */
  failover?: () => HttpPool | undefined;
}

export interface PostOptions {
  /** Which one of the read nodes; by default the one that leads. */
  node?: number;
  forwardedFor: string;
  /**
   * It changes nothing: it goes over a connection that is kept, is sent again if the node has just
   * closed that, and once more to another node if this one fails. All else is sent at most once, over
   * a connection of its own: a node may close an idle one at the moment of a request.
   */
  isPlain?: boolean;
  /** Whether a body answers this message; another one is not taken, and ends its connection. */
  isAnswer?: (body: string) => boolean;
}

/**
 * Posts to a node over HTTP/1.1 connections of undici. `fetch` and `node:http` of the runtime send a
 * POST twice when a reused connection closes before the answer; undici does not.
 */
export class HttpPool implements NodePort, ConnectionOwner<Post> {
  readonly #options: HttpPoolOptions;
  readonly #headers: readonly string[];
  /** Requests without an answer yet. */
  readonly #open: Deadlines<Post>;
  /** Connections for plain reads, most recently used last. undici closes those that are idle. */
  readonly #idle: HttpConnection<Post>[] = [];
  readonly #observe: ((seconds: number) => void) | undefined;
  #isStopped = false;

  constructor(options: HttpPoolOptions) {
    this.#options = options;
    const { url, clock, timeoutMs, metrics, target } = options;
    this.#observe = metrics?.upstreamLatency(target);
    this.#headers = [
      ...["content-type", "application/json", "accept-encoding", "identity"],
      ...authorization(url),
    ];
    this.#open = new Deadlines(clock, timeoutMs, (post) => {
      post.connection?.destroy(new ReplyError("timeout", `No answer within ${timeoutMs} ms`));
    });
  }

  /** Requests without an answer yet. */
  get open(): number {
    return this.#open.size;
  }

  /** Posts a message. @throws {ProxyError} See {@link NodePort}; its cause is a ConnectionError. */
  post(text: string, options: PostOptions): Promise<NodeReply> {
    return new Promise((resolve, reject) => {
      this.#send(new Post(text, options, resolve, reject));
    });
  }

  /** Ends the connections with an open request, so that their plain reads move to another node. */
  abandon(reason: string): void {
    for (const { connection } of this.#open.clear()) {
      connection?.destroy(new ReplyError("abandoned", reason));
    }
  }

  /** Fails open requests and closes every connection; later posts fail. */
  stop(): void {
    this.#isStopped = true;
    const reason = new Error("The proxy stops");
    for (const { connection } of this.#open.clear()) connection?.destroy(reason);
    for (const connection of this.#idle.splice(0)) connection.destroy(reason);
  }

  /** For its connections: handles the answer, and keeps the connection if it is reusable. */
  replied(post: Post, connection: HttpConnection<Post>, status: number, body: string): void {
    this.#finish(post);
    // From here on, the connection would answer each request with the answer to another one.
    const isMisled = status === 200 && post.options.isAnswer?.(body) === false;
    const isKept = post.isPlain && connection.isDrained && !isMisled;
    if (isKept) this.#idle.push(connection);
    else connection.destroy(new Error("The connection is not used again"));
    if (isMisled) {
      const wrong = new ReplyError("invalid", "It answered another call");
      return this.#repeat(post, new ConnectionError("sent", wrong));
    }
    this.#count(post, status);
    if (isRefusal(status) && this.#move(post)) return;
    post.resolve({ status, body });
  }

  /** For its connections: handles the failure, and sends the request again if that is safe. */
  failed(post: Post, connection: HttpConnection<Post>, error: ConnectionError): void {
    this.#finish(post);
    connection.destroy(error);
    const { stage, ownReason } = error;
    const isStale = stage === "kept" && ownReason !== "timeout" && ownReason !== "abandoned";
    if (isStale) this.#repeat(post, error);
    else this.#reject(post, error);
  }

  /** Sends a plain read again, once, over a new connection. */
  #repeat(post: Post, error: ConnectionError): void {
    if (!post.isPlain || post.isRepeated) return this.#reject(post, error);
    post.isRepeated = true;
    this.#sendOver(undefined, post, this.#options.clock.now());
  }

  /** Sends a plain read to another node. @returns False if it was before, or there is none. */
  #move(post: Post): boolean {
    const other = post.isPlain && !post.isMoved ? this.#options.failover?.() : undefined;
    if (other === undefined) return false;
    post.isMoved = true;
    post.isRepeated = false;
    other.#send(post);
    return true;
  }

  #send(post: Post): void {
    post.startedAtMs = this.#options.clock.now();
    this.#sendOver(post.isPlain ? this.#idle.pop() : undefined, post, post.startedAtMs);
  }

  #sendOver(idle: HttpConnection<Post> | undefined, post: Post, nowMs: number): void {
    if (this.#isStopped) {
      return this.#reject(post, new ConnectionError("connecting", new Error("The proxy stops")));
    }
    if (this.open >= CONNECTIONS_MAX) {
      const busy = new ReplyError("busy", `${CONNECTIONS_MAX} requests are open`);
      return this.#reject(post, new ConnectionError("connecting", busy));
    }
    const { url, budget } = this.#options;
    const connection = idle ?? new HttpConnection<Post>(this, url, budget);
    post.connection = connection;
    post.deadline = this.#open.add(post, nowMs);
    connection.send(post, [...this.#headers, "x-forwarded-for", post.options.forwardedFor]);
  }

  #finish({ deadline }: Post): void {
    if (deadline !== undefined) this.#open.finish(deadline);
  }

  #reject(post: Post, error: ConnectionError): void {
    this.#count(post, undefined, error);
    // Another node would take as long, or send as much.
    const isOwnLimit = error.ownReason === "timeout" || error.ownReason === "memory";
    if (!isOwnLimit && this.#move(post)) return;
    post.reject(this.#failureOf(error));
  }

  #count({ startedAtMs }: Post, status: number | undefined, error?: ConnectionError): void {
    const { clock, metrics, target, onEnd } = this.#options;
    this.#observe?.((clock.now() - startedAtMs) / 1000);
    if (error !== undefined) metrics?.upstreamErrors.inc({ target });
    onEnd?.(status, error);
  }

  #failureOf(error: ConnectionError): ProxyError {
    const { target, timeoutMs, metrics } = this.#options;
    const { stage, ownReason, message, cause } = error;
    const reason = messageOf(cause);
    log.debug("The {target} node gave no answer: {reason}", { target, reason });
    if (ownReason === "memory") metrics?.countRefusal("buffered_bytes");
    if (ownReason === "busy") return limitExceeded(429, `The ${target} node: ${message}`, error);
    if (ownReason === "memory" && target === "read") return limitExceeded(429, message, error);
    if (ownReason === "timeout") return nodeTimeout(target, timeoutMs, error);
    return (stage === "connecting" ? nodeUnreachable : answerLost)(target, message, error);
  }
}

/**
 * One call of {@link HttpPool.post}: an object, because a closure per step would be slower. Each attempt
 * ends in {@link HttpPool.replied} or {@link HttpPool.failed}. There are up to four of a plain read:
 *
 * 1. `#send` over a kept connection, or a new one;
 * 2. `#repeat` over a new one, if the kept one was closed or answered another call (`isRepeated`);
 * 3. and 4. `#move` to another node, if this one failed or refused (`isMoved`), where 1. and 2. follow.
 *
 * Everything else is sent once.
 */
class Post implements Exchange {
  connection: HttpConnection<Post> | undefined;
  deadline: Deadline<Post> | undefined;
  startedAtMs = 0;
  isRepeated = false;
  isMoved = false;

  constructor(
    readonly text: string,
    readonly options: PostOptions,
    readonly resolve: (reply: NodeReply) => void,
    readonly reject: (error: Error) => void,
  ) {}

  get isPlain(): boolean {
    return this.options.isPlain ?? false;
  }
}

/** Whether an answer means that the node cannot serve now. */
function isRefusal(status: number): boolean {
  return status === 429 || status >= 500;
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
