/** Limits how often callers may ask, each by its address and all together. */
import type { Context, MiddlewareHandler } from "hono";
import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { RangemakerError } from "../errors.ts";
import { integerSchema, switchSchema } from "../cli/option_types.ts";
import type { OptionTable } from "../cli/options.ts";

/**
 * Requests are counted in windows this long, so that short bursts above the rate pass: with 100 a
 * second, 300 at once. A caller's count is forgotten at the end of its window, which bounds what is
 * remembered by what can arrive within one.
 */
const WINDOW_SECONDS = 3;

const rateSchema = integerSchema(0, 1_000_000);

/** The limiter's options, for the option table of a service. */
export const limiterOptions = {
  rateLimit: {
    flags: "--rate-limit <n>",
    description: "requests a second from one address, on average over 3 s; 0 for no limit",
    schema: rateSchema,
    default: "100",
  },
  rateLimitTotal: {
    flags: "--rate-limit-total <n>",
    description: "requests a second from all addresses, on average over 3 s; 0 for no limit",
    schema: rateSchema,
    default: "1000",
  },
  trustProxy: {
    flags: "--trust-proxy",
    description: "take a caller's address from the last entry of X-Forwarded-For",
    schema: switchSchema,
    default: "false",
  },
} satisfies OptionTable;

/** Rates in requests a second; 0 for none. */
export interface LimiterSettings {
  rateLimit: number;
  rateLimitTotal: number;
  /** The caller's address is the last one in `X-Forwarded-For`, written by a proxy in front. */
  trustProxy: boolean;
}

/** Counts the requests of one service. */
export class RequestLimiter {
  readonly #byAddress: RateLimiterMemory | undefined;
  readonly #total: RateLimiterMemory | undefined;
  readonly #trustProxy: boolean;

  constructor({ rateLimit, rateLimitTotal, trustProxy }: LimiterSettings) {
    this.#byAddress = limiterOf(rateLimit);
    this.#total = limiterOf(rateLimitTotal);
    this.#trustProxy = trustProxy;
  }

  /** Refuses what passes the limits with 429 and `Retry-After`. */
  readonly handle: MiddlewareHandler = async (c, next) => {
    const address = limiterKey(addressOf(c, this.#trustProxy));
    // By address first: a caller over its own limit must not use up what the others share.
    const over = await consume(this.#byAddress, address) ?? await consume(this.#total, "all");
    if (over === undefined) return await next();
    const seconds = Math.max(1, Math.ceil(over.msBeforeNext / 1000));
    c.header("retry-after", String(seconds));
    throw new RangemakerError("RATE_LIMITED", `Too many requests: retry after ${seconds} s`, {
      retryable: true,
    });
  };

  /** Forgets all counts, and with them the timers that would have. */
  async stop(): Promise<void> {
    for (const limiter of [this.#byAddress, this.#total]) {
      for (const { key } of limiter?.dump().storage ?? []) await limiter?.delete(key);
    }
  }
}

function limiterOf(ratePerSecond: number): RateLimiterMemory | undefined {
  if (ratePerSecond === 0) return undefined;
  return new RateLimiterMemory({
    points: ratePerSecond * WINDOW_SECONDS,
    duration: WINDOW_SECONDS,
  });
}

async function consume(
  limiter: RateLimiterMemory | undefined,
  key: string,
): Promise<RateLimiterRes | undefined> {
  try {
    await limiter?.consume(key);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof RateLimiterRes) return thrown;
    throw thrown;
  }
}

function addressOf(c: Context, trustProxy: boolean): string {
  const forwarded = trustProxy ? c.req.header("x-forwarded-for")?.split(",").at(-1)?.trim() : "";
  if (forwarded) return forwarded;
  // The listener hands over the peer's address; a request made without one comes from a test.
  const env: { remote?: string } = c.env ?? {};
  return env.remote ?? "unknown";
}

/** Groups of 16 bits in the part of an IPv6 address that names one network: a /64. */
const NETWORK_GROUPS = 4;

/**
 * What an address is counted under. One IPv6 customer has a whole /64, so all of it is one caller; an
 * IPv4 address, also one inside IPv6, is a caller of its own.
 */
export function limiterKey(address: string): string {
  const [plain = ""] = address.toLowerCase().replace(/^\[|\]$/g, "").split("%");
  if (!plain.includes(":")) return address;
  const embedded = /^(?:0*:)*(?:ffff:)?(\d+\.\d+\.\d+\.\d+)$/.exec(plain);
  if (embedded?.[1] !== undefined) return embedded[1];
  const [head = "", tail = ""] = plain.split("::");
  const first = head === "" ? [] : head.split(":");
  const last = tail === "" ? [] : tail.split(":");
  const zeros = plain.includes("::")
    ? Array(Math.max(0, 8 - first.length - last.length)).fill("0")
    : [];
  const groups = [...first, ...zeros, ...last].slice(0, NETWORK_GROUPS);
  return `${groups.map((group) => group.replace(/^0+(?=.)/, "")).join(":")}::/64`;
}
