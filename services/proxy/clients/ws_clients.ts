import { withinMs } from "../../../lib/clock.ts";
import { CloseCode, upgradeWebSocket, wantsWebSocket } from "../../../lib/http/web_socket.ts";
import { RpcCode } from "../../../lib/protocol/jsonrpc.ts";
import { serviceLog } from "../../../lib/log/logging.ts";
import { type CallerAddress, callerAddress } from "../../../lib/http/caller_address.ts";
import { pathOf } from "../../../lib/http/listener.ts";
import { HOUR_MS } from "../../../lib/time.ts";
import type { Cors } from "../../../lib/http/cors.ts";
import { Deadlines } from "../shared/deadlines.ts";
import { AddressCounts, type ByteBudget, SMALL_BYTES } from "../shared/limits.ts";
import { ClientBuffers, ClientQueue, type ClientSocket } from "./client_queue.ts";
import { WsClient, type WsClientOptions } from "./ws_client.ts";
import { IDLE_TIMEOUT_S, RuntimeSocket } from "./client_sockets.ts";
import type { Turns } from "../../../lib/timing/turns.ts";
import { failureText, limitExceeded, originRefused, ProxyError } from "../shared/failures.ts";

const log = serviceLog("proxy");

/** The options of a client are the same for all clients. */
interface WsClientsOptions extends Omit<WsClientOptions, "sink" | "address"> {
  cors: Cors;
  /** Whether the peers' `X-Forwarded-For` is true, see {@link callerAddress}. */
  trustProxy: boolean;
  /** Unsent bytes, together with all others of the process. */
  budget: ByteBudget;
  /** Messages are handled in these. */
  turns: Turns;
  maxClients: number;
  maxClientsPerAddress: number;
}

/**
 * How long a handshake of the first port whose socket does not open counts against its address. A
 * client that resets its connection before the answer leaves a file descriptor in the runtime until
 * the process ends, and no event: not even the socket is closed.
 */
const UNOPENED_COUNT_MS = HOUR_MS;

/** The address that the runtime gives a peer that reset its connection before that was accepted. */
const RESET_REMOTE = "0.0.0.0";

/** Most messages of a client that wait for their turn. */
const WAITING_MAX = 1_024;

/** How long clients may take to answer a close before the listener cuts them. */
const CLOSE_DEADLINE_MS = 1_000;

/** Whether a request asks for a WebSocket on one of its paths. */
export function isHandshake(request: Request): boolean {
  return wantsWebSocket(request) && isWebSocketPath(pathOf(request.url));
}

export function isWebSocketPath(path: string): boolean {
  return path === "/ws" || path === "/";
}

/** All open client WebSockets. */
export class WsClients {
  readonly #options: WsClientsOptions;
  readonly #sockets = new Set<ClientSocket>();
  readonly #perAddress: AddressCounts;
  /** Handshakes of the first port whose socket has not opened, and when each counts no longer. */
  readonly #unopenedPerAddress: AddressCounts;
  readonly #unopened: Deadlines<CallerAddress>;
  readonly #buffers: ClientBuffers;
  #isClosing = false;
  #onAllClosed: (() => void) | undefined;

  constructor(options: WsClientsOptions) {
    this.#options = options;
    const { maxClients, maxClientsPerAddress, budget, clock, metrics } = options;
    this.#perAddress = new AddressCounts(maxClientsPerAddress, maxClients);
    this.#unopenedPerAddress = new AddressCounts(maxClientsPerAddress, maxClients);
    this.#unopened = new Deadlines(
      clock,
      UNOPENED_COUNT_MS,
      (address) => this.#unopenedPerAddress.remove(address),
    );
    this.#buffers = new ClientBuffers(budget, clock, () => metrics.countRefusal("buffered_bytes"));
    metrics.scrapedGauge(
      "proxy_ws_connections_active",
      "Client WebSockets that are open.",
      () => this.#sockets.size,
    );
  }

  /** Turns a request into a WebSocket, or refuses it. */
  accept(request: Request, remote: string): Response {
    const address = this.admit(request.headers, remote);
    if (address instanceof Response) return address;
    if (remote === RESET_REMOTE) { // a plain answer leaves no descriptor
      const reset = new ProxyError(400, RpcCode.invalidRequest, "The connection was reset");
      return this.#refusalResponse(reset);
    }
    if (!this.#unopenedPerAddress.canAdd(address)) {
      return this.#refusalResponse(this.#addressFull(
        "Too many handshakes from this address, or behind its load balancer, were not completed: " +
          "try again in an hour",
      ));
    }
    const upgrade = upgradeWebSocket(request, { idleTimeout: IDLE_TIMEOUT_S });
    if (typeof upgrade === "string") {
      return this.#refusalResponse(new ProxyError(400, RpcCode.invalidRequest, upgrade));
    }
    const { socket, response } = upgrade;
    this.#unopenedPerAddress.add(address);
    const unopened = this.#unopened.add(address);
    socket.onopen = () => {
      if (this.#unopened.finish(unopened)) this.#unopenedPerAddress.remove(address);
      const full = this.#findRefusal(address);
      if (full === undefined) return this.serve(new RuntimeSocket(socket), address);
      const code = this.#isClosing ? CloseCode.serviceRestart : CloseCode.tryAgainLater;
      socket.close(code, full.message);
    };
    return response;
  }

  /** The caller of a handshake, or the answer that refuses it. */
  admit(headers: Headers, remote: string): CallerAddress | Response {
    const { cors, trustProxy } = this.#options;
    const origin = headers.get("origin");
    const address = callerAddress(headers, remote, trustProxy);
    // Otherwise any page could use a proxy that only its visitor can reach.
    const error = cors.allows(origin) ? this.#findRefusal(address) : originRefused(origin);
    return error === undefined ? address : this.#refusalResponse(error);
  }

  /** Serves a client whose socket has just opened, until it ends. */
  serve(socket: ClientSocket, address: CallerAddress): void {
    const { metrics, turns, callerBytes } = this.#options;
    const { display } = address;
    metrics.countHandshake(101);
    const queue = new ClientQueue(socket, this.#buffers, address.key);
    const client = new WsClient({ ...this.#options, sink: queue, address });
    this.#sockets.add(socket);
    this.#perAddress.add(address);
    log.debug("Client {address} connected", { address: display });
    const countUnfinished = this.#createCounter(socket, address);
    let waiting = 0;
    socket.listen({
      onUnfinished: countUnfinished,
      onText(text) {
        if (!socket.isOpen) return;
        // One short message of each client may always wait.
        const isCounted = !turns.isFree && (waiting > 0 || text.length > SMALL_BYTES);
        const bytes = isCounted ? text.length : 0;
        const hasPlace = waiting < WAITING_MAX;
        if (!hasPlace || isCounted && !callerBytes.tryAdd(address, bytes)) {
          metrics.countRefusal(hasPlace ? "buffered_bytes" : "requests_per_address");
          // One that is only closed would be read until it answers that.
          if (socket.canTerminate) return socket.terminate();
          return socket.close(CloseCode.tryAgainLater, "Too many messages at once: await answers");
        }
        waiting += 1;
        const handled = turns.run([address.peerKey, address.key], async () => {
          waiting -= 1;
          callerBytes.remove(address, bytes);
          if (socket.isOpen) await client.receive(text);
        });
        handled.catch((error: unknown) => {
          log.error("A client's message could not be handled: {error}", { error });
          socket.close(CloseCode.internalError, "Internal error");
        });
      },
      onTooLarge: () => metrics.countRefusal("message_bytes"),
      onDrain: () => client.onDrained(),
      onClosed: () => {
        countUnfinished(0);
        client.end();
        this.#buffers.remove(queue);
        this.#perAddress.remove(address);
        log.debug("Client {address} disconnected", { address: display });
        this.#sockets.delete(socket);
        if (this.#sockets.size === 0) this.#onAllClosed?.();
      },
    });
  }

  /**
   * Counts the bytes of a client's unfinished message like those of a large one. A client whose bytes
   * do not fit is cut: it could send more of them at any time.
   */
  #createCounter(socket: ClientSocket, address: CallerAddress): (bytes: number) => void {
    const { callerBytes, metrics } = this.#options;
    let counted = 0;
    return (bytes) => {
      const more = (bytes > SMALL_BYTES ? bytes : 0) - counted;
      if (more === 0) return;
      if (more > 0 && !callerBytes.tryAdd(address, more)) {
        metrics.countRefusal("buffered_bytes");
        socket.terminate();
        return;
      }
      if (more < 0) callerBytes.remove(address, -more);
      counted += more;
    };
  }

  /**
   * Refuses new clients and closes the open ones with 1012, service restart. Resolves when all have
   * answered, or after {@link CLOSE_DEADLINE_MS}: the listener then terminates the rest.
   */
  async closeAll(): Promise<void> {
    this.#isClosing = true;
    this.#unopened.clear();
    for (const socket of this.#sockets) socket.close(CloseCode.serviceRestart, "Service restart");
    if (this.#sockets.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onAllClosed = resolve;
    await withinMs(promise, CLOSE_DEADLINE_MS, undefined, this.#options.clock);
  }

  #findRefusal(address: CallerAddress): ProxyError | undefined {
    if (this.#isClosing) {
      return new ProxyError(
        503,
        RpcCode.resourceUnavailable,
        "The proxy is shutting down: connect again",
      );
    }
    const { maxClients, metrics } = this.#options;
    if (this.#sockets.size >= maxClients) {
      metrics.countRefusal("connections");
      return limitExceeded(429, `${maxClients} clients are connected: try again later`);
    }
    if (!this.#perAddress.canAdd(address)) {
      return this.#addressFull(
        "Too many clients are connected from this address, or behind its load balancer: close one first",
      );
    }
  }

  #addressFull(message: string): ProxyError {
    this.#options.metrics.countRefusal("connections_per_address");
    return limitExceeded(429, message);
  }

  #refusalResponse(error: ProxyError): Response {
    const { status } = error;
    this.#options.metrics.countHandshake(status);
    const headers = { "content-type": "application/json" };
    return new Response(failureText("null", error), { status, headers });
  }
}
