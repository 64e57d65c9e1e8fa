import { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
// @ts-types="@types/ws"
import { type ServerOptions, type WebSocket, WebSocketServer } from "ws";
import { type Clock, monotonicClock, Timers, withinMs } from "../../../lib/clock.ts";
import type { RangemakerError } from "../../../lib/errors.ts";
import { failureResponse, handshakeExpected } from "../../../lib/http/json_api.ts";
import { httpError } from "../../../lib/http/error_answers.ts";
import { AllowedHosts } from "../../../lib/http/allowed_hosts.ts";
import { ListenError, urlOf, webSocketUrlOf } from "../../../lib/http/listener.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import { type CallerAddress, callerAddress } from "../../../lib/http/caller_address.ts";
import { Turns } from "../../../lib/timing/turns.ts";
import { AddressCounts } from "../shared/limits.ts";
import { isWebSocketPath, type WsClients } from "./ws_clients.ts";
import { IDLE_TIMEOUT_S, WsSocket } from "./client_sockets.ts";
import { FrameJoiner } from "../hub/notifications.ts";

const log = serviceLog("proxy");

/** Most fragments of one message: `ws` keeps an object for each, however small. */
const FRAGMENTS_MAX = 1_024;

/** How long a handshake may take: a phone on a bad network needs three seconds. */
export const HANDSHAKE_MS = 10_000;

/** Interval at which the listener connects to its own port, and how long the answer may take. */
const CHECK_MS = 5_000;

/** The largest header of a handshake: the default of nginx. */
const HEADER_BYTES_MAX = 16 * 1024;

/** Bytes of one read after which a socket waits for its turn. */
const LONG_READ_BYTES = 16 * 1024;

interface WsListenerOptions {
  host: string;
  allowedHosts?: readonly string[];
  /** 0 chooses a free one. */
  port: number;
  /** Whether several processes may listen on the port; Linux only. */
  reusePort?: boolean;
  clock: Clock;
  /** A larger message closes its connection with 1009, as soon as its length is known. */
  maxMessageBytes: number;
  /** Most connections of one peer that have not completed their handshake. */
  maxHandshakesPerPeer: number;
  /** Called for each connection over that limit. */
  onRefusal?: () => void;
  clients: Pick<WsClients, "admit" | "serve">;
}

/**
 * A second port, only for WebSockets. The server of the first port gives no access to its TCP
 * sockets and makes a system call for each message; here everything due to a client is sent in one
 * write.
 */
export class WsListener {
  readonly #options: WsListenerOptions;
  readonly #server: Server;
  readonly #allowedHosts: AllowedHosts;
  readonly #handshakes: WebSocketServer;
  /** What ends the wait for each connection that has not completed its handshake. */
  readonly #pending = new Map<Socket, () => void>();
  readonly #pendingPerPeer: AddressCounts;
  readonly #sockets = new Set<WsSocket>();
  readonly #joiner = new FrameJoiner();
  /** Sockets that read much at once go on in these. */
  readonly #turns = new Turns(monotonicClock);
  readonly port: number;
  readonly #timers: Timers;
  #runningCheck: Promise<void> = Promise.resolve();
  /** How many connections were accepted. */
  #accepted = 0;
  #isStopped = false;

  private constructor(options: WsListenerOptions, server: Server) {
    this.#options = options;
    this.#server = server;
    this.#timers = new Timers(options.clock);
    const { address, port } = server.address() as AddressInfo; // it listens on TCP
    this.port = port;
    this.#allowedHosts = new AllowedHosts(address, options.allowedHosts);
    const { maxHandshakesPerPeer } = options;
    this.#pendingPerPeer = new AddressCounts(maxHandshakesPerPeer);
    // The types of `ws` lack maxFragments.
    const limits: ServerOptions & { maxFragments: number } = {
      noServer: true,
      perMessageDeflate: false,
      autoPong: false, // a connection answers pings itself, while its peer reads
      maxPayload: options.maxMessageBytes,
      maxFragments: FRAGMENTS_MAX,
    };
    this.#handshakes = new WebSocketServer(limits);
    server.on("connection", (tcp: Socket) => this.#onConnected(tcp));
    server.on("error", ({ message: reason }) => log.warn("Accepting failed: {reason}", { reason }));
    server.on("upgrade", (request, tcp: Socket, head) => this.#upgrade(request, tcp, head));
    this.#pingLater();
    this.#checkLater();
    const url = `${webSocketUrlOf(urlOf(options.host, this.port))}/ws`;
    log.info("Listening for WebSockets on {url}", { url });
  }

  /** Starts listening. @throws {ListenError} If the address is taken or not this machine's. */
  static async start(options: WsListenerOptions): Promise<WsListener> {
    const { host, port, reusePort = false } = options;
    const server = createServer({ maxHeaderSize: HEADER_BYTES_MAX }, (_request, response) => {
      void explainHandshake(response);
    });
    await new Promise<void>((resolve, reject) => {
      server.once("error", (cause) => reject(new ListenError(host, port, cause, "--ws-port")));
      server.listen({ port, host, reusePort }, resolve);
    });
    return new WsListener(options, server);
  }

  /** Cuts open connections and stops listening. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timers.clear();
    this.#turns.stop();
    for (const [tcp, settle] of this.#pending) {
      settle();
      tcp.destroy();
    }
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.terminate();
    this.#server.closeAllConnections();
    await closed;
    await this.#runningCheck;
  }

  /** Limits the number and duration of connections that are not WebSockets yet. */
  #onConnected(tcp: Socket): void {
    this.#accepted += 1;
    const peer = callerAddress(new Headers(), tcp.remoteAddress ?? "", false);
    if (!this.#pendingPerPeer.tryAdd(peer)) {
      this.#options.onRefusal?.();
      tcp.destroy();
      return;
    }
    const cancel = this.#options.clock.after(HANDSHAKE_MS, () => tcp.destroy());
    const settle = () => {
      if (!this.#pending.delete(tcp)) return;
      cancel();
      this.#pendingPerPeer.remove(peer);
    };
    this.#pending.set(tcp, settle);
    tcp.once("close", settle);
  }

  #upgrade(request: IncomingMessage, tcp: Socket, head: Buffer): void {
    const headers = headersOf(request);
    const error = this.#allowedHosts.refusalOf(headers) ?? pathProblem(request);
    const { clients } = this.#options;
    const address = error === undefined
      ? clients.admit(headers, tcp.remoteAddress ?? "")
      : failureResponse(error);
    if (address instanceof Response) {
      void sendRefusal(tcp, address);
      return;
    }
    this.#pending.get(tcp)?.();
    this.#handshakes.handleUpgrade(request, tcp, head, (webSocket) => {
      const socket = new WsSocket(webSocket, tcp, this.#joiner);
      this.#sockets.add(socket);
      webSocket.once("close", () => this.#sockets.delete(socket));
      clients.serve(socket, address);
      tcp.on("data", ({ length }: Buffer) => {
        if (length >= LONG_READ_BYTES) this.#waitForTurn(webSocket, address);
      });
    });
  }

  /**
   * Pauses a socket until its turn, in which no other one goes on. The runtime serves no new input
   * while a socket still finds data, so twenty clients that sent pings without end kept all others
   * waiting for as long as they did.
   */
  #waitForTurn(socket: WebSocket, { peerKey, key }: CallerAddress): void {
    socket.pause();
    void this.#turns.run([peerKey, key], () => socket.resume(), Infinity);
  }

  #pingLater(): void {
    this.#timers.after(IDLE_TIMEOUT_S * 1_000, () => {
      for (const socket of this.#sockets) socket.ping();
      this.#pingLater();
    });
  }

  #checkLater(): void {
    this.#timers.after(CHECK_MS, () => {
      this.#runningCheck = this.#check();
    });
  }

  /**
   * Listens again if nobody accepts connections. After a failed accept (EMFILE), the runtime reports
   * nothing, and accepts no connection any more.
   */
  async #check(): Promise<void> {
    const { host, reusePort = false, clock } = this.#options;
    const { port } = this;
    const before = this.#accepted;
    const isAnswered = this.#server.listening && await isAnswering(host, port, clock);
    if (this.#isStopped) return;
    // A machine may not let it connect to itself.
    if (!isAnswered && this.#accepted === before) {
      log.error("Port {port} accepts no connections, listening again", { port });
      this.#server.close();
      this.#server.listen({ port, host, reusePort });
    }
    this.#checkLater();
  }
}

/** Whether a connection is answered in time, or ended; also if none can be made. */
async function isAnswering(host: string, port: number, clock: Clock): Promise<boolean> {
  const tcp = connect({ host, port });
  const { promise, resolve } = Promise.withResolvers<boolean>();
  for (const event of ["data", "error", "close"]) tcp.on(event, () => resolve(true));
  tcp.write("GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
  try {
    return await withinMs(promise, CHECK_MS, false, clock);
  } finally {
    tcp.destroy();
  }
}

/** From the lines of the header: `node:http` fails on a name such as `constructor`. */
function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    headers.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  }
  return headers;
}

function pathProblem({ method = "", url = "" }: IncomingMessage): RangemakerError | undefined {
  const [path = ""] = url.split("?");
  return isWebSocketPath(path) ? undefined : httpError("NOT_FOUND", { method, path });
}

/** Answers a request that is not a handshake. */
async function explainHandshake(response: ServerResponse): Promise<void> {
  const { status, headers, body } = failureResponse(handshakeExpected("/ws"));
  const contentType = headers.get("content-type") ?? "";
  response.writeHead(status, { upgrade: "websocket", "content-type": contentType });
  response.end(await new Response(body).text());
}

/** Answers a handshake in plain HTTP and ends the connection. */
async function sendRefusal(tcp: Socket, refused: Response): Promise<void> {
  tcp.on("error", () => {}); // the client has disconnected already
  const body = await refused.text();
  const head = [
    `HTTP/1.1 ${refused.status} Refused`,
    "connection: close",
    `content-type: ${refused.headers.get("content-type") ?? "text/plain"}`,
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  // A refused client may keep its side open forever.
  tcp.once("finish", () => tcp.destroy());
  tcp.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}
