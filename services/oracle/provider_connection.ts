import type { Clock } from "../../lib/clock.ts";
import type { RandomSource } from "../../lib/random.ts";
import type { Market } from "../../lib/protocol/markets.ts";
import type { ProviderName } from "../../lib/protocol/providers.ts";
import { serviceLog } from "../../lib/log/logging.ts";
import { ProblemTracker } from "../../lib/log/problem_tracker.ts";
import {
  type LossCause,
  ReconnectingSocket,
  type SocketLike,
} from "../../lib/net/reconnecting_socket.ts";
import { Backoff } from "../../lib/timing/backoff.ts";
import { BoundedSocket } from "../../lib/net/bounded_socket.ts";
import { ProviderSession, type SessionFault, type SessionHandlers } from "./provider_session.ts";
import type { LimitedEvent, Provider, RetryRule } from "./providers/provider.ts";

interface ProviderConnectionHandlers
  extends Pick<SessionHandlers, "onTrade" | "onConfirmed" | "onIdle" | "onFrameDropped"> {
  /** The connection is lost, and its prices are no longer valid. */
  onLost(): void;
  onFault?(fault: SessionFault): void;
  /** A connection attempt after the first. */
  onReconnect?(): void;
}

interface ProviderConnectionOptions {
  provider: Provider;
  url: string;
  markets: readonly Market[];
  clock: Clock;
  random: RandomSource;
  handlers: ProviderConnectionHandlers;
  /** Opens a socket; a {@link BoundedSocket} by default, so that no exchange fills the memory. */
  connect?: (url: string) => SocketLike;
}

/** The backoff is reset once a connection has lasted this long. */
const PROVIDER_HEALTHY_AFTER_MS = 30_000;

/** An attempt that is not open after this time has failed. */
const PROVIDER_CONNECT_TIMEOUT_MS = 2_500;

/**
 * The longest message of an exchange; a longer one closes the connection. The largest real one has
 * under 2,000 characters.
 */
const MESSAGE_BYTES_MAX = 1024 * 1024;

/** Each kind of fault is logged at most this often, in milliseconds; every fault is counted. */
const LOG_EVERY_MS = 5_000;

const openSocket = (url: string) =>
  new BoundedSocket(url, { maxMessageBytes: MESSAGE_BYTES_MAX, oneFrameATurn: true });

/** Keeps one provider connected and passes on its prices. */
export class ProviderConnection {
  readonly #options: ProviderConnectionOptions;
  readonly #schedule: RetrySchedule;
  readonly #socket: ReconnectingSocket;
  readonly #log = serviceLog("oracle");
  #session: ProviderSession | undefined;
  #attempts = 0;
  #lastError: { text: string; atMs: number } | undefined;
  readonly #loss = new ProblemTracker();
  readonly #loggedAtMs = new Map<SessionFault, number>();

  constructor(options: ProviderConnectionOptions) {
    this.#options = options;
    const { provider: { retry, liveness }, url, clock, random } = options;
    this.#schedule = new RetrySchedule({ rule: retry, clock, random });
    this.#socket = new ReconnectingSocket({
      url,
      clock,
      connect: options.connect ?? openSocket,
      backoff: this.#schedule,
      connectTimeoutMs: PROVIDER_CONNECT_TIMEOUT_MS,
      silenceMs: liveness.silenceMs,
      healthyAfterMs: PROVIDER_HEALTHY_AFTER_MS,
      handlers: {
        onAttempt: (attempt) => this.#onAttempt(attempt),
        onOpen: () => this.#onOpen(),
        onText: (text) => this.#session?.receive(text),
        onLost: (reason, cause) => this.#onLost(reason, cause),
      },
    });
  }

  get name(): ProviderName {
    return this.#options.provider.name;
  }

  /** The session on the connection while it is open. */
  get session(): ProviderSession | undefined {
    return this.#session;
  }

  /** Connection attempts after the first. */
  get reconnects(): number {
    return Math.max(0, this.#attempts - 1);
  }

  /** The last fault, as text for people, and when it was found. */
  get lastError(): { text: string; atMs: number } | undefined {
    return this.#lastError;
  }

  start(): void {
    this.#socket.start();
  }

  /** Closes the connection for good. */
  stop(): void {
    this.#socket.stop();
    this.#endSession();
  }

  #onAttempt(attempt: number): void {
    this.#schedule.count("connections");
    this.#attempts = attempt;
    if (attempt > 1) this.#options.handlers.onReconnect?.();
  }

  #onOpen(): void {
    this.#schedule.count("subscriptions");
    const { provider, markets, clock, handlers } = this.#options;
    this.#session = new ProviderSession({
      provider,
      markets,
      clock,
      send: (text) => this.#socket.send(text),
      handlers: {
        ...handlers,
        onSubscribed: () => this.#onSubscribed(),
        onFault: (fault, remedy, detail) => {
          const reason = `${fault}: ${detail}`;
          this.#report(fault, detail, remedy === "drop" ? reason : undefined);
          if (remedy === "drop") this.#socket.drop(reason);
        },
      },
    });
    this.#session.start();
  }

  #onSubscribed(): void {
    const event = this.#loss.end() ? "provider_back" : "provider_subscribed";
    this.#log.info("{provider} is subscribed", { event, provider: this.name });
  }

  #onLost(reason: string, cause: LossCause): void {
    this.#endSession();
    if (cause !== "dropped") this.#report(cause, reason, reason);
    this.#options.handlers.onLost();
  }

  #endSession(): void {
    this.#session?.end();
    this.#session = undefined;
  }

  /**
   * Counts a fault and logs one line about it.
   *
   * @param lossReason Set if the fault ends the connection. It is logged once until the provider is
   *   subscribed again, not at each attempt.
   */
  #report(fault: SessionFault, detail: string, lossReason?: string): void {
    const provider = this.name;
    const nowMs = this.#options.clock.now();
    this.#lastError = { text: `${fault}: ${detail}`, atMs: nowMs };
    this.#options.handlers.onFault?.(fault);
    if (lossReason !== undefined) {
      if (!this.#loss.begin()) return;
      const facts = { event: "provider_lost", provider, fault, reason: lossReason };
      this.#log.warn("{provider} disconnected: {reason}", facts);
    } else if (Math.abs(nowMs - (this.#loggedAtMs.get(fault) ?? -Infinity)) >= LOG_EVERY_MS) {
      this.#loggedAtMs.set(fault, nowMs);
      const facts = { event: "provider_fault", provider, fault, detail };
      this.#log.warn("{provider} {fault}: {detail}", facts);
    }
  }
}

/** The shortest wait before jitter shortens it by up to half, in milliseconds. */
const WAIT_MIN_MS = 500;

interface RetryScheduleOptions {
  rule: RetryRule;
  clock: Clock;
  random: RandomSource;
}

/**
 * Decides the waits between connections to one exchange. Waits are short, so that an exchange is
 * used within seconds of its return, but never exceed its limit of connections.
 */
export class RetrySchedule {
  readonly #rule: RetryRule;
  readonly #clock: Clock;
  readonly #random: RandomSource;
  readonly #backoff: Backoff;
  #attemptAtMs = 0;
  /** When the bucket will be full again, Unix milliseconds. */
  #fullAtMs = 0;

  constructor({ rule, clock, random }: RetryScheduleOptions) {
    this.#rule = rule;
    this.#clock = clock;
    this.#random = random;
    this.#backoff = new Backoff({ initialMs: rule.initialMs, maxMs: rule.maxMs, random });
  }

  /**
   * The next wait, in milliseconds. The time since the last attempt counts: after an attempt that
   * failed slowly, the wait is short and random, so that not all clients reconnect at once.
   */
  nextMs(): number {
    const { burst, refillMs } = this.#rule.limit;
    const nowMs = this.#clock.now();
    const leastWaitMs = Math.round(WAIT_MIN_MS * (1 + this.#random()) / 2);
    const backoffMs = this.#backoff.nextMs() - Math.max(0, nowMs - this.#attemptAtMs);
    // Bounded by `refillMs`: after a clock was set back, it would be hours.
    const limitMs = Math.min(this.#fullAtMs - nowMs - (burst - 1) * refillMs, refillMs);
    return Math.max(leastWaitMs, backoffMs, limitMs);
  }

  /** Counts an event for the next wait and for the exchange's limit. */
  count(event: LimitedEvent): void {
    const { limit } = this.#rule;
    const nowMs = this.#clock.now();
    if (event === "connections") this.#attemptAtMs = nowMs;
    if (event === limit.event) this.#fullAtMs = Math.max(this.#fullAtMs, nowMs) + limit.refillMs;
  }

  /** Returns to the first wait, because the exchange works. The limit stays in force. */
  reset(): void {
    this.#backoff.reset();
  }
}
