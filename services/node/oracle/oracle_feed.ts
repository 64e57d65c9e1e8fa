import { z } from "zod";
import { type Market, MARKETS, PRICE_DECIMALS } from "../../../lib/protocol/markets.ts";
import { type NodePrice, priceEntrySchema } from "../../../lib/protocol/price.ts";

/** The last price that the oracle gave for a market. */
interface KnownPrice {
  price: bigint;
  /** Unix milliseconds; never later than when it was received. */
  lastUpdate: number;
  /** `lastUpdate` as the oracle said it: the same value again is no newer price. */
  reported: number;
}

const bodySchema = z.object({ prices: z.record(z.string(), z.unknown()) });

/** What one answer of the oracle brought. */
export interface FeedUpdate {
  /** Markets whose price is newer than the one known before. */
  updated: number;
  /** Supported markets whose entry is missing or not valid. */
  rejected: number;
}

/**
 * The last known price of every market and its age (spec: price oracle, States). Age is measured on
 * the price's own `lastUpdate`; one in the future counts as the time of its receipt.
 */
export class OracleFeed {
  readonly maxStaleMs: number;
  readonly #known = new Map<Market, KnownPrice>();

  /** @param maxStaleMs The greatest age, in milliseconds, at which a price is fresh. */
  constructor(maxStaleMs: number) {
    this.maxStaleMs = maxStaleMs;
  }

  /**
   * Takes the body of an answer to `GET /prices`. One bad entry spoils that market only.
   *
   * @throws {z.ZodError} If the body has no map of prices.
   */
  update(body: unknown, nowMs: number): FeedUpdate {
    const { prices } = bodySchema.parse(body);
    const outcome = { updated: 0, rejected: 0 };
    for (const market of MARKETS) {
      const entry = priceEntrySchema.safeParse(prices[market.symbol]);
      if (
        !entry.success || entry.data.base !== market.base || entry.data.quote !== market.quote
      ) outcome.rejected += 1;
      else if (this.#take(market, entry.data.price, entry.data.lastUpdate, nowMs)) {
        outcome.updated += 1;
      }
    }
    return outcome;
  }

  /** The price of a market that is fresh at a time, else undefined. */
  freshPrice(market: Market, atMs: number): bigint | undefined {
    const known = this.#known.get(market);
    return known !== undefined && atMs - known.lastUpdate <= this.maxStaleMs
      ? known.price
      : undefined;
  }

  /** Whether bets on the market are taken. */
  isFresh(market: Market, atMs: number): boolean {
    return this.freshPrice(market, atMs) !== undefined;
  }

  /** The simplified view by symbol; a market that never had a price is left out. */
  view(atMs: number): Record<string, NodePrice> {
    const entries = [...this.#known].map((
      [{ symbol, base, quote }, known],
    ): [string, NodePrice] => [
      symbol,
      {
        base,
        quote,
        price: known.price,
        decimals: PRICE_DECIMALS,
        lastUpdate: known.lastUpdate,
        ageMs: Math.max(0, atMs - known.lastUpdate),
        state: atMs - known.lastUpdate <= this.maxStaleMs ? "fresh" : "stale",
      },
    ]);
    return Object.fromEntries(entries);
  }

  #take(market: Market, price: bigint, reported: number, nowMs: number): boolean {
    const known = this.#known.get(market);
    if (known !== undefined && reported === known.reported) {
      // A price may move before the oracle has a newer time for all that it is made of.
      known.price = price;
      return false;
    }
    if (known !== undefined && reported <= known.lastUpdate) return false;
    this.#known.set(market, { price, lastUpdate: Math.min(reported, nowMs), reported });
    return true;
  }
}
