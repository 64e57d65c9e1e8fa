import type { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { messageOf, RangemakerError } from "../../../lib/errors.ts";
import { type HttpReply, ReplyReader } from "./reply_reader.ts";
import type { ByteBudget } from "../byte_budget.ts";
import type { Deadline } from "../deadlines.ts";

/**
 * How far a request got on a connection that failed: it was not sent, because the connection was not
 * open yet; it was sent on a reused connection, which the node may have closed just before; or it was
 * sent.
 */
export type FailureStage = "connecting" | "kept" | "sent";

/** A connection failed before the answer to a request was complete. */
export class ConnectionError extends RangemakerError {
  readonly stage: FailureStage;

  constructor(stage: FailureStage, cause: unknown) {
    // Socket messages contain addresses, which callers must not see; their codes do not.
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : undefined;
    const message = cause instanceof RangemakerError ? cause.message : code ?? messageOf(cause);
    super("NODE_CONNECTION", message, { cause });
    this.stage = stage;
  }
}

/** A request, and the callbacks for its outcome. */
export interface Exchange {
  /** The whole request, head and body. */
  readonly request: string;
  /** The answer is complete; `reusable` says whether the connection accepts another request. */
  replied(connection: NodeConnection, reply: HttpReply): void;
  failed(connection: NodeConnection, error: ConnectionError): void;
}

/** One keep-alive connection to a node: one request at a time, each with its answer. */
export class NodeConnection {
  /** That of the present request. */
  deadline: Deadline<NodeConnection> | undefined;
  readonly #socket: Socket;
  readonly #reader: ReplyReader;
  #connected = false;
  #exchange: Exchange | undefined;
  /** Whether the connection had been used before the present request. */
  #kept = false;
  /** Whether a part of the present answer has arrived. */
  #begun = false;
  #used = false;
  #ended: Error | undefined;

  /**
   * @param socket About to be connected.
   * @param connectEvent The event that reports the connection: with TLS, only after the handshake.
   * @param onGone Called once, when the connection becomes unusable.
   */
  constructor(
    socket: Socket,
    connectEvent: "connect" | "secureConnect",
    budget: ByteBudget,
    onGone: () => void,
  ) {
    this.#socket = socket;
    this.#reader = new ReplyReader(budget);
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

  /** Sends a request; the exchange is called back once, never before this method returns. */
  send(exchange: Exchange): void {
    if (this.#ended !== undefined) {
      const error = new ConnectionError("kept", this.#ended);
      return queueMicrotask(() => exchange.failed(this, error));
    }
    this.#exchange = exchange;
    this.#kept = this.#used;
    this.#used = true;
    this.#begun = false;
    this.#socket.write(exchange.request);
  }

  /** Ends the connection at once; a pending answer fails with the reason. */
  destroy(reason: Error): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    this.#socket.destroy();
    this.#reader.reset();
    const exchange = this.#exchange;
    this.#exchange = undefined;
    exchange?.failed(this, new ConnectionError(this.#stage, reason));
  }

  get #stage(): FailureStage {
    if (!this.#connected) return "connecting";
    return this.#kept && !this.#begun ? "kept" : "sent";
  }

  #read(piece: Buffer<ArrayBuffer>): void {
    const exchange = this.#exchange;
    // Unsolicited bytes would be read as the next answer.
    if (exchange === undefined) {
      return this.destroy(new Error("The node sent bytes without a request"));
    }
    this.#begun = true;
    let reply: HttpReply | undefined;
    try {
      reply = this.#reader.read(piece);
    } catch (thrown) {
      return this.destroy(thrown instanceof Error ? thrown : new Error(String(thrown)));
    }
    if (reply === undefined) return;
    this.#exchange = undefined;
    // A node that answers before it has read the whole request may never read the rest of it.
    if (reply.reusable && this.#socket.writableLength === 0) exchange.replied(this, reply);
    else {
      exchange.replied(this, { ...reply, reusable: false });
      this.destroy(new Error("The node closed the connection"));
    }
  }

  #close(): void {
    const exchange = this.#exchange;
    const reply = exchange && this.#reader.end();
    if (reply !== undefined) {
      this.#exchange = undefined;
      exchange?.replied(this, reply);
    }
    this.destroy(new Error("The node closed the connection"));
  }
}
