import { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
// @ts-types="@types/ws"
import { WebSocketServer } from "ws";
import { getLogger } from "@logtape/logtape";
import type { CancelTimer, Clock } from "../../../lib/clock.ts";
import { ListenError, urlOf } from "../../../lib/http/listener.ts";
import { LOG_ROOT } from "../../../lib/http/logging.ts";
import { IDLE_TIMEOUT_S } from "./client_connection.ts";
import { FrameJoiner } from "../hub/messages.ts";
import { TcpConnection } from "./client_connection.ts";

const log = getLogger([LOG_ROOT, "proxy"]);

/** The largest message that is read at all; one over `--max-body-bytes` is answered with an error. */
const MESSAGE_BYTES_MAX = 64 * 1024 * 1024;

/** What a {@link WsListener} works with. */
export interface WsListenerOptions {
  host: string;
  /** 0 takes a free one. */
  port: number;
  clock: Clock;
  /** Why a handshake is refused, as an HTTP answer, or undefined to accept it. */
  refuse: (headers: Headers) => Response | undefined;
  accepted: (connection: TcpConnection, headers: Headers, remote: string) => void;
}

/**
 * A second port, for WebSockets alone. The server of the first port gives no access to its TCP
 * sockets, where every message is a system call; here all that is due to a client leaves in one.
 */
export class WsListener {
  readonly #options: WsListenerOptions;
  readonly #server: Server;
  readonly #handshakes = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    autoPong: false, // a connection answers by itself, as far as its peer reads
    maxPayload: MESSAGE_BYTES_MAX,
  });
  readonly #connections = new Set<TcpConnection>();
  readonly #joiner = new FrameJoiner();
  #cancelPing: CancelTimer | undefined;

  private constructor(options: WsListenerOptions, server: Server) {
    this.#options = options;
    this.#server = server;
    server.on("upgrade", (request, tcp: Socket, head) => this.#upgrade(request, tcp, head));
    this.#pingLater();
    const url = `${urlOf(options.host, this.port).replace("http", "ws")}/ws`;
    log.info("Listening for WebSockets on {url}", { url });
  }

  /** Starts listening. @throws {ListenError} If the address cannot be had. */
  static async start(options: WsListenerOptions): Promise<WsListener> {
    const { host, port } = options;
    const server = createServer((_request, response) => {
      response.writeHead(426, { upgrade: "websocket" }).end("Expected a WebSocket handshake");
    });
    await new Promise<void>((resolve, reject) => {
      server.once("error", (cause) => reject(new ListenError(host, port, cause, "--ws-port")));
      server.listen(port, host, resolve);
    });
    return new WsListener(options, server);
  }

  /** The port it really has. */
  get port(): number {
    const address = this.#server.address() as AddressInfo; // it listens on TCP
    return address.port;
  }

  /** Cuts what is still open and ends. */
  async stop(): Promise<void> {
    this.#cancelPing?.();
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const connection of this.#connections) connection.cut();
    this.#server.closeAllConnections();
    await closed;
  }

  #upgrade(request: IncomingMessage, tcp: Socket, head: Buffer): void {
    const headers = headersOf(request);
    const refusal = this.#options.refuse(headers);
    if (refusal !== undefined) {
      void answer(tcp, refusal);
      return;
    }
    // Taken now: a peer that is gone by the end of the handshake has no address any more.
    const remote = tcp.remoteAddress ?? "";
    this.#handshakes.handleUpgrade(request, tcp, head, (socket) => {
      const connection = new TcpConnection(socket, tcp, this.#joiner);
      this.#connections.add(connection);
      socket.once("close", () => this.#connections.delete(connection));
      this.#options.accepted(connection, headers, remote);
    });
  }

  #pingLater(): void {
    this.#cancelPing = this.#options.clock.after(IDLE_TIMEOUT_S * 1_000, () => {
      for (const connection of this.#connections) connection.ping();
      this.#pingLater();
    });
  }
}

function headersOf(request: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headersDistinct)) {
    for (const item of value ?? []) headers.append(name, item);
  }
  return headers;
}

/** Answers a handshake in plain HTTP and ends the connection. */
async function answer(tcp: Socket, refusal: Response): Promise<void> {
  tcp.on("error", () => {}); // whoever asked has gone: there is nobody to tell
  const body = await refusal.text();
  const head = [
    `HTTP/1.1 ${refusal.status} Refused`,
    "connection: close",
    `content-type: ${refusal.headers.get("content-type") ?? "text/plain"}`,
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  // Whoever was refused may keep its side open for ever.
  tcp.once("finish", () => tcp.destroy());
  tcp.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}
