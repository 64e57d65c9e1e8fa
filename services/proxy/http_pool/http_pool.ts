import { Buffer } from "node:buffer";
import { connect, isIP } from "node:net";
import { connect as connectTls } from "node:tls";
import type { CancelTimer, Clock } from "../../../lib/clock.ts";
import { RangemakerError } from "../../../lib/errors.ts";
import { ByteBudget } from "../byte_budget.ts";
import { Deadlines } from "../deadlines.ts";
import { ConnectionError, type Exchange, NodeConnection } from "./node_connection.ts";
import { bodyOf, type NodeReply } from "./reply_body.ts";
import { type HttpReply, ReplyBudgetError } from "./reply_reader.ts";

/** Most connections to one node, and so open requests: the default of an nginx worker. */
export const CONNECTIONS_MAX = 1_024;

/** An idle connection is closed after this: many servers close theirs after five seconds. */
export const IDLE_MS = 4_000;

/** Options of an {@link HttpPool}. */
export interface HttpPoolOptions {
  /** An `http:` or `https:` URL; a user and password in it are sent along. */
  url: URL;
  /** How long the node may take from the request to the end of its answer. */
  timeoutMs: number;
  clock: Clock;
  /** Counts the bytes of answers that are being read; without it, only each answer is bounded. */
  budget?: ByteBudget;
  /** Called when a request is answered, with the status, or failed. */
  onEnd?: (tookMs: number, status: number | undefined, error?: ConnectionError | BusyError) => void;
  /** Another pool for a read that this node refused or did not answer; undefined to give up. */
  elsewhere?: () => HttpPool | undefined;
  /** Turns an error into the one that {@link HttpPool.post} rejects with. */
  failure?: (error: ConnectionError | BusyError) => Error;
}

/** The node took too long. */
export class ReplyTimeoutError extends RangemakerError {
  constructor(timeoutMs: number) {
    super("NODE_TIMEOUT", `No answer within ${timeoutMs} ms`);
  }
}

/** The node sent something other than the answer to the request. */
export class WrongReplyError extends RangemakerError {
  constructor() {
    super("NODE_WRONG_REPLY", "It answered another call");
  }
}

/** The node does not respond, so its open requests are abandoned. */
export class AbandonedError extends RangemakerError {
  constructor(reason: string) {
    super("NODE_ABANDONED", reason);
  }
}

/** All {@link CONNECTIONS_MAX} connections are in use. */
export class BusyError extends RangemakerError {
  constructor() {
    super("NODE_BUSY", `${CONNECTIONS_MAX} requests are open`);
  }
}

/**
 * Posts to a node over its own keep-alive HTTP/1.1 connections. That takes half the time of `fetch`
 * (see `tests/bench/proxy_http_bench.ts`), and it never sends a write twice, as `fetch` does when a
 * reused connection closes before the answer.
 */
export class HttpPool {
  readonly #options: HttpPoolOptions;
  readonly #budget: ByteBudget;
  readonly #head: string;
  /** Connections with a request, and its deadline. */
  readonly #busy: Deadlines<NodeConnection>;
  /** Idle connections, most recently used last, with the start of their idle time. */
  readonly #idle: { connection: NodeConnection; sinceMs: number }[] = [];
  #cancelIdleTimer: CancelTimer | undefined;
  #stopped = false;

  constructor(options: HttpPoolOptions) {
    this.#options = options;
    this.#budget = options.budget ?? new ByteBudget(Infinity);
    const { url, clock, timeoutMs } = options;
    this.#head = `POST ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n` +
      "content-type: application/json\r\naccept-encoding: identity\r\n" + authorization(url) +
      "x-forwarded-for: ";
    this.#busy = new Deadlines(clock, timeoutMs, (connection) => {
      connection.destroy(new ReplyTimeoutError(timeoutMs));
    });
  }

  /** Requests without an answer yet. */
  get open(): number {
    return this.#busy.size;
  }

  /**
   * Posts a message once.
   *
   * @param forwardedFor Value of `X-Forwarded-For`.
   * @param mayRepeat Send it again if a reused connection turns out to be closed.
   * @param mayMove Send it once more to another node, where there are several.
   * @param isAnswer Whether a body answers this request. Another one ends its connection.
   * @throws {ConnectionError} If no answer came; its cause may be a ReplyTimeoutError.
   * @throws {BusyError} If too many requests are open.
   */
  post(
    text: string,
    forwardedFor: string,
    mayRepeat = false,
    mayMove = mayRepeat,
    isAnswer?: (body: string) => boolean,
  ): Promise<NodeReply> {
    // A header value cannot contain a line end: the HTTP parser that read it ensures that.
    const rest = `${forwardedFor}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
    return new Promise((resolve, reject) => {
      const startedAtMs = this.#options.clock.now();
      this.#send(new Post(this, rest, mayRepeat, mayMove, isAnswer, startedAtMs, resolve, reject));
    });
  }

  /** Ends the connections with an open request, so that their reads move to another node. */
  abandon(reason: string): void {
    for (const connection of this.#busy.clear()) connection.destroy(new AbandonedError(reason));
  }

  /** Fails open requests and closes every connection; later posts fail. */
  stop(): void {
    this.#stopped = true;
    this.#cancelIdleTimer?.();
    const reason = new Error("The proxy stops");
    const idle = this.#idle.splice(0).map(({ connection }) => connection);
    for (const connection of [...this.#busy.clear(), ...idle]) connection.destroy(reason);
  }

  /** For {@link Post}: handles the answer, and keeps the connection if it is reusable. */
  replied(post: Post, connection: NodeConnection, reply: HttpReply): void {
    const nowMs = this.#options.clock.now();
    this.#finish(connection);
    const { status } = reply;
    const body = typeof reply.body === "string" ? reply.body : bodyOf(reply.body);
    // From here on, the connection would answer each request with the answer to another one.
    if (status === 200 && post.isAnswer?.(body) === false) {
      return this.#misled(post, connection, nowMs);
    }
    if (reply.reusable && !this.#stopped) this.#keep(connection, nowMs);
    this.#options.onEnd?.(nowMs - post.startedAtMs, status);
    if (isRefusal(status) && this.#move(post, nowMs)) return;
    post.resolve({ status, body });
  }

  /** The node sent an answer that nobody asked for. A read is sent again, over a new connection. */
  #misled(post: Post, connection: NodeConnection, nowMs: number): void {
    const error = new ConnectionError("sent", new WrongReplyError());
    connection.destroy(error);
    if (!post.mayRepeat) return this.#reject(post, error, nowMs);
    post.mayRepeat = false;
    this.#open(post);
  }

  /** For {@link Post}: handles the failure, and sends the request again if that is safe. */
  failed(post: Post, connection: NodeConnection, error: ConnectionError): void {
    const nowMs = this.#options.clock.now();
    this.#finish(connection);
    const isRepeatable = post.mayRepeat && error.stage === "kept" &&
      !(error.cause instanceof ReplyTimeoutError || error.cause instanceof AbandonedError);
    if (!isRepeatable) return this.#reject(post, error, nowMs);
    post.mayRepeat = false;
    this.#open(post);
  }

  /** Sends a read to another node. @returns False if it was sent to another one, or there is none. */
  #move(post: Post, nowMs: number): boolean {
    const other = post.mayMove ? this.#options.elsewhere?.() : undefined;
    if (other === undefined) return false;
    post.mayMove = false;
    post.mayRepeat = true;
    post.pool = other;
    post.startedAtMs = nowMs;
    other.#send(post);
    return true;
  }

  #send(post: Post): void {
    post.request = this.#head + post.rest;
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (!idle.connection.usable) continue;
      idle.connection.deadline = this.#busy.add(idle.connection, post.startedAtMs);
      return idle.connection.send(post);
    }
    this.#open(post);
  }

  #reject(post: Post, error: ConnectionError | BusyError, nowMs: number): void {
    this.#options.onEnd?.(nowMs - post.startedAtMs, undefined, error);
    // Another node would take as long, or send as much.
    const isOwnLimit = error.cause instanceof ReplyTimeoutError ||
      error.cause instanceof ReplyBudgetError;
    if (!isOwnLimit && this.#move(post, nowMs)) return;
    post.reject(this.#options.failure?.(error) ?? error);
  }

  #finish({ deadline }: NodeConnection): void {
    if (deadline !== undefined) this.#busy.finish(deadline);
  }

  #open(post: Post): void {
    const nowMs = this.#options.clock.now();
    if (this.#stopped) {
      const error = new ConnectionError("connecting", new Error("The proxy stops"));
      return this.#reject(post, error, nowMs);
    }
    if (this.#busy.size >= CONNECTIONS_MAX) return this.#reject(post, new BusyError(), nowMs);
    const connection = this.#connect();
    connection.deadline = this.#busy.add(connection, nowMs);
    connection.send(post);
  }

  #connect(): NodeConnection {
    const { hostname, port, protocol } = this.#options.url;
    const host = hostname.replace(/^\[(.*)\]$/, "$1"); // an IPv6 address
    const onGone = () => this.#forget(connection);
    const connection: NodeConnection = protocol === "https:"
      ? new NodeConnection(
        connectTls({
          host,
          port: Number(port || 443),
          // A certificate is for a name; an address must not be sent as one.
          ...(isIP(host) === 0 ? { servername: host } : {}),
          ALPNProtocols: ["http/1.1"],
        }),
        "secureConnect",
        this.#budget,
        onGone,
      )
      : new NodeConnection(
        connect({ host, port: Number(port || 80) }),
        "connect",
        this.#budget,
        onGone,
      );
    return connection;
  }

  #keep(connection: NodeConnection, nowMs: number): void {
    this.#idle.push({ connection, sinceMs: nowMs });
    this.#cancelIdleTimer ??= this.#closeIdleAfter(IDLE_MS);
  }

  #closeIdleAfter(delayMs: number): CancelTimer {
    return this.#options.clock.after(delayMs, () => {
      this.#cancelIdleTimer = undefined;
      const endMs = this.#options.clock.now() - IDLE_MS;
      const kept = this.#idle.findIndex(({ sinceMs }) => sinceMs > endMs);
      const expired = this.#idle.splice(0, kept === -1 ? this.#idle.length : kept);
      for (const { connection } of expired) connection.destroy(new Error("Idle for too long"));
      const [oldest] = this.#idle;
      if (oldest === undefined) return;
      this.#cancelIdleTimer = this.#closeIdleAfter(oldest.sinceMs - endMs);
    });
  }

  #forget(connection: NodeConnection): void {
    const at = this.#idle.findIndex((idle) => idle.connection === connection);
    if (at !== -1) this.#idle.splice(at, 1);
    if (this.#idle.length > 0) return;
    this.#cancelIdleTimer?.();
    this.#cancelIdleTimer = undefined;
  }
}

/** One call of {@link HttpPool.post}: an object, because a closure per step would be slower. */
class Post implements Exchange {
  request = "";

  constructor(
    public pool: HttpPool,
    /** The request after the part that is the same for all requests to a node. */
    readonly rest: string,
    public mayRepeat: boolean,
    public mayMove: boolean,
    readonly isAnswer: ((body: string) => boolean) | undefined,
    public startedAtMs: number,
    readonly resolve: (reply: NodeReply) => void,
    readonly reject: (error: Error) => void,
  ) {}

  replied(connection: NodeConnection, reply: HttpReply): void {
    this.pool.replied(this, connection, reply);
  }

  failed(connection: NodeConnection, error: ConnectionError): void {
    this.pool.failed(this, connection, error);
  }
}

/** Whether an answer means that the node cannot serve now. */
function isRefusal(status: number): boolean {
  return status === 429 || status >= 500;
}

/** User and password of a URL as a header line (RFC 7617), or an empty text. */
function authorization({ username, password }: URL): string {
  if (username === "" && password === "") return "";
  const pair = `${decoded(username)}:${decoded(password)}`;
  return `authorization: Basic ${Buffer.from(pair).toString("base64")}\r\n`;
}

/** A part of a URL without its escapes; unchanged if it has none. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a percent sign that starts no escape
  }
}
