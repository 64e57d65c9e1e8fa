import { toWire } from "../../lib/json.ts";
import type { SocketLike } from "../../lib/net/reconnecting_socket.ts";
import { subscriptionNotice } from "./fake_feed.ts";

/** Id of the subscription that {@link FakeSocket.grant} grants. */
const SUBSCRIPTION = "0xab";

/** A client's socket whose other side is the test. */
export class FakeSocket implements SocketLike {
  binaryType = "blob";
  onopen: SocketLike["onopen"] = null;
  onmessage: SocketLike["onmessage"] = null;
  onclose: SocketLike["onclose"] = null;
  onerror: SocketLike["onerror"] = null;
  /** Frames that the client sent. */
  readonly sent: string[] = [];
  /** Whether the client closed it. */
  closed = false;

  constructor(readonly url: string) {}

  send(text: string): void {
    this.sent.push(text);
  }

  close(): void {
    this.closed = true;
  }

  /** The server accepts. */
  open(): void {
    this.onopen?.(new Event("open"));
  }

  /** The server sends a frame. */
  deliver(data: string | ArrayBuffer): void {
    this.onmessage?.(new MessageEvent("message", { data }));
  }

  /** The server accepts, and grants the first subscription. */
  grant(): void {
    this.open();
    this.deliver(`{"jsonrpc":"2.0","id":1,"result":"${SUBSCRIPTION}"}`);
  }

  /** The server notifies that subscription. */
  notify(result: unknown): void {
    this.deliver(subscriptionNotice(SUBSCRIPTION, toWire(result)));
  }

  /** The server closes. */
  end(code = 1006, reason = ""): void {
    this.onclose?.(new CloseEvent("close", { code, reason }));
  }

  /** The connection fails. */
  fail(message: string): void {
    this.onerror?.(new ErrorEvent("error", { message }));
  }
}

/** Hands out sockets and keeps them in order. */
export class FakeNetwork {
  readonly sockets: FakeSocket[] = [];

  readonly connect = (url: string): FakeSocket => {
    const socket = new FakeSocket(url);
    this.sockets.push(socket);
    return socket;
  };

  /** The newest socket. @throws {Error} If there is none. */
  get newest(): FakeSocket {
    const socket = this.sockets.at(-1);
    if (socket === undefined) throw new Error("No socket was asked for");
    return socket;
  }
}
