import type { Buffer } from "node:buffer";
import type { Socket } from "node:net";
// @ts-types="@types/ws"
import type { WebSocket as WsSocket } from "ws";
import { ANSWER_BYTES_MAX, type ClientConnection, QUEUED_BYTES_MAX } from "./client_connection.ts";
import { CloseCode } from "../hub/hub_client.ts";
import type { FrameJoiner, OutgoingMessage } from "../hub/outgoing_message.ts";

/** A WebSocket whose TCP socket is at hand, so that many messages leave in one write. */
export class TcpConnection implements ClientConnection {
  onText = (_text: string) => {};
  onGone = () => {};
  readonly #socket: WsSocket;
  readonly #tcp: Socket;
  readonly #joiner: FrameJoiner;
  #alive = true;

  /** @param joiner Shared by connections that are likely to get the same messages. */
  constructor(socket: WsSocket, tcp: Socket, joiner: FrameJoiner) {
    this.#socket = socket;
    this.#tcp = tcp;
    this.#joiner = joiner;
    // Without a list of fragments asked for, text and binary messages alike are one Buffer.
    socket.on("message", (data: Buffer) => this.onText(data.toString()));
    // What reads nothing is not answered either: pongs would heap up without a bound.
    socket.on("ping", (data: Buffer) => {
      if (this.room() > 0) socket.pong(data);
    });
    socket.on("pong", () => this.#alive = true);
    socket.on("error", () => {}); // a close event follows and says all there is to do
    socket.on("close", () => this.onGone());
  }

  room(): number {
    return QUEUED_BYTES_MAX - this.#tcp.writableLength;
  }

  send(messages: readonly OutgoingMessage[]): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#tcp.writableLength > ANSWER_BYTES_MAX) {
      return this.close(CloseCode.tryAgainLater, "Answers are not read");
    }
    // Frames are whole and nothing is compressed, so these may stand between any two of the socket's.
    this.#tcp.write(this.#joiner.join(messages));
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
  }

  cut(): void {
    this.#socket.terminate();
  }

  /** Asks for a sign of life, and cuts a client that gave none since the last time. */
  ping(): void {
    if (!this.#alive) return this.cut();
    this.#alive = false;
    this.#socket.ping();
  }
}
