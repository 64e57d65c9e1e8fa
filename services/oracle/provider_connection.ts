import type { CancelTimer, Clock, RandomSource } from "../../lib/clock.ts";
import type { Market } from "../../lib/protocol/markets.ts";
import type { ProviderName } from "../../lib/protocol/providers.ts";
import { serviceLog } from "../../lib/log/logging.ts";
import {
  type DownCause,
  ReconnectingSocket,
  type SocketLike,
} from "../../lib/net/reconnecting_socket.ts";
import { type Fault, type Remedy, Session, type SessionHandlers } from "./session.ts";
import type { Provider } from "./provider.ts";
import { RetrySchedule } from "./retry_schedule.ts";
import { BoundedSocket } from "../../lib/net/bounded_socket.ts";

export interface ProviderConnectionHandlers
  extends Pick<SessionHandlers, "onPrint" | "onConfirmed" | "onIdle" | "onDropped"> {
  /** The prices of one market, or of all, are no longer valid. */
  onDrop(market?: string): void;
  onFault?(fault: Fault): void;
  /** A connection attempt after the first. */
  onReconnect?(): void;
}

export interface ProviderConnectionOptions {
  provider: Provider;
  url: string;
  markets: readonly Market[];
  clock: Clock;
  random: RandomSource;
  handlers: ProviderConnectionHandlers;
  /** An attempt that is not open after this time has failed; 2.5 s by default. */
  connectTimeoutMs?: number;
  /** Opens a socket; {@link connectToExchange} by default. */
  connect?: (url: string) => SocketLike;
}

/** A connection that was subscribed and without a fault for this long resets the backoff. */
export const HEALTHY_AFTER_MS = 30_000;

const CONNECT_TIMEOUT_MS = 2_500;

/** Each kind of fault is logged at most this often, in milliseconds; every fault is counted. */
const LOG_EVERY_MS = 5_000;

/** A socket and, while it is open, the session on it. */
interface Link {
  socket: ReconnectingSocket;
  session: Session | undefined;
}

/**
 * Keeps one provider connected and passes on its prices. Only the current link's prices count. To
 * replace a link that still works, a second one is opened; it takes over once it is subscribed.
 */
export class ProviderConnection {
  readonly #options: ProviderConnectionOptions;
  readonly #schedule: RetrySchedule;
  readonly #log = serviceLog("oracle");
  #current: Link | undefined;
  #next: Link | undefined;
  #cancelReplacing: CancelTimer | undefined;
  #cancelHealth: CancelTimer | undefined;
  #attempts = 0;
  #lastError: string | undefined;
  #isLost = false;
  readonly #loggedAtMs = new Map<Fault, number>();

  constructor(options: ProviderConnectionOptions) {
    this.#options = options;
    const { provider: { retry }, clock, random } = options;
    this.#schedule = new RetrySchedule({ rule: retry, clock, random });
  }

  get name(): ProviderName {
    return this.#options.provider.name;
  }

  /** The session whose prices count, while its connection is open. */
  get session(): Session | undefined {
    return this.#current?.session;
  }

  /** Connection attempts after the first. */
  get reconnects(): number {
    return Math.max(0, this.#attempts - 1);
  }

  /** The last fault, as text for people. */
  get lastError(): string | undefined {
    return this.#lastError;
  }

  /** Connects, and reconnects after every loss. */
  start(): void {
    if (this.#current !== undefined) return;
    this.#current = this.#link();
    this.#current.socket.start();
  }

  /** Closes everything for good. */
  stop(): void {
    this.#cancelReplacing?.();
    this.#cancelHealth?.();
    for (const link of [this.#current, this.#next]) if (link !== undefined) close(link);
  }

  #link(): Link {
    const { url, clock, connect = connectToExchange, provider } = this.#options;
    const { connectTimeoutMs = CONNECT_TIMEOUT_MS } = this.#options;
    const socket = new ReconnectingSocket({
      url,
      clock,
      connect,
      backoff: this.#schedule,
      connectTimeoutMs,
      silenceMs: provider.liveness.silenceMs,
      healthyAfterMs: Infinity,
      handlers: {
        onAttempt: () => this.#attempted(),
        onOpen: () => {
          this.#schedule.spend("subscriptions");
          link.session = this.#session(link);
          link.session.start();
        },
        onText: (text) => link.session?.receive(text),
        onDown: (reason, cause) => this.#down(link, reason, cause),
      },
    });
    const link: Link = { socket, session: undefined };
    return link;
  }

  #session(link: Link): Session {
    const { provider, markets, clock, handlers } = this.#options;
    return new Session({
      provider,
      markets,
      clock,
      send: (text) => link.socket.send(text),
      handlers: {
        onPrint: (market, price) => {
          if (link === this.#current) handlers.onPrint(market, price);
        },
        onConfirmed: (market) => {
          if (link === this.#current) handlers.onConfirmed?.(market);
        },
        onIdle: () => {
          if (link === this.#current) handlers.onIdle?.();
        },
        onSubscribed: () => this.#subscribed(link),
        onFault: (fault, remedy, detail) => this.#applyRemedy(link, fault, remedy, detail),
        onDropped: (reason) => handlers.onDropped?.(reason),
      },
    });
  }

  #attempted(): void {
    this.#schedule.spend("connections");
    this.#attempts += 1;
    if (this.#attempts > 1) this.#options.handlers.onReconnect?.();
  }

  #subscribed(link: Link): void {
    const event = this.#isLost ? "provider_back" : "provider_subscribed";
    this.#log.info("{provider} is subscribed", { event, provider: this.name });
    this.#isLost = false;
    if (link === this.#next) this.#takeOver(link);
    this.#cancelHealth?.();
    this.#cancelHealth = this.#options.clock.after(HEALTHY_AFTER_MS, () => this.#schedule.reset());
  }

  /**
   * Makes the second link the current one. Prices stay, at their age, until the new link brings
   * newer ones; those of markets that it is not subscribed to are dropped.
   */
  #takeOver(link: Link): void {
    if (this.#current !== undefined) close(this.#current);
    this.#current = link;
    this.#next = undefined;
    for (const stream of link.session?.streams ?? []) {
      if (!stream.acknowledged) this.#options.handlers.onDrop(stream.market);
    }
  }

  #applyRemedy(link: Link, fault: Fault, remedy: Remedy, detail: string): void {
    const isLoss = remedy === "drop" && this.#isOnly(link);
    this.#report(fault, detail, isLoss ? `${fault}: ${detail}` : undefined);
    if (remedy === "drop" || (remedy === "replace" && link === this.#next)) {
      link.socket.drop(`${fault}: ${detail}`);
    } else if (remedy === "replace") this.#replace();
  }

  #replace(): void {
    if (this.#next !== undefined || this.#cancelReplacing !== undefined) return;
    // Without a wait, an exchange that gives notice on every new connection would get them in a loop.
    this.#cancelReplacing = this.#options.clock.after(this.#schedule.nextMs(), () => {
      this.#cancelReplacing = undefined;
      this.#next = this.#link();
      this.#next.socket.start();
    });
  }

  #down(link: Link, reason: string, cause: DownCause): void {
    link.session?.end();
    link.session = undefined;
    if (cause !== "dropped") this.#report(cause, reason, this.#isOnly(link) ? reason : undefined);
    if (link !== this.#current) return;
    this.#cancelHealth?.();
    this.#cancelReplacing?.();
    this.#cancelReplacing = undefined;
    this.#options.handlers.onDrop();
    if (this.#next === undefined) return;
    // The second link is already connecting: it continues as the current one.
    close(link);
    this.#current = this.#next;
    this.#next = undefined;
  }

  /** Whether the provider has no connection without this one. */
  #isOnly(link: Link): boolean {
    return link === this.#current && this.#next === undefined;
  }

  /**
   * Counts a fault and logs one line about it.
   *
   * @param lossReason Given if the fault leaves the provider without a connection: logged once until
   *   it is subscribed again, not per attempt.
   */
  #report(fault: Fault, detail: string, lossReason?: string): void {
    const provider = this.name;
    this.#lastError = `${fault}: ${detail}`;
    this.#options.handlers.onFault?.(fault);
    const nowMs = this.#options.clock.now();
    const isRepeated = nowMs - (this.#loggedAtMs.get(fault) ?? -Infinity) < LOG_EVERY_MS;
    if (lossReason !== undefined && !this.#isLost) {
      this.#isLost = true;
      this.#loggedAtMs.set(fault, nowMs);
      const event = "provider_lost";
      this.#log.warn("{provider} disconnected: {reason}", {
        event,
        provider,
        fault,
        reason: lossReason,
      });
      return;
    }
    if (isRepeated) return;
    this.#loggedAtMs.set(fault, nowMs);
    this.#log.warn("{provider} {fault}: {detail}", {
      event: "provider_fault",
      provider,
      fault,
      detail,
    });
  }
}

function close(link: Link): void {
  link.socket.stop();
  link.session?.end();
  link.session = undefined;
}

/** The longest message of an exchange; the largest real one has under 2,000 characters. */
export const MESSAGE_BYTES_MAX = 1024 * 1024;

/** With one of these the runtime connects to `wss:` through an HTTP proxy. */
export const PROXY_VARIABLES = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/**
 * Connects to an exchange. A longer message than {@link MESSAGE_BYTES_MAX} closes the connection, so
 * that a hostile exchange cannot fill the memory. Behind an HTTP proxy this is the runtime's socket,
 * which has no such bound: only it connects through the proxy.
 *
 * @param variable Reads a variable of the environment.
 */
export function connectToExchange(
  url: string,
  variable: (name: string) => string | undefined = readVariable,
): SocketLike {
  const isBehindProxy = PROXY_VARIABLES.some((name) => (variable(name) ?? "") !== "");
  if (isBehindProxy && url.startsWith("wss:")) return new WebSocket(url);
  return new BoundedSocket(url, { maxMessageBytes: MESSAGE_BYTES_MAX });
}

/** A variable that this process may not read counts as not set. */
function readVariable(name: string): string | undefined {
  const { state } = Deno.permissions.querySync({ name: "env", variable: name });
  return state === "granted" ? Deno.env.get(name) : undefined;
}
