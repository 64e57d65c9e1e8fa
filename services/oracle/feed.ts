import { getLogger } from "@logtape/logtape";
import { Backoff } from "../../lib/net/backoff.ts";
import type { CancelTimer, Clock, RandomSource } from "../../lib/clock.ts";
import type { ProviderName } from "../../lib/protocol/providers.ts";
import { LOG_ROOT } from "../../lib/http/logging.ts";
import {
  type DownCause,
  ReconnectingSocket,
  type SocketLike,
} from "../../lib/net/reconnecting_socket.ts";
import type { Fault, Remedy } from "./faults.ts";
import type { DropReason, Provider } from "./provider.ts";
import { Session } from "./session.ts";

/** What the owner of a {@link Feed} is told. */
export interface FeedHandlers {
  onPrint(provider: ProviderName, market: string, price: bigint): void;
  /** What the provider said, of one market or of all, holds no longer. */
  onDrop(provider: ProviderName, market?: string): void;
  onFault(provider: ProviderName, fault: Fault): void;
  /** A connection is attempted that is not the first. */
  onReconnect(provider: ProviderName): void;
  onDroppedFrame(provider: ProviderName, reason: DropReason): void;
}

/** One provider to be kept connected. */
export interface FeedOptions {
  provider: Provider;
  url: string;
  /** Symbols such as `BTC/USDT`. */
  markets: readonly string[];
  clock: Clock;
  random: RandomSource;
  handlers: FeedHandlers;
  /** Opens a socket; the platform's by default. */
  connect?: (url: string) => SocketLike;
}

/** Waits between connections unless the venue wants longer ones, in milliseconds. */
const RECONNECT = { initialMs: 500, maxMs: 30_000 };

/**
 * A connection that was subscribed and well for this long resets the backoff. With waits of at least
 * 250 ms this keeps connections under every venue's limit: 300 in 5 minutes, 3 a second, 480
 * subscriptions an hour.
 */
export const HEALTHY_AFTER_MS = 30_000;

/** One kind of fault is logged at most this often, in milliseconds; all of them are counted. */
const LOG_EVERY_MS = 5_000;

/** A socket and, while it is open, the session on it. */
interface Link {
  socket: ReconnectingSocket;
  session: Session | undefined;
}

/**
 * Keeps one provider connected and passes its prices on. Only the current connection's prices count.
 * Where it must be replaced, a second one is made first and takes over once it is subscribed.
 */
export class Feed {
  readonly #options: FeedOptions;
  readonly #backoff: Backoff;
  readonly #log = getLogger([LOG_ROOT, "oracle"]);
  #current: Link | undefined;
  #next: Link | undefined;
  #cancelReplacing: CancelTimer | undefined;
  #cancelHealth: CancelTimer | undefined;
  #attempts = 0;
  #lastError: string | undefined;
  readonly #loggedAtMs = new Map<Fault, number>();

  constructor(options: FeedOptions) {
    this.#options = options;
    const { initialMs, maxMs } = options.provider.reconnect ?? RECONNECT;
    this.#backoff = new Backoff({ initialMs, maxMs, random: options.random });
  }

  get name(): ProviderName {
    return this.#options.provider.name;
  }

  /** The session whose prices count, while its connection is open. */
  get session(): Session | undefined {
    return this.#current?.session;
  }

  /** Connections attempted after the first. */
  get reconnects(): number {
    return Math.max(0, this.#attempts - 1);
  }

  /** What went wrong last, for people. */
  get lastError(): string | undefined {
    return this.#lastError;
  }

  /** Connects, and keeps connected. */
  start(): void {
    if (this.#current !== undefined) return;
    this.#current = this.#link();
    this.#current.socket.start();
  }

  /** Ends for good. */
  stop(): void {
    this.#cancelReplacing?.();
    this.#cancelHealth?.();
    for (const link of [this.#current, this.#next]) if (link !== undefined) close(link);
  }

  #link(): Link {
    const { url, clock, connect, provider } = this.#options;
    const socket = new ReconnectingSocket({
      url,
      clock,
      connect,
      backoff: this.#backoff,
      silenceMs: provider.liveness.silenceMs,
      healthyAfterMs: Infinity,
      handlers: {
        onAttempt: () => this.#attempted(),
        onOpen: () => {
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
          if (link === this.#current) handlers.onPrint(this.name, market, price);
        },
        onSubscribed: () => this.#subscribed(link),
        onFault: (fault, remedy, detail) => this.#faulty(link, fault, remedy, detail),
        onDropped: (reason) => handlers.onDroppedFrame(this.name, reason),
      },
    });
  }

  #attempted(): void {
    this.#attempts += 1;
    if (this.#attempts > 1) this.#options.handlers.onReconnect(this.name);
  }

  #subscribed(link: Link): void {
    this.#log.info("{provider} is subscribed", { provider: this.name });
    if (link === this.#next) this.#takeOver(link);
    this.#cancelHealth?.();
    this.#cancelHealth = this.#options.clock.after(HEALTHY_AFTER_MS, () => this.#backoff.reset());
  }

  /**
   * The second connection stands: the first one goes, and with it what only it was subscribed to. The
   * other prices stay, at the age they have, until the new connection brings newer ones.
   */
  #takeOver(link: Link): void {
    if (this.#current !== undefined) close(this.#current);
    this.#current = link;
    this.#next = undefined;
    for (const stream of link.session?.streams ?? []) {
      if (!stream.acknowledged) this.#options.handlers.onDrop(this.name, stream.market);
    }
  }

  #faulty(link: Link, fault: Fault, remedy: Remedy, detail: string): void {
    this.#tell(fault, detail);
    if (remedy === "drop" || (remedy === "replace" && link === this.#next)) {
      link.socket.drop(`${fault}: ${detail}`);
    } else if (remedy === "replace") this.#replace();
  }

  #replace(): void {
    if (this.#next !== undefined || this.#cancelReplacing !== undefined) return;
    // Waiting keeps a venue that gives notice on every new connection from being flooded with them.
    this.#cancelReplacing = this.#options.clock.after(this.#backoff.nextMs(), () => {
      this.#cancelReplacing = undefined;
      this.#next = this.#link();
      this.#next.socket.start();
    });
  }

  #down(link: Link, reason: string, cause: DownCause): void {
    link.session?.end();
    link.session = undefined;
    if (cause !== "dropped") this.#tell(cause, reason);
    if (link !== this.#current) return;
    this.#cancelHealth?.();
    this.#cancelReplacing?.();
    this.#cancelReplacing = undefined;
    this.#options.handlers.onDrop(this.name);
    if (this.#next === undefined) return;
    // The second connection is on its way already: it goes on in place of the first.
    close(link);
    this.#current = this.#next;
    this.#next = undefined;
  }

  #tell(fault: Fault, detail: string): void {
    this.#lastError = `${fault}: ${detail}`;
    this.#options.handlers.onFault(this.name, fault);
    const nowMs = this.#options.clock.now();
    if (nowMs - (this.#loggedAtMs.get(fault) ?? -Infinity) < LOG_EVERY_MS) return;
    this.#loggedAtMs.set(fault, nowMs);
    this.#log.warn("{provider} {fault}: {detail}", { provider: this.name, fault, detail });
  }
}

function close(link: Link): void {
  link.socket.stop();
  link.session?.end();
  link.session = undefined;
}
