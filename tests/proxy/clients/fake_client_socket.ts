import type { ClientSocket, SocketEvents } from "../../../services/proxy/clients/client_queue.ts";
import type { OutgoingMessage } from "../../../services/proxy/hub/notifications.ts";
import type { RpcMessage } from "../../support/rpc_socket.ts";

/** A client's socket with the test at its other end. */
export class FakeClientSocket implements ClientSocket {
  readonly isOpen = true;
  readonly canTerminate: boolean;
  /** What the client has not read, as the test sets it. */
  bufferedBytes = 0;
  isTerminated = false;
  readonly frames: RpcMessage[] = [];
  readonly closed: number[] = [];
  /** Plays what happens at the client; set by the proxy. */
  events: SocketEvents = {
    onText() {},
    onUnfinished() {},
    onTooLarge() {},
    onDrain() {},
    onClosed() {},
  };

  constructor(canTerminate = false) {
    this.canTerminate = canTerminate;
  }

  listen(events: SocketEvents): void {
    this.events = events;
  }

  write(messages: readonly OutgoingMessage[]): void {
    this.frames.push(...messages.map(({ text }) => JSON.parse(text)));
  }

  close(code: number): void {
    this.closed.push(code);
  }

  terminate(): void {
    this.isTerminated = true;
  }
}
