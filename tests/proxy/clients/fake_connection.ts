import {
  ClientConnection,
  QUEUED_BYTES_MAX,
} from "../../../services/proxy/clients/client_connection.ts";
import type { OutgoingMessage } from "../../../services/proxy/hub/messages.ts";
import type { RpcMessage } from "../../support/rpc_socket.ts";

/** A client's connection with the test at its other end. */
export class FakeConnection extends ClientConnection {
  unsentBytes = 0;
  queueBytes = Infinity;
  isTerminated = false;
  /** Messages that the client got. */
  readonly frames: RpcMessage[] = [];
  readonly closed: number[] = [];

  constructor(canTerminate = false) {
    super();
    if (canTerminate) this.terminate = () => this.isTerminated = true;
  }

  protected readonly isOpen = true;
  protected write(): void {}

  override send(messages: readonly OutgoingMessage[]): void {
    this.frames.push(...messages.map(({ text }) => JSON.parse(text)));
  }

  close(code: number): void {
    this.closed.push(code);
  }

  protected unsentWithin(): number {
    return QUEUED_BYTES_MAX - this.queueBytes;
  }
}
