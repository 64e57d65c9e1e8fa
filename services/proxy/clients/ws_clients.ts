import { setImmediate } from "node:timers";
import { getLogger } from "@logtape/logtape";
import type { CancelTimer, Clock } from "../../../lib/clock.ts";
import { RpcCode } from "../../../lib/protocol/jsonrpc.ts";
import { LOG_ROOT } from "../../../lib/http/logging.ts";
import type { CallerAddress } from "../caller_address.ts";
import { ClientSession } from "./client_session.ts";
import { type ClientConnection, IDLE_TIMEOUT_S, NativeConnection } from "./client_connection.ts";
import type { Cors } from "../router/cors.ts";
import { limitExceeded, ProxyError } from "../router/failures.ts";
import type { Hub } from "../hub/hub.ts";
import { CloseCode } from "../hub/hub_client.ts";
import type { ProxyMetrics } from "../metrics.ts";
import { failureText, type Router } from "../router/router.ts";

const log = getLogger([LOG_ROOT, "proxy"]);

/** What {@link WsClients} work with. */
export interface WsClientsOptions {
  hub: Hub;
  router: Router;
  clock: Clock;
  metrics: ProxyMetrics;
  cors: Cors;
  maxClients: number;
  maxMessageBytes: number;
  maxSubscriptionsPerClient: number;
}

/** A socket tells nothing when it can take more, so those that are behind are looked at this often. */
const RESUME_EVERY_MS = 20;

/** How long clients may take to answer the close; the listener would close them with another code. */
const CLOSE_DEADLINE_MS = 1_000;

/** How often waits for the node are looked at. */
const SWEEP_EVERY_MS = 1_000;

/** Whether a request asks for a WebSocket, on `/ws` or on `/`. */
export function isHandshake(request: Request): boolean {
  if (request.method !== "GET") return false;
  if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") return false;
  const { pathname } = new URL(request.url);
  return pathname === "/ws" || pathname === "/";
}

/** All open client WebSockets. */
export class WsClients {
  readonly #options: WsClientsOptions;
  readonly #connections = new Set<ClientConnection>();
  #cancelSweep: CancelTimer | undefined;
  #cancelResume: CancelTimer | undefined;
  #draining = false;
  #flushing = false;
  #drained: (() => void) | undefined;

  constructor(options: WsClientsOptions) {
    this.#options = options;
  }

  /** Begins to watch over waits for the node. */
  start(): void {
    this.#sweepLater();
  }

  /** Turns a request into a WebSocket, or says why not. */
  accept(request: Request, address: CallerAddress): Response {
    const refusal = this.refusal(request.headers);
    if (refusal !== undefined) return refusal;
    let upgrade: Deno.WebSocketUpgrade;
    try {
      upgrade = Deno.upgradeWebSocket(request, { idleTimeout: IDLE_TIMEOUT_S });
    } catch (thrown) {
      // The request lacks a header of the handshake; the message names it.
      return new Response(String(thrown), { status: 400 });
    }
    const { socket, response } = upgrade;
    // A socket whose peer is gone before it opens tells nothing more, not even that it has closed.
    socket.onopen = () => {
      const connection = new NativeConnection(socket);
      const full = this.#noRoom();
      if (full === undefined) this.adopt(connection, address);
      else {connection.close(
          this.#draining ? CloseCode.serviceRestart : CloseCode.tryAgainLater,
          full.message,
        );}
    };
    return response;
  }

  /** Why a handshake is refused, or undefined where it is not. */
  refusal(headers: Headers): Response | undefined {
    // A page of another origin could otherwise use a proxy that only its visitor can reach.
    if (!this.#options.cors.allows(headers.get("origin"))) {
      return new Response("Origin not allowed", { status: 403 });
    }
    const error = this.#noRoom();
    return error && new Response(failureText(null, error), {
      status: error.status,
      headers: { "content-type": "application/json" },
    });
  }

  /** Serves a connection until it ends. */
  adopt(connection: ClientConnection, { shown, forwardedFor }: CallerAddress): void {
    const { hub, router, clock, metrics, maxMessageBytes } = this.#options;
    const session = new ClientSession({
      hub,
      router,
      sink: connection,
      clock,
      metrics,
      forwardedFor,
      maxMessageBytes,
      maxSubscriptions: this.#options.maxSubscriptionsPerClient,
    });
    this.#connections.add(connection);
    metrics.wsConnections.set(this.#connections.size);
    log.debug("Client {address} connected", { address: shown });
    connection.onText = (text) => {
      session.receive(text).then(() => this.#resumeLater()).catch((error: unknown) => {
        log.error("A client's message could not be handled: {error}", { error });
        connection.close(1011, "Internal error");
      });
    };
    connection.onGone = () => {
      session.end();
      log.debug("Client {address} is gone", { address: shown });
      this.#connections.delete(connection);
      metrics.wsConnections.set(this.#connections.size);
      if (this.#connections.size === 0) this.#drained?.();
    };
  }

  /**
   * Sends what frames of the node brought, at the end of this turn of the event loop, so that frames
   * that came together leave together; and keeps at it for clients that are behind.
   */
  flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      this.#options.hub.flush();
      this.#resumeLater();
    });
  }

  /**
   * Refuses new clients and closes the open ones with 1012, service restart. Resolves when all have
   * answered; those that do not within {@link CLOSE_DEADLINE_MS} are cut with the listener.
   */
  async drain(): Promise<void> {
    this.#draining = true;
    for (const connection of this.#connections) {
      connection.close(CloseCode.serviceRestart, "Service restart");
    }
    if (this.#connections.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#drained = resolve;
    const cancel = this.#options.clock.after(CLOSE_DEADLINE_MS, resolve);
    await promise;
    cancel();
  }

  /** Stops all timers. */
  stop(): void {
    this.#cancelSweep?.();
    this.#cancelResume?.();
  }

  #noRoom(): ProxyError | undefined {
    if (this.#draining) {
      return new ProxyError(503, RpcCode.resourceUnavailable, "The proxy is shutting down");
    }
    const { maxClients } = this.#options;
    if (this.#connections.size >= maxClients) {
      return limitExceeded(429, `${maxClients} clients are connected: no more are taken`);
    }
  }

  #resumeLater(): void {
    const { hub, clock } = this.#options;
    if (this.#cancelResume !== undefined || hub.stuck.size === 0) return;
    this.#cancelResume = clock.after(RESUME_EVERY_MS, () => {
      this.#cancelResume = undefined;
      for (const client of [...hub.stuck]) hub.resume(client);
      this.#resumeLater();
    });
  }

  #sweepLater(): void {
    const { hub, clock } = this.#options;
    this.#cancelSweep = clock.after(SWEEP_EVERY_MS, () => {
      hub.sweep(clock.now());
      this.#sweepLater();
    });
  }
}
