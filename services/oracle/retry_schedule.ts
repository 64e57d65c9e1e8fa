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
  limit: { of: RetryEvent; burst: number; refillMs: number };
}

/** What an exchange's limit counts: attempts to connect, or subscriptions on open connections. */
export type RetryEvent = "connections" | "subscriptions";

/** Options of a {@link RetrySchedule}. */
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
  readonly #backoff: Backoff;
  /** When the bucket will be full again, Unix milliseconds. */
  #fullAtMs = 0;

  constructor({ rule, clock, random }: RetryScheduleOptions) {
    this.#rule = rule;
    this.#clock = clock;
    this.#backoff = new Backoff({ initialMs: rule.initialMs, maxMs: rule.maxMs, random });
  }

  /** The next wait, in milliseconds. */
  nextMs(): number {
    const { burst, refillMs } = this.#rule.limit;
    const untilTokenMs = this.#fullAtMs - this.#clock.now() - (burst - 1) * refillMs;
    // A clock that was set back would make it hours.
    return Math.max(this.#backoff.nextMs(), Math.min(untilTokenMs, refillMs));
  }

  /** Counts what the exchange counts. */
  spend(event: RetryEvent): void {
    const { of, refillMs } = this.#rule.limit;
    if (event === of) this.#fullAtMs = Math.max(this.#fullAtMs, this.#clock.now()) + refillMs;
  }

  /** Starts again from the first wait: the exchange has proved to work. The limit stays. */
  reset(): void {
    this.#backoff.reset();
  }
}
