/** Limits how often callers may send requests, each by its address and all together. */
import type { MiddlewareHandler } from "hono";
import type { Counter, Registry } from "prom-client";
import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { type CallerAddress, callerAddress, remoteOf } from "./caller_address.ts";
import { httpError } from "./error_answers.ts";
import { metricsIn } from "./metrics.ts";

/**
 * Requests are counted in windows of this length, so short bursts above the rate pass: at 100 a
 * second, 300 at once. Counts are dropped at the end of a window, which bounds the memory they use.
 */
const WINDOW_SECONDS = 3;

/** Without a total limit, a connection that forwards callers may send this multiple of a rate. */
const CONNECTION_RATE_FACTOR = 10;

/** Rates in requests a second; 0 for no limit. */
export interface LimiterSettings {
  rateLimit: number;
  rateLimitTotal: number;
  /** The caller's address is the last entry of `X-Forwarded-For`. */
  trustProxy: boolean;
}

type CallerKeys = Pick<CallerAddress, "key" | "networks" | "peerKey">;

/** One of the limits that a request counts against. */
interface Limit {
  name: "address" | "connection" | "total";
  limiter: RateLimiterMemory;
  /** What is counted; undefined for a request that the limit does not concern. */
  keyOf: (caller: CallerKeys) => string | undefined;
}

/**
 * Counts the requests of one service.
 *
 * An IPv6 caller may own a network of addresses: a /56 has the rate of two addresses, a /48 that of
 * four.
 *
 * With a limit by address and `trustProxy`, the connection's own address is limited as well: a
 * caller that connects directly and forges `X-Forwarded-For` gets half of the total rate at most,
 * or the rate of one address if that is more; without a total, ten times that rate.
 */
export class RequestLimiter {
  /** From the narrowest to the widest: a caller over its own limit must not use up a shared one. */
  readonly #limits: readonly Limit[];
  readonly #trustProxy: boolean;
  readonly #refusals: Counter<"limit"> | undefined;

  /** @param registry Where `http_rate_limited_total` is registered, if anywhere. */
  constructor({ rateLimit, rateLimitTotal, trustProxy }: LimiterSettings, registry?: Registry) {
    this.#limits = [
      ...limitOf("address", rateLimit, ({ key }) => key),
      ...limitOf("address", 2 * rateLimit, ({ networks }) => networks[0]),
      ...limitOf("address", 4 * rateLimit, ({ networks }) => networks[1]),
      ...limitOf(
        "connection",
        connectionRate(rateLimit, rateLimitTotal),
        ({ key, peerKey }) => key === peerKey ? undefined : peerKey,
      ),
      ...limitOf("total", rateLimitTotal, () => "all"),
    ];
    this.#trustProxy = trustProxy;
    this.#refusals = registry && metricsIn(registry).counter(
      "http_rate_limited_total",
      "Requests refused with 429, by limit: address, connection (of a proxy) or total.",
      "limit",
    );
    // Created at the start, so that the first refusal is an increase and not a new series.
    for (const limit of ["address", "connection", "total"]) this.#refusals?.inc({ limit }, 0);
  }

  /** Refuses requests over the limits with 429 and `Retry-After`. */
  readonly handle: MiddlewareHandler = async (c, next) => {
    const seconds = await this.count(
      callerAddress(c.req.raw.headers, remoteOf(c), this.#trustProxy),
    );
    if (seconds === undefined) return await next();
    c.header("retry-after", String(seconds));
    throw httpError("RATE_LIMITED", { retryAfterMs: seconds * 1_000 });
  };

  /** Counts a request. @returns Seconds until the next one is accepted, if this one is not. */
  async count(caller: CallerKeys): Promise<number | undefined> {
    for (const { name, limiter, keyOf } of this.#limits) {
      const key = keyOf(caller);
      if (key === undefined) continue;
      try {
        await limiter.consume(key);
      } catch (thrown) {
        if (!(thrown instanceof RateLimiterRes)) throw thrown;
        this.#refusals?.inc({ limit: name });
        return Math.max(1, Math.ceil(thrown.msBeforeNext / 1000));
      }
    }
  }

  /** Drops all counts and their timers. */
  async stop(): Promise<void> {
    for (const { limiter } of this.#limits) {
      for (const { key } of limiter.dump().storage) await limiter.delete(key);
    }
  }
}

/** Rate of one connection that forwards requests of several callers; 0 for no limit. */
function connectionRate(rateLimit: number, rateLimitTotal: number): number {
  if (rateLimit === 0) return 0;
  if (rateLimitTotal === 0) return rateLimit * CONNECTION_RATE_FACTOR;
  return Math.max(rateLimit, Math.ceil(rateLimitTotal / 2));
}

/** A limit, or none if its rate is 0. */
function limitOf(name: Limit["name"], ratePerS: number, keyOf: Limit["keyOf"]): Limit[] {
  if (ratePerS === 0) return [];
  const points = ratePerS * WINDOW_SECONDS;
  return [{ name, limiter: new RateLimiterMemory({ points, duration: WINDOW_SECONDS }), keyOf }];
}
