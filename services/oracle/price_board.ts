import { type Market, PRICE_DECIMALS } from "../../lib/protocol/markets.ts";
import type { PriceEntry } from "../../lib/protocol/price.ts";
import { PROVIDER_NAMES, type ProviderName } from "../../lib/protocol/providers.ts";
import { type Aggregation, AGGREGATIONS } from "./aggregation.ts";

/** How a {@link PriceBoard} makes one price of several. */
export interface PriceBoardOptions {
  markets: readonly Market[];
  aggregation: Aggregation;
  /** A market with fewer sources has no price. */
  minSources: number;
  /** A source whose last price is older than this contributes no longer, in milliseconds. */
  maxSourceAgeMs: number;
}

/** What one provider contributes to one market. */
export interface Source {
  provider: ProviderName;
  /** Integer with 6 decimals. */
  price: bigint;
  /** When it was received, Unix milliseconds. */
  receivedAtMs: number;
}

/** One market: its trusted price if it has one, and what that was made of. */
interface Pair {
  market: Market;
  /** In the order of the spec's providers. */
  sources: Source[];
  entry: PriceEntry | undefined;
  /** `"BTC/USDT":{…}` of the answer, or undefined without a valid price. */
  json: string | undefined;
}

/**
 * The newest price of each source in each market, and what they come to. Everything is worked out
 * when a price changes, nothing when it is asked for. It knows no socket and no clock: each call
 * says what time it is.
 */
export class PriceBoard {
  readonly #options: PriceBoardOptions;
  readonly #pairs: Map<string, Pair>;
  #body = "";
  #changedAtMs = 0;

  constructor(options: PriceBoardOptions) {
    this.#options = options;
    this.#pairs = new Map(options.markets.map((market) => [
      market.symbol,
      { market, sources: [], entry: undefined, json: undefined },
    ]));
    this.#writeBody(0);
  }

  /** The JSON body of `GET /prices`; its `timestamp` is when a price last changed. */
  get body(): string {
    return this.#body;
  }

  /** The symbols on the board. */
  get symbols(): string[] {
    return [...this.#pairs.keys()];
  }

  /** The valid price of a market, or undefined. */
  entry(symbol: string): PriceEntry | undefined {
    return this.#pairs.get(symbol)?.entry;
  }

  /** What contributes to a market, in the order of the spec's providers. */
  sources(symbol: string): readonly Source[] {
    return this.#pairs.get(symbol)?.sources ?? [];
  }

  /** How many markets this provider contributes to. */
  pricesOf(provider: ProviderName): number {
    return this.#count((pair) => pair.sources.some((source) => source.provider === provider));
  }

  /** How many markets have a valid price. */
  get pairsWithPrices(): number {
    return this.#count((pair) => pair.entry !== undefined);
  }

  /** The newest receipt behind any valid price, Unix milliseconds; 0 without one. */
  get lastPriceUpdateMs(): number {
    return Math.max(0, ...this.#all().map((pair) => pair.entry?.lastUpdate ?? 0));
  }

  /** Takes a price. A market that is not on the board is none of its business. */
  update(provider: ProviderName, symbol: string, price: bigint, timeMs: number): void {
    const pair = this.#pairs.get(symbol);
    if (pair === undefined) return;
    const source = pair.sources.find((source) => source.provider === provider);
    if (source === undefined) {
      pair.sources.push({ provider, price, receivedAtMs: timeMs });
      pair.sources.sort((a, b) => rank(a.provider) - rank(b.provider));
    } else {
      source.price = price;
      source.receivedAtMs = timeMs;
    }
    this.#aggregate(pair);
    this.#writeBody(timeMs);
  }

  /** Forgets what a provider said, of one market or of all: its connection is gone. */
  drop(provider: ProviderName, timeMs: number, symbol?: string): void {
    this.#remove(
      timeMs,
      (source, ofSymbol) =>
        source.provider === provider && (symbol === undefined || symbol === ofSymbol),
    );
  }

  /**
   * Drops the sources that are older than allowed at `timeMs`; one received in the future counts as
   * received now.
   *
   * @returns When the next source is due to expire, Unix milliseconds, or undefined without sources.
   */
  expire(timeMs: number): number | undefined {
    const { maxSourceAgeMs } = this.#options;
    let oldestMs = Infinity;
    this.#remove(timeMs, (source) => {
      source.receivedAtMs = Math.min(source.receivedAtMs, timeMs);
      const expired = timeMs - source.receivedAtMs > maxSourceAgeMs;
      if (!expired) oldestMs = Math.min(oldestMs, source.receivedAtMs);
      return expired;
    });
    return oldestMs === Infinity ? undefined : oldestMs + maxSourceAgeMs + 1;
  }

  #all(): Pair[] {
    return [...this.#pairs.values()];
  }

  #count(wanted: (pair: Pair) => boolean): number {
    return this.#all().filter(wanted).length;
  }

  #remove(timeMs: number, gone: (source: Source, symbol: string) => boolean): void {
    let changed = false;
    for (const pair of this.#pairs.values()) {
      const kept = pair.sources.filter((source) => !gone(source, pair.market.symbol));
      if (kept.length === pair.sources.length) continue;
      pair.sources = kept;
      this.#aggregate(pair);
      changed = true;
    }
    if (changed) this.#writeBody(timeMs);
  }

  #aggregate(pair: Pair): void {
    const { aggregation, minSources } = this.#options;
    const { market, sources } = pair;
    if (sources.length < Math.max(1, minSources)) {
      pair.entry = pair.json = undefined;
      return;
    }
    const entry: PriceEntry = {
      base: market.base,
      quote: market.quote,
      price: AGGREGATIONS[aggregation](sources.map((source) => source.price)),
      decimals: PRICE_DECIMALS,
      lastUpdate: Math.max(...sources.map((source) => source.receivedAtMs)),
      sources: sources.map((source) => source.provider),
    };
    pair.entry = entry;
    pair.json = `"${market.symbol}":${JSON.stringify({ ...entry, price: entry.price.toString() })}`;
  }

  #writeBody(timeMs: number): void {
    this.#changedAtMs = Math.max(this.#changedAtMs, timeMs);
    let prices = "";
    for (const { json } of this.#pairs.values()) {
      if (json !== undefined) prices += prices === "" ? json : `,${json}`;
    }
    this.#body = `{"timestamp":${this.#changedAtMs},"prices":{${prices}}}`;
  }
}

function rank(provider: ProviderName): number {
  return PROVIDER_NAMES.indexOf(provider);
}
