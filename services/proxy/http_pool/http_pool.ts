import { Buffer } from "node:buffer";
import { connect, isIP } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Clock } from "../../../lib/clock.ts";
import { RangemakerError } from "../../../lib/errors.ts";
import { Deadlines } from "./deadlines.ts";
import { ConnectionError, NodeConnection } from "./node_connection.ts";
import { bodyOf, type NodeReply } from "./reply_body.ts";

/** Connections to one node, so requests under way: as many as nginx's workers take at most by default. */
export const CONNECTIONS_MAX = 1_024;

/** A connection that rested this long is ended: servers commonly do so after five seconds. */
export const IDLE_MS = 4_000;

/** What {@link HttpPool} work with. */
export interface HttpPoolOptions {
  /** An `http:` or `https:` URL; a user and password in it are sent along. */
  url: URL;
  /** How long the node may take from the request to the end of its answer. */
  timeoutMs: number;
  clock: Clock;
}

/** The node took too long. */
export class ReplyTimeoutError extends RangemakerError {
  constructor(timeoutMs: number) {
    super("NODE_TIMEOUT", `No answer within ${timeoutMs} ms`);
  }
}

/** As many requests are under way as are let. */
export class BusyError extends RangemakerError {
  constructor() {
    super("NODE_BUSY", `${CONNECTIONS_MAX} requests are under way`);
  }
}

/**
 * Posts to a node over HTTP/1.1 connections of its own, each kept for the next request. That is half
 * the cost of `fetch` (see `tests/bench/proxy_http_bench.ts`), and it never sends a write a second
 * time, as `fetch` does where a connection that it kept ends before the answer.
 */
export class HttpPool {
  readonly #options: HttpPoolOptions;
  readonly #head: string;
  /** Connections with an answer to come. */
  readonly #busy: Deadlines<NodeConnection>;
  /** Connections at rest, the one that rested least at the end; the deadlines hold the same. */
  readonly #idle: NodeConnection[] = [];
  readonly #resting: Deadlines<NodeConnection>;
  #stopped = false;

  constructor(options: HttpPoolOptions) {
    this.#options = options;
    const { url, clock, timeoutMs } = options;
    this.#head = `POST ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n` +
      "content-type: application/json\r\naccept-encoding: identity\r\n" + authorization(url);
    this.#busy = new Deadlines(clock, timeoutMs, (connection) => {
      connection.destroy(new ReplyTimeoutError(timeoutMs));
    });
    this.#resting = new Deadlines(clock, IDLE_MS, (connection) => {
      connection.destroy(new Error("At rest for too long"));
    });
  }

  /**
   * Posts a message once.
   *
   * @param forwardedFor Value of `X-Forwarded-For`.
   * @param mayRepeat It may be posted a second time, where a kept connection turns out to have ended.
   * @throws {ConnectionError} If no answer came; what it was caused by may be a ReplyTimeoutError.
   * @throws {BusyError} If too many requests are under way.
   */
  async post(text: string, forwardedFor: string, mayRepeat = false): Promise<NodeReply> {
    // Values of fields hold no line end: whatever parsed them saw to that.
    const request = `${this.#head}x-forwarded-for: ${forwardedFor}\r\n` +
      `content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
    try {
      return await this.#exchange(this.#takeIdle() ?? this.#open(), request);
    } catch (thrown) {
      const repeat = mayRepeat && thrown instanceof ConnectionError && thrown.stage === "kept" &&
        !(thrown.cause instanceof ReplyTimeoutError);
      if (!repeat) throw thrown;
      return await this.#exchange(this.#open(), request);
    }
  }

  /** Ends what is under way, and the connections that are kept; nothing is posted any more. */
  stop(): void {
    this.#stopped = true;
    const reason = new Error("The proxy stops");
    for (const connection of [...this.#busy.clear(), ...this.#resting.clear()]) {
      connection.destroy(reason);
    }
  }

  async #exchange(connection: NodeConnection, request: string): Promise<NodeReply> {
    this.#busy.add(connection);
    try {
      const { status, body, reusable } = await connection.exchange(request);
      if (reusable && !this.#stopped) this.#rest(connection);
      return { status, body: bodyOf(body) };
    } finally {
      this.#busy.delete(connection);
    }
  }

  #takeIdle(): NodeConnection | undefined {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      this.#resting.delete(idle);
      if (idle.usable) return idle;
    }
  }

  #open(): NodeConnection {
    if (this.#stopped) throw new ConnectionError("connecting", new Error("The proxy stops"));
    if (this.#busy.size >= CONNECTIONS_MAX) throw new BusyError();
    const { hostname, port, protocol } = this.#options.url;
    const host = hostname.replace(/^\[(.*)\]$/, "$1"); // an IPv6 address
    const onGone = () => this.#forget(connection);
    const connection: NodeConnection = protocol === "https:"
      ? new NodeConnection(
        connectTls({
          host,
          port: Number(port || 443),
          // A name is what a certificate is for; an address must not be sent as one.
          ...(isIP(host) === 0 ? { servername: host } : {}),
          ALPNProtocols: ["http/1.1"],
        }),
        "secureConnect",
        onGone,
      )
      : new NodeConnection(connect({ host, port: Number(port || 80) }), "connect", onGone);
    return connection;
  }

  #rest(connection: NodeConnection): void {
    this.#idle.push(connection);
    this.#resting.add(connection);
  }

  #forget(connection: NodeConnection): void {
    const at = this.#idle.indexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
    this.#resting.delete(connection);
  }
}

/** User and password of a URL as a line of the head (RFC 7617); empty where there are none. */
function authorization({ username, password }: URL): string {
  if (username === "" && password === "") return "";
  const pair = `${decoded(username)}:${decoded(password)}`;
  return `authorization: Basic ${Buffer.from(pair).toString("base64")}\r\n`;
}

/** A part of a URL as it was meant; as it stands where it was written without escapes. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a percent sign that is no escape
  }
}
