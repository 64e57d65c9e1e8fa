import { z } from "zod";
import type { Address } from "../../lib/protocol/scalars.ts";
import { type Thesis, thesisSchema } from "../../lib/protocol/thesis.ts";
import { BetError } from "./user.ts";

const acceptedSchema = z.object({ id: z.literal(1), result: z.string() });
const noticeSchema = z.object({
  method: z.literal("eth_subscription"),
  params: z.object({ subscription: z.string(), result: thesisSchema }),
});

/** A user's theses as the proxy's WebSocket tells them, in order. */
export class ThesisFeed {
  readonly events: Thesis[] = [];
  readonly #socket: WebSocket;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  /** Subscribes to the theses of one user. @throws {BetError} If the proxy does not accept that. */
  static async open(url: string, user: Address): Promise<ThesisFeed> {
    const socket = new WebSocket(url);
    const feed = new ThesisFeed(socket);
    const accepted = Promise.withResolvers<string>();
    socket.onopen = () =>
      socket.send(JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "eth_subscribe",
        params: ["theses", { user }],
      }));
    socket.onerror = () => accepted.reject(new BetError(`No WebSocket at ${url}`));
    socket.onclose = (event) => accepted.reject(new BetError(`${url} closed with ${event.code}`));
    socket.onmessage = (event) => {
      const frame: unknown = JSON.parse(event.data);
      const reply = acceptedSchema.safeParse(frame);
      if (reply.success) return accepted.resolve(reply.data.result);
      const notice = noticeSchema.safeParse(frame);
      if (notice.success) feed.events.push(notice.data.params.result);
      else accepted.reject(new BetError(`${url} answered ${event.data}`));
    };
    await accepted.promise;
    return feed;
  }

  /** The first event of a thesis that fits, or undefined. */
  find(thesisId: number, fits: (thesis: Thesis) => boolean): Thesis | undefined {
    return this.events.find((thesis) => thesis.id === thesisId && fits(thesis));
  }

  /** Ends the subscription with its connection. */
  close(): Promise<void> {
    const closed = Promise.withResolvers<void>();
    this.#socket.onclose = () => closed.resolve();
    this.#socket.onerror = () => closed.resolve();
    if (this.#socket.readyState === WebSocket.CLOSED) closed.resolve();
    else this.#socket.close();
    return closed.promise;
  }
}
