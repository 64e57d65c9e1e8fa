import { z } from "zod";
import type { Clock } from "../../../lib/clock.ts";
import { RangemakerError, reasonOf } from "../../../lib/errors.ts";
import { type HttpAnswer, request } from "../../../lib/net/http_request.ts";
import type { TimeSpan } from "../../../lib/prices/price_slots.ts";
import { parsePrice } from "../../../lib/protocol/price.ts";

/** A past trade: the source of a slot price. */
export interface Trade {
  /** Unix milliseconds. */
  time: number;
  /** With 6 decimals. */
  price: bigint;
}

/** Reads past trades. */
export interface TradeHistory {
  /** Trades of a market such as `ETH/USDT` in a time span, in order. */
  trades(symbol: string, span: TimeSpan): AsyncIterable<Trade>;
}

/** The trade history cannot be read. */
export class TradeHistoryError extends RangemakerError {
  constructor(message: string, cause?: unknown) {
    super("TRADE_HISTORY", message, { cause });
  }
}

/** Trades per page: the endpoint's own limit. */
export const PAGE_TRADES = 1_000;

/** Pages per span: a million trades, far more than ten minutes have. */
const PAGES_MAX = 1_000;

/** Attempts per request. */
export const ATTEMPTS_MAX = 5;

/** The longest wait before the next attempt, also if `Retry-After` is longer. */
const RETRY_WAIT_MAX_MS = 60_000;
const RETRY_WAIT_MS = 1_000;

/** One page of the endpoint: id, price and time of each trade. */
export const pageSchema = z.array(z.object({
  a: z.number().int(),
  p: z.string().transform((text, context) => {
    const price = parsePrice(text);
    if (price !== undefined) return price;
    context.addIssue({ code: "custom", message: `Expected a price: received ${text}` });
    return z.NEVER;
  }),
  T: z.number().int(),
}));

type Page = z.output<typeof pageSchema>;

/** Trades from Binance's `GET /api/v3/aggTrades`, or an endpoint with the same API. */
export class BinanceTradeHistory implements TradeHistory {
  readonly #baseUrl: string;
  readonly #clock: Clock;

  /** @param url Without the path, such as `https://data-api.binance.vision`. */
  constructor(url: string, clock: Clock) {
    this.#baseUrl = url.replace(/\/+$/, "");
    this.#clock = clock;
  }

  /** @throws {TradeHistoryError} If the endpoint refuses, or fails {@link ATTEMPTS_MAX} times. */
  async *trades(symbol: string, { from, to }: TimeSpan): AsyncGenerator<Trade> {
    const market = symbol.replace("/", "");
    const range = { startTime: from.toString(), endTime: (to - 1).toString() };
    let page = await this.#page({ symbol: market, ...range });
    for (let pages = 1; page.length > 0; pages++) {
      for (const { p: price, T: time } of page) {
        if (time >= to) return;
        yield { time, price };
      }
      if (page.length < PAGE_TRADES) return;
      if (pages === PAGES_MAX) {
        throw new TradeHistoryError(
          `${symbol} has over ${PAGES_MAX * PAGE_TRADES} trades in one span`,
        );
      }
      const nextId = page.at(-1)!.a + 1; // the page is not empty
      page = await this.#page({ symbol: market, fromId: nextId.toString() });
    }
  }

  async #page(query: Record<string, string>): Promise<Page> {
    const search = new URLSearchParams({ ...query, limit: PAGE_TRADES.toString() });
    const url = `${this.#baseUrl}/api/v3/aggTrades?${search}`;
    for (let attempt = 1;; attempt++) {
      const answer = await readPage(url);
      if ("page" in answer) return answer.page;
      if (!answer.isTransient || attempt === ATTEMPTS_MAX) {
        throw new TradeHistoryError(`Trade history ${url}: ${answer.reason}`);
      }
      await this.#wait(answer.waitMs ?? RETRY_WAIT_MS * attempt);
    }
  }

  #wait(waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.after(Math.min(waitMs, RETRY_WAIT_MAX_MS), resolve);
    });
  }
}

type PageResult = { page: Page } | { reason: string; isTransient: boolean; waitMs?: number };

async function readPage(url: string): Promise<PageResult> {
  try {
    const answer = await request(url);
    if (answer.status !== 200) return refusal(answer);
    const parsed = pageSchema.safeParse(JSON.parse(answer.text));
    return parsed.success
      ? { page: parsed.data }
      : { reason: `unexpected answer: ${parsed.error.message}`, isTransient: false };
  } catch (thrown) {
    return { reason: reasonOf(thrown), isTransient: true };
  }
}

function refusal({ status, headers, text }: HttpAnswer): PageResult {
  const retryAfterSeconds = Number(headers.get("retry-after") ?? Number.NaN);
  return {
    reason: `status ${status}: ${text.slice(0, 200)}`,
    // The endpoint answers 418 to a caller that continued after 429.
    isTransient: status === 429 || status === 418 || status >= 500,
    waitMs: Number.isFinite(retryAfterSeconds) ? retryAfterSeconds * 1_000 : undefined,
  };
}
