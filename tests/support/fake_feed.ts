import { rpcResult } from "../../lib/protocol/jsonrpc.ts";
import { z } from "zod";

const requestSchema = z.object({
  id: z.number(),
  method: z.literal("eth_subscribe"),
  params: z.tuple([z.string()], z.unknown()),
});

/** The WebSocket side of a fake node: accepts subscriptions, and sends the test's notifications. */
export class FakeFeed {
  readonly #sockets = new Set<WebSocket>();
  readonly #waiting: (() => void)[] = [];
  #subscriptions: { kind: string; id: string; socket: WebSocket }[] = [];
  #lastId = 0;

  /** Accepts a WebSocket request; undefined for other requests. */
  accept(request: Request): Response | undefined {
    if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") return undefined;
    const { socket, response } = Deno.upgradeWebSocket(request);
    this.#sockets.add(socket);
    socket.onmessage = ({ data }) => this.#subscribe(socket, String(data));
    socket.onclose = () => this.#leave(socket);
    return response;
  }

  /** Subscriptions of a kind now. */
  count(kind: string): number {
    return this.#subscriptions.filter((one) => one.kind === kind).length;
  }

  /** Resolves when there is a subscription of a kind. */
  async subscribed(kind: string): Promise<void> {
    while (this.count(kind) === 0) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Notifies every subscriber of a kind. */
  publish(kind: string, result: unknown): void {
    for (const { id, socket } of this.#subscriptions.filter((one) => one.kind === kind)) {
      socket.send(JSON.stringify(subscriptionNotice(id, result)));
    }
  }

  /** Ends every connection, as a node that restarts does. */
  async disconnect(): Promise<void> {
    await Promise.all([...this.#sockets].map((socket) => {
      const closed = new Promise<void>((resolve) => {
        socket.addEventListener("close", () => resolve(), { once: true });
      });
      socket.close();
      return closed;
    }));
  }

  #subscribe(socket: WebSocket, text: string): void {
    const { id, params: [kind] } = requestSchema.parse(JSON.parse(text));
    this.#lastId += 1;
    const subscription = `0x${this.#lastId.toString(16)}`;
    this.#subscriptions.push({ kind, id: subscription, socket });
    socket.send(JSON.stringify(rpcResult(id, subscription)));
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #leave(socket: WebSocket): void {
    this.#sockets.delete(socket);
    this.#subscriptions = this.#subscriptions.filter((one) => one.socket !== socket);
  }
}

/** A notification of a subscription, as `eth_subscribe` promises it. */
export function subscriptionNotice(subscription: string, result: unknown): unknown {
  return { jsonrpc: "2.0", method: "eth_subscription", params: { subscription, result } };
}
