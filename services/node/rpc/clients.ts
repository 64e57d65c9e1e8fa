import { messageOf } from "../../../lib/errors.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { Subscriber, Subscriptions } from "./subscriptions.ts";

/** The largest frame a client may send: a `BackfillOracle` of 6,000 prices fits with room to spare. */
export const FRAME_CHARS_MAX = 1024 * 1024;

/**
 * Bytes that may wait for one client. A client that reads more slowly is let go of with code 1013,
 * which asks it to come back: nobody else waits for it.
 */
export const QUEUE_BYTES_MAX = 1024 * 1024;

/** Requests of one client that may be under way at once: a full batch's worth. */
export const REQUESTS_UNDER_WAY_MAX = 100;

/** How long clients may take to answer a close frame when the node stops. */
export const CLOSE_WAIT_MS = 1_000;

const CLOSE_TOO_BIG = 1009;
const CLOSE_RESTARTING = 1012;
const CLOSE_TRY_LATER = 1013;

/** What the clients of a node have in common. */
export interface ClientsOptions {
  dispatcher: Dispatcher;
  subscriptions: Subscriptions;
  /** A client was let go of because it read too slowly. */
  onSlowClient(): void;
}

/** The WebSocket clients of both ports. */
export class Clients {
  readonly #options: ClientsOptions;
  readonly #sockets = new Set<WebSocket>();
  #onEmpty: () => void = () => {};
  #closing: Promise<void> | undefined;

  constructor(options: ClientsOptions) {
    this.#options = options;
  }

  /** Clients connected now. */
  get count(): number {
    return this.#sockets.size;
  }

  /** Takes over a connection that asks for a WebSocket; undefined where it does not. */
  accept(request: Request, isReadOnly: boolean): Response | undefined {
    if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") return undefined;
    let upgrade: Deno.WebSocketUpgrade;
    try {
      upgrade = Deno.upgradeWebSocket(request);
    } catch (thrown) {
      // The request lacks a header of the handshake; the message names it.
      return new Response(messageOf(thrown), { status: 400 });
    }
    this.#serve(upgrade.socket, isReadOnly);
    return upgrade.response;
  }

  /** Asks all clients to come back later, and waits for them to go, up to {@link CLOSE_WAIT_MS}. */
  closeAll(): Promise<void> {
    return this.#closing ??= this.#closeAll();
  }

  async #closeAll(): Promise<void> {
    if (this.#sockets.size === 0) return;
    const { promise: empty, resolve } = Promise.withResolvers<void>();
    const deadline = setTimeout(resolve, CLOSE_WAIT_MS);
    this.#onEmpty = resolve;
    for (const socket of this.#sockets) socket.close(CLOSE_RESTARTING, "Node is stopping");
    await empty;
    clearTimeout(deadline);
  }

  #serve(socket: WebSocket, isReadOnly: boolean): void {
    const { dispatcher, subscriptions, onSlowClient } = this.#options;
    const send = (text: string) => {
      if (socket.readyState !== WebSocket.OPEN) return;
      if (socket.bufferedAmount <= QUEUE_BYTES_MAX) return socket.send(text);
      onSlowClient();
      client.disconnect();
      socket.close(CLOSE_TRY_LATER, "Reading too slowly");
    };
    const client: Subscriber = subscriptions.connect({ send });
    let underWay = 0;
    socket.binaryType = "arraybuffer";
    this.#sockets.add(socket);
    socket.onmessage = async ({ data }) => {
      const text = textOf(data);
      if (text === undefined || text.length > FRAME_CHARS_MAX) {
        return socket.close(CLOSE_TOO_BIG, `Frames may have ${FRAME_CHARS_MAX} characters`);
      }
      if (underWay >= REQUESTS_UNDER_WAY_MAX) {
        return socket.close(CLOSE_TRY_LATER, "Too many requests at once");
      }
      underWay += 1;
      const answer = await dispatcher.handle(text, { client, isReadOnly });
      underWay -= 1;
      if (answer.text !== undefined) send(answer.text);
      client.announce();
    };
    const leave = () => {
      this.#sockets.delete(socket);
      client.disconnect();
      if (this.#sockets.size === 0) this.#onEmpty();
    };
    socket.onclose = leave;
    // A close event follows every error and does what there is to do.
    socket.onerror = () => {};
  }
}

/** The text of a frame; a binary one is read as UTF-8. */
function textOf(data: unknown): string | undefined {
  if (typeof data === "string") return data;
  if (data instanceof ArrayBuffer) return new TextDecoder().decode(data);
}
