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
  readonly #byCaller: RateLimiterMemory | undefined;
  /** Of the networks around an address, in the order of `CallerAddress`. */
  readonly #byNetwork: readonly (RateLimiterMemory | undefined)[];
  readonly #byConnection: RateLimiterMemory | undefined;
  readonly #total: RateLimiterMemory | undefined;
  readonly #trustProxy: boolean;
  readonly #refusals: Counter<"limit"> | undefined;

  /** @param registry Where `http_rate_limited_total` is registered, if anywhere. */
  constructor({ rateLimit, rateLimitTotal, trustProxy }: LimiterSettings, registry?: Registry) {
    this.#byCaller = limiterOf(rateLimit);
    this.#byNetwork = [limiterOf(2 * rateLimit), limiterOf(4 * rateLimit)];
    this.#byConnection = limiterOf(connectionRate(rateLimit, rateLimitTotal));
    this.#total = limiterOf(rateLimitTotal);
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
  async count(
    { key, networks, peerKey }: Pick<CallerAddress, "key" | "networks" | "peerKey">,
  ): Promise<number | undefined> {
    const isForwarded = key !== peerKey;
    // From the narrowest to the widest: a caller over its own limit must not use up a shared one.
    let waitSeconds = await this.#consume("address", this.#byCaller, key);
    for (const [index, network] of networks.entries()) {
      waitSeconds ??= await this.#consume("address", this.#byNetwork[index], network);
    }
    return waitSeconds ??
      (isForwarded ? await this.#consume("connection", this.#byConnection, peerKey) : undefined) ??
      await this.#consume("total", this.#total, "all");
  }

  async #consume(
    limit: "address" | "connection" | "total",
    limiter: RateLimiterMemory | undefined,
    key: string,
  ): Promise<number | undefined> {
    try {
      await limiter?.consume(key);
      return undefined;
    } catch (thrown) {
      if (!(thrown instanceof RateLimiterRes)) throw thrown;
      this.#refusals?.inc({ limit });
      return Math.max(1, Math.ceil(thrown.msBeforeNext / 1000));
    }
  }

  /** Drops all counts and their timers. */
  async stop(): Promise<void> {
    for (
      const limiter of [this.#byCaller, ...this.#byNetwork, this.#byConnection, this.#total]
    ) {
      for (const { key } of limiter?.dump().storage ?? []) await limiter?.delete(key);
    }
  }
}

/** Rate of one connection that forwards requests of several callers; 0 for no limit. */
function connectionRate(rateLimit: number, rateLimitTotal: number): number {
  if (rateLimit === 0) return 0;
  if (rateLimitTotal === 0) return rateLimit * CONNECTION_RATE_FACTOR;
  return Math.max(rateLimit, Math.ceil(rateLimitTotal / 2));
}

function limiterOf(ratePerSecond: number): RateLimiterMemory | undefined {
  if (ratePerSecond === 0) return undefined;
  return new RateLimiterMemory({
    points: ratePerSecond * WINDOW_SECONDS,
    duration: WINDOW_SECONDS,
  });
}
