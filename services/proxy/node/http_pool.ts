import { Buffer } from "node:buffer";
import type { Clock } from "../../../lib/clock.ts";
import { RangemakerError } from "../../../lib/errors.ts";
import { ByteBudget } from "../byte_budget.ts";
import { type Deadline, Deadlines } from "../deadlines.ts";
import type { NodeReply } from "../call_envelope.ts";
import {
  ConnectionError,
  type ConnectionOwner,
  type Exchange,
  HttpConnection,
} from "./http_connection.ts";
import { ReplyBudgetError } from "./reply_body.ts";

/** Most connections to one node, and so open requests: the default of an nginx worker. */
export const CONNECTIONS_MAX = 1_024;

export interface HttpPoolOptions {
  /** An `http:` or `https:` URL; a user and password in it are sent along. */
  url: URL;
  /** How long the node may take from the request to the end of its answer. */
  timeoutMs: number;
  clock: Clock;
  /** Counts the bytes of answers that are being read; without it, only each answer is bounded. */
  budget?: ByteBudget;
  /** Called when a request is answered, with the status, or failed. */
  onEnd?: (tookMs: number, status: number | undefined, error?: PostError) => void;
  /** Another pool for a plain read that this node refused or did not answer; undefined to give up. */
  failover?: () => HttpPool | undefined;
  /** Turns an error into the one that {@link HttpPool.post} rejects with. */
  failure?: (error: PostError) => Error;
}

/** How a message is posted to one node. */
export interface HttpPostOptions {
  /** Value of `X-Forwarded-For`. */
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

/** Why a request was not answered. */
export type PostError = ConnectionError | BusyError;

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
 * Posts to a node over HTTP/1.1 connections of undici. `fetch` and `node:http` of the runtime send a
 * POST twice when a reused connection closes before the answer; undici does not.
 */
export class HttpPool implements ConnectionOwner<Post> {
  readonly #options: HttpPoolOptions;
  readonly #budget: ByteBudget;
  readonly #headers: readonly string[];
  /** Requests without an answer yet. */
  readonly #open: Deadlines<Post>;
  /** Connections for plain reads, most recently used last. undici closes those that are idle. */
  readonly #idle: HttpConnection<Post>[] = [];
  #isStopped = false;

  constructor(options: HttpPoolOptions) {
    this.#options = options;
    this.#budget = options.budget ?? new ByteBudget(Infinity);
    const { url, clock, timeoutMs } = options;
    this.#headers = [
      ...["content-type", "application/json", "accept-encoding", "identity"],
      ...authorization(url),
    ];
    this.#open = new Deadlines(clock, timeoutMs, (post) => {
      post.connection?.destroy(new ReplyTimeoutError(timeoutMs));
    });
  }

  /** Requests without an answer yet. */
  get open(): number {
    return this.#open.size;
  }

  /**
   * Posts a message.
   *
   * @throws {ConnectionError} If no answer came; its cause may be a ReplyTimeoutError.
   * @throws {BusyError} If too many requests are open.
   */
  post(text: string, options: HttpPostOptions): Promise<NodeReply> {
    return new Promise((resolve, reject) => {
      this.#send(new Post(text, options, resolve, reject));
    });
  }

  /** Ends the connections with an open request, so that their plain reads move to another node. */
  abandon(reason: string): void {
    for (const { connection } of this.#open.clear()) {
      connection?.destroy(new AbandonedError(reason));
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
    if (isMisled) return this.#repeat(post, new ConnectionError("sent", new WrongReplyError()));
    this.#options.onEnd?.(this.#took(post), status);
    if (isRefusal(status) && this.#move(post)) return;
    post.resolve({ status, body });
  }

  /** For its connections: handles the failure, and sends the request again if that is safe. */
  failed(post: Post, connection: HttpConnection<Post>, error: ConnectionError): void {
    this.#finish(post);
    connection.destroy(error);
    const isStale = error.stage === "kept" &&
      !(error.cause instanceof ReplyTimeoutError || error.cause instanceof AbandonedError);
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
    if (this.open >= CONNECTIONS_MAX) return this.#reject(post, new BusyError());
    const connection = idle ?? new HttpConnection<Post>(this, this.#options.url, this.#budget);
    post.connection = connection;
    post.deadline = this.#open.add(post, nowMs);
    connection.send(post, [...this.#headers, "x-forwarded-for", post.options.forwardedFor]);
  }

  #finish({ deadline }: Post): void {
    if (deadline !== undefined) this.#open.finish(deadline);
  }

  #reject(post: Post, error: PostError): void {
    this.#options.onEnd?.(this.#took(post), undefined, error);
    // Another node would take as long, or send as much.
    const isOwnLimit = error.cause instanceof ReplyTimeoutError ||
      error.cause instanceof ReplyBudgetError;
    if (!isOwnLimit && this.#move(post)) return;
    post.reject(this.#options.failure?.(error) ?? error);
  }

  #took({ startedAtMs }: Post): number {
    return this.#options.clock.now() - startedAtMs;
  }
}

/** One call of {@link HttpPool.post}: an object, because a closure per step would be slower. */
class Post implements Exchange {
  connection: HttpConnection<Post> | undefined;
  deadline: Deadline<Post> | undefined;
  startedAtMs = 0;
  isRepeated = false;
  isMoved = false;

  constructor(
    readonly text: string,
    readonly options: HttpPostOptions,
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
