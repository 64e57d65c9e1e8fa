import { ClientConnection } from "../../../services/proxy/clients/client_buffers.ts";
import type { OutgoingMessage } from "../../../services/proxy/hub/messages.ts";
import type { RpcMessage } from "../../support/rpc_socket.ts";

/** A client's connection whose other end is the test. */
export class FakeConnection extends ClientConnection {
  unsentBytes = 0;
  roomBytes = Infinity;
  isCut = false;
  /** Messages that the client got. */
  readonly frames: RpcMessage[] = [];
  readonly closed: number[] = [];

  constructor(readonly isCuttable = false) {
    super();
  }

  send(messages: readonly OutgoingMessage[]): void {
    this.frames.push(...messages.map(({ text }) => JSON.parse(text)));
  }

  close(code: number): void {
    this.closed.push(code);
  }

  cut(): void {
    this.isCut = true;
  }

  protected freeQueueBytes(): number {
    return this.roomBytes;
  }
}
