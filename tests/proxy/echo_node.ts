/** A node with the test's behaviour, over real sockets. */
import { onFreePort } from "../support/ports.ts";

/** A request as the node got it. */
export interface Received {
  text: string;
  over: "http" | "ws";
  forwardedFor: string | null;
}

interface NodeSocket {
  socket: WebSocket;
  /** Subscriptions of this connection: id to JSON text of the parameters. */
  subscriptions: Map<string, string>;
}

interface Request_ {
  id?: unknown;
  method: string;
  params?: unknown[];
}

/** How a {@link EchoNode} behaves. */
export interface EchoNodeOptions {
  port?: number;
  /** Answers an HTTP request; by default each call with its own method and parameters. */
  answer?: (text: string, received: Received) => Response | Promise<Response>;
  /** Error for a subscription of a kind, or undefined to grant it. */
  refuse?: (kind: unknown) => object | undefined;
  /** Close code for the socket that a frame came on, or undefined to handle it. */
  closeOn?: (text: string) => number | undefined;
  /** Id of the n-th subscription, from 1. */
  subscriptionId?: (n: number) => string;
}

/** Answers a call with `{ method, params }` as the result. */
function echo(call: Request_): unknown {
  return { jsonrpc: "2.0", id: call.id, result: { method: call.method, params: call.params } };
}

/** The answer of a node that accepts every method. */
export function echoAnswer(text: string): Response {
  const value: Request_ | Request_[] = JSON.parse(text);
  return Response.json(Array.isArray(value) ? value.map(echo) : echo(value));
}

/** A node that answers each call with the call itself, unless it is to do otherwise. */
export class EchoNode {
  readonly requests: Received[] = [];
  /** Paths of the WebSockets that were opened. */
  readonly paths: string[] = [];
  /** Subscribe and unsubscribe calls over WebSocket, in order. */
  readonly calls: Request_[] = [];
  /** Frames on which it closed a socket. */
  readonly closedOn: string[] = [];
  readonly port: number;
  readonly #options: EchoNodeOptions;
  readonly #sockets = new Set<NodeSocket>();
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  #granted = 0;
  #waiting: { met: () => boolean; resolve: () => void }[] = [];

  constructor(options: EchoNodeOptions = {}) {
    this.#options = options;
    const listen = (port: number) =>
      Deno.serve(
        { hostname: "127.0.0.1", port, onListen: () => {} },
        (request) => this.#handle(request),
      );
    this.#server = options.port === undefined ? onFreePort(listen) : listen(options.port);
    this.port = this.#server.addr.port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Active subscriptions, as the JSON texts of their parameters. */
  get subscriptions(): string[] {
    return [...this.#sockets].flatMap(({ subscriptions }) => [...subscriptions.values()]);
  }

  get connections(): number {
    return this.#sockets.size;
  }

  /** Sends a notification to every subscription with these parameters. */
  notify(params: unknown[], result: unknown): void {
    for (const { socket, subscriptions } of this.#sockets) {
      for (const [id, text] of subscriptions) {
        if (text !== JSON.stringify(params)) continue;
        const body = { subscription: id, result };
        socket.send(JSON.stringify({ jsonrpc: "2.0", method: "eth_subscription", params: body }));
      }
    }
  }

  /** Sends a frame as it is. */
  sendRaw(text: string): void {
    for (const { socket } of this.#sockets) socket.send(text);
  }

  /** Closes every WebSocket; the node still listens. */
  dropSockets(code = 1001): void {
    for (const { socket } of this.#sockets) socket.close(code);
  }

  /** Resolves when `met` is true; checked whenever something arrives. */
  until(met: () => boolean): Promise<void> {
    if (met()) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ met, resolve }));
  }

  async stop(): Promise<void> {
    this.dropSockets();
    await this.#server.shutdown();
  }

  async #handle(request: Request): Promise<Response> {
    if (request.headers.get("upgrade") === "websocket") return this.#upgrade(request);
    const forwardedFor = request.headers.get("x-forwarded-for");
    return await this.#answer({ text: await request.text(), over: "http", forwardedFor });
  }

  async #answer(received: Received): Promise<Response> {
    this.requests.push(received);
    this.#look();
    return await (this.#options.answer ?? echoAnswer)(received.text, received);
  }

  #upgrade(request: Request): Response {
    this.paths.push(new URL(request.url).pathname);
    const { socket, response } = Deno.upgradeWebSocket(request);
    const connection: NodeSocket = { socket, subscriptions: new Map() };
    socket.onopen = () => {
      this.#sockets.add(connection);
      this.#look();
    };
    socket.onmessage = async ({ data }) => {
      const closeCode = this.#options.closeOn?.(data);
      if (closeCode !== undefined) {
        this.closedOn.push(data);
        return socket.close(closeCode);
      }
      const call: Request_ = JSON.parse(data);
      if (!/_(un)?subscribe$/.test(call.method)) {
        const answer = await this.#answer({ text: data, over: "ws", forwardedFor: null });
        const text = await answer.text();
        if (socket.readyState === WebSocket.OPEN) socket.send(text);
        return;
      }
      this.calls.push(call);
      const error = this.#options.refuse?.(call.params?.[0]);
      if (error !== undefined) {
        socket.send(JSON.stringify({ jsonrpc: "2.0", id: call.id, error }));
        return;
      }
      const result = this.#subscription(connection, call);
      socket.send(JSON.stringify({ jsonrpc: "2.0", id: call.id, result }));
      this.#look();
    };
    socket.onerror = () => {};
    socket.onclose = () => {
      this.#sockets.delete(connection);
      this.#look();
    };
    return response;
  }

  #subscription({ subscriptions }: NodeSocket, call: Request_): unknown {
    if (call.method.endsWith("_unsubscribe")) return subscriptions.delete(String(call.params?.[0]));
    this.#granted += 1;
    const id = this.#options.subscriptionId?.(this.#granted) ?? `0x${this.#granted.toString(16)}`;
    subscriptions.set(id, JSON.stringify(call.params));
    return id;
  }

  #look(): void {
    const met = this.#waiting.filter((waiting) => waiting.met());
    this.#waiting = this.#waiting.filter((waiting) => !met.includes(waiting));
    for (const { resolve } of met) resolve();
  }
}
