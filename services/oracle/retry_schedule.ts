import type { Clock, RandomSource } from "../../lib/clock.ts";
import { Backoff } from "../../lib/net/backoff.ts";

/** How often an exchange may be connected to; times in milliseconds. */
export interface RetryRule {
  /** First wait after a failure. It doubles with each failure, and jitter takes off up to half. */
  initialMs: number;
  /** Longest wait while the limit is not reached. */
  maxMs: number;
  /**
   * The exchange's limit as a token bucket: `burst` at once, then one each `refillMs`. A window in
   * which the exchange counts sees at most `burst` plus one for each `refillMs` of it.
   */
  limit: { of: LimitedEvent; burst: number; refillMs: number };
}

/** The shortest wait, before jitter takes off up to half, in milliseconds. */
const WAIT_MIN_MS = 500;

/** The unit of an exchange's limit: attempts to connect, or subscriptions on open connections. */
export type LimitedEvent = "connections" | "subscriptions";

export interface RetryScheduleOptions {
  rule: RetryRule;
  clock: Clock;
  random: RandomSource;
}

/**
 * Waits between the connections to one exchange: short, so that an exchange that is back is used
 * within seconds, but never more connections than the exchange allows.
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
   * The next wait, in milliseconds. Time since the last attempt counts: one that failed slowly is
   * followed by a short wait, which only spreads the clients of an exchange.
   */
  nextMs(): number {
    const { burst, refillMs } = this.#rule.limit;
    const nowMs = this.#clock.now();
    const spreadMs = Math.round(WAIT_MIN_MS * (1 + this.#random()) / 2);
    const backoffMs = this.#backoff.nextMs() - Math.max(0, nowMs - this.#attemptAtMs);
    // A clock that was set back would make it hours.
    const limitMs = Math.min(this.#fullAtMs - nowMs - (burst - 1) * refillMs, refillMs);
    return Math.max(spreadMs, backoffMs, limitMs);
  }

  /** Counts an event, for the wait and for the exchange's limit. */
  count(event: LimitedEvent): void {
    const { of, refillMs } = this.#rule.limit;
    const nowMs = this.#clock.now();
    if (event === "connections") this.#attemptAtMs = nowMs;
    if (event === of) this.#fullAtMs = Math.max(this.#fullAtMs, nowMs) + refillMs;
  }

  /** Starts again from the first wait: the exchange has proved to work. The limit stays. */
  reset(): void {
    this.#backoff.reset();
  }
}
