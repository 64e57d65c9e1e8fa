import { Buffer } from "node:buffer";
import { connect } from "node:net";
import { RangemakerError } from "../../lib/errors.ts";
import { Deadlines } from "./deadlines.ts";
import { NodeConnection } from "./node_connection.ts";
import { bodyOf, type NodeReply } from "./node_reply.ts";
import { type HttpTransport, ReplyTimeoutError, type TransportOptions } from "./transport.ts";

/** Connections to one node, so requests under way: as many as nginx's workers take at most by default. */
export const CONNECTIONS_MAX = 1_024;

/** A connection that rested this long is ended: servers commonly do so after five seconds. */
export const IDLE_MS = 4_000;

/**
 * Posts over connections of its own to a node without TLS, each kept for the next request: half the
 * cost of `fetch` (see `tests/bench/proxy_http_bench.ts`).
 */
export class KeptConnections implements HttpTransport {
  readonly #options: TransportOptions;
  readonly #head: string;
  /** Connections with an answer to come. */
  readonly #busy: Deadlines<NodeConnection>;
  /** Connections at rest, the one that rested least at the end; the deadlines hold the same. */
  readonly #idle: NodeConnection[] = [];
  readonly #resting: Deadlines<NodeConnection>;

  constructor(options: TransportOptions) {
    this.#options = options;
    const { url, clock, timeoutMs } = options;
    this.#head = `POST ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n` +
      `content-type: application/json\r\n${authorization(url)}`;
    this.#busy = new Deadlines(clock, timeoutMs, (connection) => {
      connection.destroy(new ReplyTimeoutError(timeoutMs));
    });
    this.#resting = new Deadlines(clock, IDLE_MS, (connection) => {
      connection.destroy(new Error("At rest for too long"));
    });
  }

  async post(text: string, forwardedFor: string): Promise<NodeReply> {
    const connection = this.#take();
    this.#busy.add(connection);
    try {
      const reply = await connection.exchange(this.#request(text, forwardedFor));
      if (reply.reusable) this.#rest(connection);
      return { status: reply.status, body: bodyOf(reply.body) };
    } finally {
      this.#busy.delete(connection);
    }
  }

  stop(): void {
    const reason = new Error("The proxy stops");
    for (const connection of [...this.#busy.clear(), ...this.#resting.clear()]) {
      connection.destroy(reason);
    }
  }

  #request(text: string, forwardedFor: string): string {
    // Values of fields hold no line end: whatever parsed them saw to that.
    return `${this.#head}x-forwarded-for: ${forwardedFor}\r\n` +
      `content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
  }

  #take(): NodeConnection {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      this.#resting.delete(idle);
      if (idle.usable) return idle;
    }
    if (this.#busy.size >= CONNECTIONS_MAX) throw new BusyError();
    const { hostname, port } = this.#options.url;
    const host = hostname.replace(/^\[(.*)\]$/, "$1"); // an IPv6 address
    const socket = connect({ host, port: Number(port || 80) });
    const connection: NodeConnection = new NodeConnection(socket, () => this.#forget(connection));
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
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `authorization: Basic ${Buffer.from(pair).toString("base64")}\r\n`;
}

/** As many requests are under way as are let. */
export class BusyError extends RangemakerError {
  constructor() {
    super("NODE_BUSY", `${CONNECTIONS_MAX} requests are under way`);
  }
}
