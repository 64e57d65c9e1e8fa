/** A server and the connections that the proxy keeps to it, under a clock that a test moves. */
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server as TcpServer,
  type Socket,
} from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { ByteBudget } from "../../../services/proxy/shared/limits.ts";
import { HttpPool, type HttpPoolOptions } from "../../../services/proxy/node/http_pool.ts";
import {
  ConnectionError,
  type FailureStage,
} from "../../../services/proxy/node/http_connection.ts";
import { ProxyError } from "../../../services/proxy/shared/failures.ts";
import { FakeClock } from "../../support/fake_clock.ts";

export const TIMEOUT_MS = 30_000;

/** How a plain read is posted, and a message that must not be sent twice. */
export const READ = { forwardedFor: "x", isPlain: true };
export const CHANGE = { forwardedFor: "x" };

/** A request as the server got it, for a test to answer. */
export interface Asked {
  request: IncomingMessage;
  response: ServerResponse;
  text: string;
}

/** A server that is not ours, and the connections it has. */
abstract class ForeignServer {
  readonly sockets = new Set<Socket>();
  opened = 0;
  readonly #server: TcpServer;

  constructor(server: TcpServer) {
    this.#server = server;
  }

  protected add(socket: Socket): void {
    this.opened += 1;
    this.sockets.add(socket);
    socket.on("close", () => this.sockets.delete(socket));
  }

  async listen(host = "127.0.0.1"): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, host, resolve));
    return (this.#server.address() as AddressInfo).port; // it listens on TCP
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }
}

export class Server extends ForeignServer {
  constructor(public answer: (asked: Asked) => void) {
    const server = createServer(async (request, response) => {
      let text = "";
      for await (const piece of request.setEncoding("utf8")) text += piece;
      this.answer({ request, response, text });
    });
    super(server);
    server.keepAliveTimeout = 0; // it is the proxy's part to end them
    server.on("connection", (socket) => this.add(socket));
  }
}

/** A node that answers with bytes as they are, and perhaps ends the connection; it can speak TLS. */
export class RawNode extends ForeignServer {
  /** Requests in the order of their connections. */
  readonly requests: { connection: number; text: string }[] = [];

  constructor(
    readonly answer: (
      request: number,
      text: string,
    ) => { pieces: (string | Uint8Array)[]; ends?: boolean },
    tls?: { cert: string; key: string },
  ) {
    const serve = (socket: Socket) => this.#serve(socket);
    super(tls === undefined ? createTcpServer(serve) : createTlsServer(tls, serve));
  }

  #serve(socket: Socket): void {
    this.add(socket);
    const connection = this.opened;
    socket.on("error", () => {}).on("data", async (data) => {
      this.requests.push({ connection, text: data.toString() });
      const { pieces, ends } = this.answer(this.requests.length, data.toString());
      for (const piece of pieces) {
        if (pieces.length > 1) await new Promise((resolve) => setImmediate(resolve));
        if (!socket.destroyed) socket.write(piece);
      }
      if (ends) socket.end();
    });
  }
}

export function poolTo(url: string | URL, overrides: Partial<HttpPoolOptions> = {}): HttpPool {
  return new HttpPool({
    target: "read",
    url: new URL(url),
    clock: new FakeClock(),
    timeoutMs: TIMEOUT_MS,
    budget: new ByteBudget(Infinity),
    ...overrides,
  });
}

export interface Scene {
  server: Server;
  node: HttpPool;
  clock: FakeClock;
}

/** Plays a scene with a server that answers so, ends both, and looks for timers left behind. */
export async function play(
  answer: (asked: Asked) => void,
  scene: (scene: Scene) => Promise<void>,
  { path = "/", timeoutMs = TIMEOUT_MS } = {},
): Promise<void> {
  const server = new Server(answer);
  const clock = new FakeClock();
  const node = poolTo(`http://127.0.0.1:${await server.listen()}${path}`, { clock, timeoutMs });
  try {
    await scene({ server, node, clock });
  } finally {
    node.stop();
    await server.stop();
    assert.equal(clock.pending, 0, "A timer was left behind");
  }
}

/** Says that a request failed, how far it had come, and the proxy's own reason or the message. */
export function failed(stage: FailureStage, why: RegExp | ConnectionError["abortReason"]) {
  return (thrown: unknown) => {
    const error = thrown instanceof ProxyError ? thrown.cause : undefined;
    assert(error instanceof ConnectionError);
    assert.equal(error.stage, stage);
    if (why instanceof RegExp) assert.match(error.message, why);
    else assert.equal(error.abortReason, why);
    return true;
  };
}

export const echo = ({ response, text }: Asked) => response.end(text);
