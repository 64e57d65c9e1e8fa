/** A WebSocket client that keeps what it gets and can wait for it. */
export class RpcSocket {
  readonly frames: string[] = [];
  readonly closed: Promise<CloseEvent>;
  readonly socket: WebSocket;
  #arrived: (() => void)[] = [];

  private constructor(socket: WebSocket) {
    this.socket = socket;
    this.socket.onmessage = ({ data }) => {
      this.frames.push(data);
      for (const resolve of this.#arrived.splice(0)) resolve();
    };
    this.closed = new Promise((resolve) => this.socket.onclose = resolve);
  }

  static async open(url: string): Promise<RpcSocket> {
    const socket = new WebSocket(url);
    const client = new RpcSocket(socket);
    await new Promise<void>((resolve, reject) => {
      socket.onopen = () => resolve();
      socket.onerror = (event) => reject(event);
    });
    socket.onerror = () => {};
    return client;
  }

  send(message: unknown): void {
    this.socket.send(typeof message === "string" ? message : JSON.stringify(message));
  }

  /** The first frame, old or new, that `wanted` accepts. */
  async frame(wanted: (value: RpcFrame) => boolean): Promise<RpcFrame> {
    for (let seen = 0;; seen += 1) {
      while (seen >= this.frames.length) {
        await new Promise<void>((resolve) => this.#arrived.push(resolve));
      }
      const value: RpcFrame = JSON.parse(this.frames[seen] ?? "null");
      if (wanted(value)) return value;
    }
  }

  /** Sends a call and waits for its answer. */
  async call(id: number, method: string, params: unknown[] = []): Promise<RpcFrame> {
    this.send({ jsonrpc: "2.0", id, method, params });
    return await this.frame((value) => value.id === id);
  }

  /** Results of the notifications so far, in order. */
  notifications(subscription: unknown): unknown[] {
    return this.frames.map((text): RpcFrame => JSON.parse(text))
      .filter((value) => value.params?.subscription === subscription)
      .map((value) => value.params?.result);
  }

  async close(): Promise<void> {
    this.socket.close();
    await this.closed;
  }
}

/** An answer or a notification. */
export interface RpcFrame {
  id?: unknown;
  result?: unknown;
  error?: { code: number; message: string };
  method?: string;
  params?: { subscription: string; result: unknown };
}
