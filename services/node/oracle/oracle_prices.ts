import { z } from "zod";
import { type Market, type Markets, PRICE_DECIMALS } from "../../../lib/protocol/markets.ts";
import { type NodePrice, type PriceEntry, priceEntrySchema } from "../../../lib/protocol/price.ts";

/** The last price of a market that the oracle reported. */
interface ReportedPrice {
  price: bigint;
  /** Unix milliseconds on the node's clock; never in the future. */
  lastUpdate: number;
  /** `lastUpdate` as sent by the oracle: the same again does not make a price younger. */
  reported: number;
}

const bodySchema = z.object({ prices: z.record(z.string(), z.unknown()) });

/**
 * The last known price of every market and its age (spec: price oracle, States). Age is measured
 * from the price's own `lastUpdate`, or from its receipt if `lastUpdate` is in the future.
 */
export class OraclePrices {
  readonly maxStaleMs: number;
  readonly markets: readonly Market[];
  readonly #known = new Map<Market, ReportedPrice>();
  #shiftMs = 0;

  /** @param maxStaleMs The greatest age, in milliseconds, at which a price is fresh. */
  constructor(maxStaleMs: number, { list }: Markets) {
    this.maxStaleMs = maxStaleMs;
    this.markets = list;
  }

  /**
   * Applies the body of the newest `GET /prices` answer. An invalid entry affects its own market only.
   *
   * @returns How many markets got a price with another `lastUpdate`.
   * @throws {z.ZodError} If the body has no `prices` map.
   */
  update(body: unknown, nowMs: number): number {
    const { prices } = bodySchema.parse(body);
    this.clamp(nowMs);
    return this.markets.filter((market) => {
      const { success, data } = priceEntrySchema.safeParse(prices[market.symbol]);
      return success && data.base === market.base && data.quote === market.quote &&
        this.#apply(market, data, nowMs);
    }).length;
  }

  freshPrice(market: Market, atMs: number): bigint | undefined {
    const known = this.#known.get(market);
    return known !== undefined && atMs - known.lastUpdate <= this.maxStaleMs
      ? known.price
      : undefined;
  }

  /** Whether the market has a fresh price, so that bets on it are accepted. */
  isFresh(market: Market, atMs: number): boolean {
    return this.freshPrice(market, atMs) !== undefined;
  }

  /** The simplified view by symbol, in the markets' order, without those that never had a price. */
  view(atMs: number): Record<string, NodePrice> {
    const entries = this.markets.flatMap((market): [string, NodePrice][] => {
      const known = this.#known.get(market);
      if (known === undefined) return [];
      const { symbol, base, quote } = market;
      return [[symbol, {
        base,
        quote,
        price: known.price,
        decimals: PRICE_DECIMALS,
        lastUpdate: known.lastUpdate,
        ageMs: Math.max(0, atMs - known.lastUpdate),
        state: this.isFresh(market, atMs) ? "fresh" : "stale",
      }]];
    });
    return Object.fromEntries(entries);
  }

  /** After the clock was set back, moves times in the future to now, so that prices age. */
  clamp(nowMs: number): void {
    for (const known of this.#known.values()) known.lastUpdate = Math.min(known.lastUpdate, nowMs);
  }

  /** Shifts the times of prices after the chain's clock was moved, to keep their age. */
  shift(byMs: number): void {
    this.#shiftMs += byMs;
    for (const known of this.#known.values()) known.lastUpdate += byMs;
  }

  /** `lastUpdate` goes back if the oracle loses a source, or a quiet one contributes again. */
  #apply(market: Market, entry: PriceEntry, nowMs: number): boolean {
    const { price, lastUpdate: reported } = entry;
    const known = this.#known.get(market);
    if (reported === known?.reported) {
      // A median may change before the sources of its `lastUpdate` confirm their prices again.
      known.price = price;
      return false;
    }
    const lastUpdate = Math.min(reported + this.#shiftMs, nowMs);
    this.#known.set(market, { price, lastUpdate, reported });
    return true;
  }
}
