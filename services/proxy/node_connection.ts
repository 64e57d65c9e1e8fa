import type { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { type HttpReply, ReplyReader } from "./reply_reader.ts";

/** One kept connection to a node: one request at a time, each with its answer. */
export class NodeConnection {
  readonly #socket: Socket;
  #exchange: { reader: ReplyReader; answer: PromiseWithResolvers<HttpReply> } | undefined;
  #ended: Error | undefined;

  /**
   * @param socket Connected, or about to be.
   * @param onGone Called once, when it can be used no more.
   */
  constructor(socket: Socket, onGone: () => void) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (piece: Buffer<ArrayBuffer>) => this.#read(piece));
    socket.on("error", (error) => this.#fail(error));
    socket.on("end", () => this.#close());
    socket.on("close", () => {
      this.#close();
      onGone();
    });
  }

  /** Whether a request can be sent. */
  get usable(): boolean {
    return this.#ended === undefined;
  }

  /**
   * Sends a request and reads its answer.
   *
   * @throws {Error} If the connection ends first, or what comes is no answer.
   */
  exchange(request: string): Promise<HttpReply> {
    const answer = Promise.withResolvers<HttpReply>();
    if (this.#ended !== undefined) answer.reject(this.#ended);
    else {
      this.#exchange = { reader: new ReplyReader(), answer };
      this.#socket.write(request);
    }
    return answer.promise;
  }

  /** Ends the connection at once; an answer that is awaited fails with the reason. */
  destroy(reason: Error): void {
    this.#fail(reason);
  }

  #read(piece: Buffer<ArrayBuffer>): void {
    const exchange = this.#exchange;
    // What nobody asked for must not be taken for the next answer.
    if (exchange === undefined) return this.#fail(new Error("The node spoke unasked"));
    try {
      const reply = exchange.reader.read(piece);
      if (reply === undefined) return;
      this.#exchange = undefined;
      exchange.answer.resolve(reply);
      if (!reply.reusable) this.#fail(new Error("The node ended the connection"));
    } catch (thrown) {
      this.#fail(thrown instanceof Error ? thrown : new Error(String(thrown)));
    }
  }

  #close(): void {
    const reply = this.#exchange?.reader.end();
    if (reply !== undefined) {
      this.#exchange?.answer.resolve(reply);
      this.#exchange = undefined;
    }
    this.#fail(new Error("The node ended the connection"));
  }

  #fail(reason: Error): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    this.#socket.destroy();
    this.#exchange?.answer.reject(reason);
    this.#exchange = undefined;
  }
}
