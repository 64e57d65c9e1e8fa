import type { Clock } from "../../lib/clock.ts";
import type { RandomSource } from "../../lib/random.ts";
import { Backoff } from "../../lib/timing/backoff.ts";
import type { LimitedEvent, RetryRule } from "./providers/provider.ts";

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
