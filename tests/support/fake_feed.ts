export interface ReceivedCall {
  id?: unknown;
  method: string;
  params?: unknown[];
}

/** How a {@link FakeFeed} behaves. */
export interface FakeFeedOptions {
  /** Error for a subscription of a kind, or undefined to grant it. */
  refuse?: (kind: unknown) => object | undefined;
  /** Close code for the socket that a frame came on, or undefined to handle it. */
  closeOn?: (text: string) => number | undefined;
  /** Id of the n-th subscription, from 1. */
  subscriptionId?: (n: number) => string;
}

interface Subscription {
  id: string;
  params: unknown[];
  socket: WebSocket;
}

/** The WebSocket side of a fake node: accepts subscriptions, and sends the test's notifications. */
export class FakeFeed {
  readonly paths: string[] = [];
  /** Subscribe and unsubscribe calls, in order. */
  readonly calls: ReceivedCall[] = [];
  /** Frames on which it closed a socket. */
  readonly closedOn: string[] = [];
  /** It answers over HTTP only. */
  isRefusingSockets = false;
  readonly #feedOptions: FakeFeedOptions;
  readonly #sockets = new Set<WebSocket>();
  readonly #open = new Set<WebSocket>();
  #subscriptions: Subscription[] = [];
  #granted = 0;
  #waiting: { met: () => boolean; resolve: () => void }[] = [];

  constructor(options: FakeFeedOptions = {}) {
    this.#feedOptions = options;
  }

  /** Accepts a WebSocket request; undefined for other requests. */
  accept(request: Request): Response | undefined {
    if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") return undefined;
    this.paths.push(new URL(request.url).pathname);
    if (this.isRefusingSockets) return new Response(null, { status: 426 });
    const { socket, response } = Deno.upgradeWebSocket(request);
    this.#sockets.add(socket);
    socket.onopen = () => {
      this.#open.add(socket);
      this.changed();
    };
    socket.onmessage = ({ data }) => this.#receive(socket, String(data));
    socket.onerror = () => {};
    socket.onclose = () => {
      this.#sockets.delete(socket);
      this.#open.delete(socket);
      this.#subscriptions = this.#subscriptions.filter((one) => one.socket !== socket);
      this.changed();
    };
    return response;
  }

  get connections(): number {
    return this.#open.size;
  }

  /** Active subscriptions, as the JSON texts of their parameters. */
  get subscriptions(): string[] {
    return this.#subscriptions.map(({ params }) => JSON.stringify(params));
  }

  count(kind: string): number {
    return this.#subscriptions.filter(({ params }) => params[0] === kind).length;
  }

  subscribed(kind: string): Promise<void> {
    return this.until(() => this.count(kind) > 0);
  }

  /** Resolves when `met` is true; checked whenever something arrives. */
  until(met: () => boolean): Promise<void> {
    if (met()) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ met, resolve }));
  }

  publish(kind: string, result: unknown): void {
    this.#publish(result, ({ params }) => params[0] === kind);
  }

  /** Notifies every subscription with these parameters. */
  notify(wanted: unknown[], result: unknown): void {
    const text = JSON.stringify(wanted);
    this.#publish(result, ({ params }) => JSON.stringify(params) === text);
  }

  #publish(result: unknown, isWanted: (subscription: Subscription) => boolean): void {
    for (const { id, socket } of this.#subscriptions.filter(isWanted)) {
      socket.send(subscriptionNotice(id, result));
    }
  }

  sendRaw(text: string): void {
    for (const socket of this.#open) socket.send(text);
  }

  /** Closes every WebSocket; the node still listens. */
  dropSockets(code = 1001): void {
    for (const socket of this.#sockets) socket.close(code);
  }

  /** Ends every connection, as a node that restarts does. */
  async disconnect(): Promise<void> {
    this.dropSockets();
    await this.until(() => this.#sockets.size === 0);
  }

  /** The answer to a call that is not about subscriptions. */
  protected answerText(text: string): Promise<string> {
    throw new Error(`The feed takes subscriptions only: ${text}`);
  }

  /** Something arrived that {@link until} may wait for. */
  protected changed(): void {
    const met = this.#waiting.filter((waiting) => waiting.met());
    this.#waiting = this.#waiting.filter((waiting) => !met.includes(waiting));
    for (const { resolve } of met) resolve();
  }

  async #receive(socket: WebSocket, text: string): Promise<void> {
    const closeCode = this.#feedOptions.closeOn?.(text);
    if (closeCode !== undefined) {
      this.closedOn.push(text);
      return socket.close(closeCode);
    }
    const call: ReceivedCall = JSON.parse(text);
    if (!/_(un)?subscribe$/.test(call.method)) {
      const answer = await this.answerText(text);
      if (socket.readyState === WebSocket.OPEN) socket.send(answer);
      return;
    }
    this.calls.push(call);
    const { id, method, params = [] } = call;
    const error = this.#feedOptions.refuse?.(params[0]);
    if (error !== undefined) return socket.send(JSON.stringify({ jsonrpc: "2.0", id, error }));
    const result = method.endsWith("_unsubscribe")
      ? this.#unsubscribe(socket, params[0])
      : this.#subscribe(socket, params);
    socket.send(JSON.stringify({ jsonrpc: "2.0", id, result }));
    this.changed();
  }

  #subscribe(socket: WebSocket, params: unknown[]): string {
    const n = this.#granted += 1;
    const id = this.#feedOptions.subscriptionId?.(n) ?? `0x${n.toString(16)}`;
    this.#subscriptions.push({ id, params, socket });
    return id;
  }

  #unsubscribe(socket: WebSocket, id: unknown): boolean {
    const before = this.#subscriptions;
    this.#subscriptions = before.filter((one) => one.socket !== socket || one.id !== id);
    return this.#subscriptions.length < before.length;
  }
}

/** The text of a notification of a subscription, as `eth_subscribe` promises it. */
export function subscriptionNotice(subscription: string, result: unknown): string {
  const params = { subscription, result };
  return JSON.stringify({ jsonrpc: "2.0", method: "eth_subscription", params });
}
