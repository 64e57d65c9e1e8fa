import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";

/** A message from a node or proxy; the fields that are not there are undefined. */
export interface RpcMessage {
  id?: unknown;
  method?: string;
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
  params?: { subscription: string; result: Record<string, unknown> };
}

const DEADLINE_MS = 15_000;

/** A WebSocket client that keeps every message, in order. */
export class RpcSocket {
  /** What came, as text. */
  readonly frames: string[] = [];
  /** The same, parsed; a batch is an array. */
  readonly messages: RpcMessage[] = [];
  readonly closed: Promise<CloseEvent>;
  readonly #notifications = new Map<unknown, Record<string, unknown>[]>();
  #wake: () => void = () => {};
  #lastId = 0;

  constructor(readonly socket: WebSocket) {
    const closed = Promise.withResolvers<CloseEvent>();
    this.closed = closed.promise;
    socket.onclose = (event) => closed.resolve(event);
    socket.onmessage = ({ data }) => {
      assert.equal(typeof data, "string", "answers are text");
      this.frames.push(data);
      const message: RpcMessage = JSON.parse(data);
      this.messages.push(message);
      const { params } = message;
      if (params) this.#notifications.getOrInsert(params.subscription, []).push(params.result);
      this.#wake();
    };
  }

  static open(url: string): Promise<RpcSocket> {
    const socket = new WebSocket(url);
    return new Promise((resolve, reject) => {
      socket.onopen = () => resolve(new RpcSocket(socket));
      socket.onerror = () => reject(new Error(`Cannot connect to ${url}`));
    });
  }

  /** Sends text and bytes as they are, and anything else as JSON. */
  send(message: unknown): void {
    const isRaw = typeof message === "string" || message instanceof Uint8Array;
    this.socket.send(isRaw ? message : JSON.stringify(message));
  }

  /** Calls a method and waits for its answer. */
  async call(
    method: string,
    params: unknown[] = [],
    id: unknown = this.#lastId += 1,
  ): Promise<RpcMessage> {
    this.send({ jsonrpc: "2.0", id, method, params });
    return await this.waitFor((message) => message.id === id);
  }

  async subscribe(...params: unknown[]): Promise<string> {
    const { result } = await this.call("eth_subscribe", params);
    assert.ok(typeof result === "string");
    return result;
  }

  /** Results that came for a subscription so far. */
  notifications(subscription: unknown): readonly Record<string, unknown>[] {
    return this.#notifications.get(subscription) ?? [];
  }

  /**
   * The first message, past or to come, that meets the condition; each is looked at once.
   *
   * @throws {Error} If there is none within {@link DEADLINE_MS}, with the last message that came.
   */
  async waitFor(condition: (message: RpcMessage) => boolean): Promise<RpcMessage> {
    let isLate = false;
    const deadline = setTimeout(() => {
      isLate = true;
      this.#wake();
    }, DEADLINE_MS);
    try {
      for (let seen = 0; !isLate;) {
        const found = this.messages.slice(seen).find(condition);
        if (found !== undefined) return found;
        seen = this.messages.length;
        await new Promise<void>((resolve) => this.#wake = resolve);
      }
    } finally {
      clearTimeout(deadline);
    }
    throw new Error(
      `Not within ${DEADLINE_MS} ms: last came ${JSON.stringify(this.messages.at(-1))}`,
    );
  }

  /** Closes, and waits until it is closed. */
  async close(): Promise<void> {
    this.socket.close();
    await this.closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** The header without which a handshake is refused. */
export const WEBSOCKET_KEY = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==";

/** The request for a WebSocket, with further headers. */
export function handshakeText(url: string, ...headers: string[]): string {
  const { host, pathname } = new URL(url);
  return [
    ...[`GET ${pathname} HTTP/1.1`, `Host: ${host}`, "Upgrade: websocket", "Connection: Upgrade"],
    ...["Sec-WebSocket-Version: 13", ...headers],
  ].map((line) => `${line}\r\n`).join("") + "\r\n";
}

/** A text frame of a client, under 64 KiB; its mask is zero, so the text goes as it is. */
export function textFrame(text: string): Uint8Array<ArrayBuffer> {
  const payload = new TextEncoder().encode(text);
  const { length } = payload;
  const lengthBytes = length < 126 ? [0x80 | length] : [0x80 | 126, length >> 8, length & 0xff];
  return new Uint8Array([0x81, ...lengthBytes, 0, 0, 0, 0, ...payload]);
}

/** Sends a WebSocket handshake by hand, and returns the connection with the head of the answer. */
export async function handshake(
  url: string,
  ...headers: string[]
): Promise<[Deno.TcpConn, string]> {
  const { hostname, port } = new URL(url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  await connection.write(new TextEncoder().encode(handshakeText(url, ...headers)));
  const answer = new Uint8Array(1_024);
  const read = await connection.read(answer);
  return [connection, new TextDecoder().decode(answer.subarray(0, read ?? 0))];
}

/** Sends a WebSocket handshake and resets the connection at once. */
export async function resetHandshake(url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  const text = handshakeText(url, WEBSOCKET_KEY);
  await new Promise<void>((resolve) => socket.write(text, () => resolve()));
  socket.resetAndDestroy();
}
