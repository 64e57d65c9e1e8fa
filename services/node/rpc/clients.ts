import { type Clock, withinMs } from "../../../lib/clock.ts";
import { FORWARDED_FOR } from "../../../lib/http/caller_address.ts";
import { CloseCode, upgradeWebSocket, wantsWebSocket } from "../../../lib/http/web_socket.ts";
import { idBesideParams, RpcCode, rpcFailure } from "../../../lib/protocol/jsonrpc.ts";
import type { Turns } from "../../../lib/timing/turns.ts";
import { callerGroups, invalidRequest } from "./api.ts";
import type { Caller, Dispatcher } from "./dispatcher.ts";
import type { ClientSubscriptions, Subscriber, Subscriptions } from "./subscriptions.ts";

/**
 * The longest request of a client: a `BackfillOracle` of 6,000 prices needs a seventh of it. A
 * longer request gets an error. Above 64 MiB, the runtime itself closes the connection with 1009.
 */
const REQUEST_CHARS_MAX = 1024 * 1024;

/** Unsent bytes that one client may have permanently. Slower readers are closed with 1013. */
const UNSENT_PER_CLIENT_MAX = 2 * 1024 * 1024;

/**
 * Limits during a burst, such as many settlements at once: for this long, one client and all
 * clients together may have this many unsent bytes. A client may be a proxy that serves thousands.
 */
const BURST = { ms: 3_000, clientBytes: 64 * 1024 * 1024, totalBytes: 256 * 1024 * 1024 };

/**
 * Part of {@link UNSENT_PER_CLIENT_MAX} that answers leave for notifications. One socket may serve
 * all clients of a proxy, so a long answer that does not fit is replaced by an error, and the
 * socket stays open.
 */
const NOTIFICATION_BYTES = 256 * 1024;

/** Answers up to this length are never replaced by an error. */
const SHORT_ANSWER_CHARS = 16 * 1024;

/** Most requests of one client without an answer. Further ones get an error. */
const OPEN_REQUESTS_MAX = 100;

/**
 * Characters of one client's messages that wait for their turn, each counted as at least
 * {@link MESSAGE_CHARS}. A proxy that reconnects sends 4,096 subscribe calls of 4 KiB at once. A
 * client that sends more, or more than is left for all together, is closed with 1013.
 */
const WAITING_CHARS_MAX = 20 * 1024 * 1024;
const TOTAL_WAITING_CHARS_MAX = 256 * 1024 * 1024;

/** What every client may have waiting, regardless of others: 160 Mi characters for 10,000. */
const GUARANTEED_WAITING_CHARS = 16 * 1024;
const MESSAGE_CHARS = 4_096;

/** How long clients may take to answer a close frame when the node stops. */
const CLOSE_WAIT_MS = 1_000;

interface ClientsOptions {
  dispatcher: Dispatcher;
  subscriptions: Subscriptions;
  /** Measures how long bursts last: it must not jump. */
  clock: Clock;
  /** Messages are handled in these: a client that sends without end delays no checkpoint. */
  turns: Turns;
  /** A client was disconnected because it read too slowly, or sent too much at once. */
  onSlowClient(): void;
}

/** The WebSocket clients of both ports. */
export class Clients {
  readonly #options: ClientsOptions;
  readonly #sockets = new Set<WebSocket>();
  /** Clients over {@link UNSENT_PER_CLIENT_MAX} at their last message, and since when. */
  readonly #bursts = new Map<WebSocket, number>();
  /** Characters of all messages that wait for their turn. */
  #waitingChars = 0;
  #onEmpty: () => void = () => {};
  #closing: Promise<void> | undefined;

  constructor(options: ClientsOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#sockets.size;
  }

  /** Upgrades a request to a WebSocket; undefined if it does not ask for one. */
  accept(request: Request, remote: string, isReadOnly: boolean): Response | undefined {
    if (!wantsWebSocket(request)) return undefined;
    const groups = callerGroups(request.headers.get(FORWARDED_FOR), remote);
    const upgrade = upgradeWebSocket(request);
    if (typeof upgrade === "string") return invalidRequest(400, upgrade);
    const { socket, response } = upgrade;
    // A socket whose peer disconnects before it opens has no further event, not even a close.
    socket.onopen = () => {
      if (this.#closing !== undefined) return this.#closeForStop(socket);
      this.#serve(socket, { isReadOnly, groups: () => groups });
    };
    return response;
  }

  /** Closes all connections with 1012 and waits up to {@link CLOSE_WAIT_MS} for the clients. */
  closeAll(): Promise<void> {
    this.#options.subscriptions.stop();
    return this.#closing ??= this.#closeAll();
  }

  async #closeAll(): Promise<void> {
    if (this.#sockets.size === 0) return;
    const { promise: empty, resolve } = Promise.withResolvers<void>();
    this.#onEmpty = resolve;
    for (const socket of this.#sockets) this.#closeForStop(socket);
    await withinMs(empty, CLOSE_WAIT_MS, undefined);
  }

  #closeForStop(socket: WebSocket): void {
    socket.close(CloseCode.serviceRestart, "Node is stopping");
  }

  #canReceive(socket: WebSocket): boolean {
    const bytes = socket.bufferedAmount;
    if (bytes <= UNSENT_PER_CLIENT_MAX) {
      if (this.#bursts.size > 0) this.#bursts.delete(socket);
      return true;
    }
    const nowMs = this.#options.clock.now();
    const sinceMs = this.#bursts.get(socket) ?? nowMs;
    this.#bursts.set(socket, sinceMs);
    let totalBytes = 0;
    for (const slow of this.#bursts.keys()) totalBytes += slow.bufferedAmount;
    return nowMs - sinceMs < BURST.ms && bytes <= BURST.clientBytes &&
      totalBytes <= BURST.totalBytes;
  }

  #serve(socket: WebSocket, caller: Caller): void {
    const { dispatcher, subscriptions, onSlowClient } = this.#options;
    const send = (text: string) => {
      if (socket.readyState !== WebSocket.OPEN) return;
      if (this.#canReceive(socket)) return socket.send(text);
      onSlowClient();
      client.disconnect();
      socket.close(CloseCode.tryAgainLater, "Reading too slowly");
    };
    const client: Subscriber = subscriptions.connect(send);
    const receive = createReceiver({ socket, caller, client, dispatcher, send });
    socket.binaryType = "arraybuffer";
    this.#sockets.add(socket);
    socket.onmessage = this.#inTurns(socket, caller, receive);
    const onClosed = () => {
      this.#sockets.delete(socket);
      this.#bursts.delete(socket);
      client.disconnect();
      if (this.#sockets.size === 0) this.#onEmpty();
    };
    socket.onclose = onClosed;
    // A close event follows every error.
    socket.onerror = () => {};
  }

  /** Handles messages one after the other, each when it is its client's turn. */
  #inTurns(socket: WebSocket, caller: Caller, receive: (text: string) => Promise<void>) {
    const { turns, onSlowClient } = this.#options;
    let waitingChars = 0;
    let previous = Promise.resolve();
    return ({ data }: MessageEvent): void => {
      if (socket.readyState !== WebSocket.OPEN) return; // one that is closed may go on sending
      const text = textOfFrame(data);
      const chars = Math.max(text.length, MESSAGE_CHARS);
      const leftChars = TOTAL_WAITING_CHARS_MAX - this.#waitingChars;
      const areFew = waitingChars + chars <= GUARANTEED_WAITING_CHARS;
      if (!areFew && waitingChars >= Math.min(WAITING_CHARS_MAX, leftChars)) {
        onSlowClient();
        socket.close(CloseCode.tryAgainLater, "Too many messages at once: await answers");
        return;
      }
      waitingChars += chars;
      this.#waitingChars += chars;
      const handle = () => {
        waitingChars -= chars;
        this.#waitingChars -= chars;
        if (socket.readyState === WebSocket.OPEN) void receive(text);
      };
      previous = previous.then(() => turns.run(caller.groups(), handle));
    };
  }
}

interface Connection {
  socket: WebSocket;
  caller: Caller;
  client: Subscriber;
  dispatcher: Dispatcher;
  send(text: string): void;
}

/** Answers the requests of one connection, and refuses those beyond its limits. */
function createReceiver({ socket, caller, client, dispatcher, send }: Connection) {
  let openRequests = 0;
  const refuse = (text: string, message: string) =>
    send(JSON.stringify(rpcFailure(idBesideParams(text), RpcCode.limitExceeded, message)));
  return async (text: string): Promise<void> => {
    if (text.length > REQUEST_CHARS_MAX) {
      const received = `received ${text.length}; send less at once`;
      return refuse(text, `Requests may have ${REQUEST_CHARS_MAX} characters: ${received}`);
    }
    if (openRequests >= OPEN_REQUESTS_MAX) {
      return refuse(text, `${OPEN_REQUESTS_MAX} requests of this connection wait: try again later`);
    }
    const newIds: string[] = [];
    openRequests += 1;
    const { text: answer = "" } = await dispatcher.handle(text, {
      ...caller,
      subscriptions: recordingIds(client, newIds),
    }).finally(() => openRequests -= 1);
    const isShort = answer.length <= SHORT_ANSWER_CHARS;
    const waiting = socket.bufferedAmount + answer.length;
    const fits = isShort || waiting <= UNSENT_PER_CLIENT_MAX - NOTIFICATION_BYTES;
    if (!fits) {
      refuse(text, `${socket.bufferedAmount} bytes wait to be read: read them and try again`);
    } else if (answer !== "") send(answer);
    // An answer lacks the id if it is an error after all, or if the call wanted none.
    const sentIds = newIds.filter((id) => fits && answer.includes(id));
    client.activate(sentIds);
    for (const id of newIds) if (!sentIds.includes(id)) client.unsubscribe(id);
  };
}

/** Adds the ids of the subscriptions that a message makes to a list. */
function recordingIds(client: Subscriber, newIds: string[]): ClientSubscriptions {
  return {
    subscribe(kind, filter) {
      const id = client.subscribe(kind, filter);
      newIds.push(id);
      return id;
    },
    unsubscribe: (id) => client.unsubscribe(id),
  };
}

/** The text of a frame; a binary one is read as UTF-8. */
function textOfFrame(data: unknown): string {
  return data instanceof ArrayBuffer ? new TextDecoder().decode(data) : String(data);
}
