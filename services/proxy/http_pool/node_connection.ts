import type { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { messageOf, RangemakerError } from "../../../lib/errors.ts";
import { type HttpReply, ReplyReader } from "./reply_reader.ts";

/**
 * How far a request came on a connection that failed: it was not sent, since there was no connection
 * yet; it was sent on one that was kept, which may have ended just before; or it was sent.
 */
export type FailureStage = "connecting" | "kept" | "sent";

/** A connection failed before the answer to a request was whole. */
export class ConnectionError extends RangemakerError {
  readonly stage: FailureStage;

  constructor(stage: FailureStage, cause: unknown) {
    // Messages of sockets name addresses, which are not for callers to know; their codes do not.
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : undefined;
    const message = cause instanceof RangemakerError ? cause.message : code ?? messageOf(cause);
    super("NODE_CONNECTION", message, { cause });
    this.stage = stage;
  }
}

interface Exchange {
  reader: ReplyReader;
  answer: PromiseWithResolvers<HttpReply>;
  /** Whether the connection had been used before. */
  kept: boolean;
  /** Whether any of the answer has come. */
  begun: boolean;
}

/** One kept connection to a node: one request at a time, each with its answer. */
export class NodeConnection {
  readonly #socket: Socket;
  #connected = false;
  #used = false;
  #exchange: Exchange | undefined;
  #ended: Error | undefined;

  /**
   * @param socket About to be connected.
   * @param connectEvent What the socket says once it is: a TLS one has to agree on keys first.
   * @param onGone Called once, when it can be used no more.
   */
  constructor(socket: Socket, connectEvent: "connect" | "secureConnect", onGone: () => void) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.once(connectEvent, () => this.#connected = true);
    socket.on("data", (piece: Buffer<ArrayBuffer>) => this.#read(piece));
    socket.on("error", (error) => this.destroy(error));
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
   * @throws {ConnectionError} If the connection ends first, or what comes is no answer.
   */
  exchange(request: string): Promise<HttpReply> {
    const answer = Promise.withResolvers<HttpReply>();
    if (this.#ended !== undefined) answer.reject(new ConnectionError("kept", this.#ended));
    else {
      this.#exchange = { reader: new ReplyReader(), answer, kept: this.#used, begun: false };
      this.#used = true;
      this.#socket.write(request);
    }
    return answer.promise;
  }

  /** Ends the connection at once; an answer that is awaited fails with the reason. */
  destroy(reason: Error): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    this.#socket.destroy();
    const exchange = this.#exchange;
    this.#exchange = undefined;
    exchange?.answer.reject(new ConnectionError(this.#stageOf(exchange), reason));
  }

  #stageOf({ kept, begun }: Exchange): FailureStage {
    if (!this.#connected) return "connecting";
    return kept && !begun ? "kept" : "sent";
  }

  #read(piece: Buffer<ArrayBuffer>): void {
    const exchange = this.#exchange;
    // What nobody asked for must not be taken for the next answer.
    if (exchange === undefined) return this.destroy(new Error("The node spoke unasked"));
    exchange.begun = true;
    let reply: HttpReply | undefined;
    try {
      reply = exchange.reader.read(piece);
    } catch (thrown) {
      return this.destroy(thrown instanceof Error ? thrown : new Error(String(thrown)));
    }
    if (reply === undefined) return;
    this.#exchange = undefined;
    // A node that answers before it was told all may never read the rest, nor what would follow it.
    const reusable = reply.reusable && this.#socket.writableLength === 0;
    exchange.answer.resolve({ ...reply, reusable });
    if (!reusable) this.destroy(new Error("The node ended the connection"));
  }

  #close(): void {
    const reply = this.#exchange?.reader.end();
    if (reply !== undefined) {
      this.#exchange?.answer.resolve(reply);
      this.#exchange = undefined;
    }
    this.destroy(new Error("The node ended the connection"));
  }
}
