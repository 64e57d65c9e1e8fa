import { Socket } from "node:net";
import { buildConnector, Client, type Dispatcher, errors } from "undici";
import { messageOf, RangemakerError } from "../../../lib/errors.ts";
import type { ByteBudget } from "../shared/limits.ts";
import type { NodeReply } from "../shared/envelopes.ts";
import { ReplyBody, ReplyError } from "./reply_body.ts";

/** An idle connection is closed after this: many servers close theirs after five seconds. */
const IDLE_MS = 4_000;

/** The largest header of an answer: twice the limit of nginx. */
const HEAD_BYTES_MAX = 16 * 1024;

/** Opens a socket, with TLS for `https:`. The owner of a connection limits the time. */
const openSocket = buildConnector({ allowH2: false, timeout: 0 });

/**
 * How far a failed request got. `connecting`: it was not sent, because the connection was not open.
 * `reused`: it was sent over a reused connection, which the node may have closed just before.
 * `sent`: it was sent over a new one, or its answer had begun.
 */
export type FailureStage = "connecting" | "reused" | "sent";

/** A connection failed before the answer to a request was complete. */
export class ConnectionError extends RangemakerError {
  readonly stage: FailureStage;

  constructor(stage: FailureStage, cause: unknown) {
    super("NODE_CONNECTION", withoutAddress(cause), { cause });
    this.stage = stage;
  }

  /** Whether the reused connection may have been closed before: a plain read is sent again. */
  get isStale(): boolean {
    return this.stage === "reused" && this.abortReason !== "timeout" &&
      this.abortReason !== "abandoned";
  }

  /** Whether nothing answers at the node's address. */
  get isNodeDown(): boolean {
    return this.stage === "connecting" && this.abortReason === undefined;
  }

  /** Whether a slow or large read reached a limit of the proxy, as it would at any node. */
  get isCallerCaused(): boolean {
    return this.abortReason === "timeout" || this.abortReason === "memory";
  }

  /** Why the proxy itself ended the request; undefined if the node did. */
  get abortReason(): ReplyError["kind"] | undefined {
    return this.cause instanceof ReplyError ? this.cause.kind : undefined;
  }
}

/**
 * One connection to a node: one request at a time, each with its answer. The first request opens
 * it, and so does the next one after the node closed it.
 */
export class HttpConnection implements Dispatcher.DispatchHandler {
  readonly #path: string;
  readonly #client: Client;
  readonly #body: ReplyBody;
  #socket: Socket | undefined;
  #reply: PromiseWithResolvers<NodeReply> | undefined;
  #status = 0;
  /** Stage to report if the current request fails. */
  #stage: FailureStage = "connecting";
  #isUsed = false;

  /** @param budget Counts the bytes of large answers while they are read. */
  constructor(url: URL, budget: ByteBudget) {
    this.#path = url.pathname + url.search;
    this.#body = new ReplyBody(budget);
    this.#client = new Client(url.origin, {
      allowH2: false,
      pipelining: 1,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      maxHeaderSize: HEAD_BYTES_MAX,
      // Disabled: they would restart with each byte. The owner limits the total time.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (options, callback) => {
        this.#isUsed = false;
        // The types leave out that it returns the socket.
        const socket: unknown = openSocket(options, callback);
        if (socket instanceof Socket) this.#socket = socket;
      },
    });
  }

  /** Whether the node has read all of the last request. If not, it may never read the rest. */
  get isDrained(): boolean {
    return this.#socket?.writableLength === 0;
  }

  /**
   * Sends a request.
   *
   * @param headers Names and values, alternating.
   * @param isLast Whether the node is told to close the connection after its answer.
   * @throws {ConnectionError} If the answer is not complete.
   */
  send(body: string, headers: string[], isLast: boolean): Promise<NodeReply> {
    this.#stage = "connecting";
    this.#reply = Promise.withResolvers();
    const { promise } = this.#reply;
    this.#client.dispatch({ path: this.#path, method: "POST", headers, body, reset: isLast }, this);
    return promise;
  }

  /** Ends the connection at once; a pending answer fails with the reason. */
  destroy(reason: Error): void {
    this.#socket?.destroy();
    this.#client.destroy(reason, () => {});
    this.#fail(reason);
  }

  onRequestStart(): void {
    this.#stage = this.#isUsed ? "reused" : "sent";
    this.#isUsed = true;
  }

  onResponseStarted(): void {
    this.#stage = "sent";
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.#status = status;
    if (headers["content-encoding"] !== undefined) {
      throw new ReplyError("invalid", "Answer has a content encoding, but none was requested");
    }
    const length = headers["content-length"];
    if (length !== undefined) this.#body.reserve(Number(length));
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.#body.add(chunk);
  }

  onResponseEnd(): void {
    this.#reply?.resolve({ status: this.#status, body: this.#body.end() });
    this.#reply = undefined;
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#fail(error);
  }

  #fail(reason: Error): void {
    this.#body.clear();
    this.#reply?.reject(new ConnectionError(this.#stage, reason));
    this.#reply = undefined;
  }
}

/** Messages of socket errors contain addresses, which callers must not see; codes do not. */
function withoutAddress(cause: unknown): string {
  if (cause instanceof RangemakerError || !(cause instanceof Error)) return messageOf(cause);
  if (cause instanceof errors.SocketError) {
    const isBad = cause.message.startsWith("bad");
    return isBad ? `The node sent a ${cause.message}` : "The node closed the connection";
  }
  const hasCode = "code" in cause && typeof cause.code === "string";
  return hasCode && !(cause instanceof errors.UndiciError) ? String(cause.code) : cause.message;
}
