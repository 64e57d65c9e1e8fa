import type { Market } from "../../lib/protocol/markets.ts";
import type { PriceEntry } from "../../lib/protocol/price.ts";
import type { ProviderName } from "../../lib/protocol/providers.ts";
import { Pair, type PairRules, type Source } from "./pair.ts";

/** How a {@link PriceBoard} makes one price of several. */
export interface PriceBoardOptions extends PairRules {
  markets: readonly Market[];
  /** A source whose last price is older than this contributes no longer, in milliseconds. */
  maxSourceAgeMs: number;
}

/**
 * The newest price of each source in each market, and what they come to. Everything is worked out
 * when a price changes, nothing when it is asked for. It knows no socket and no clock: each call
 * says what time it is.
 */
export class PriceBoard {
  readonly #maxSourceAgeMs: number;
  readonly #pairs: readonly Pair[];
  readonly #bySymbol: ReadonlyMap<string, Pair>;
  #body = "";

  constructor(options: PriceBoardOptions) {
    this.#maxSourceAgeMs = options.maxSourceAgeMs;
    this.#pairs = options.markets.map((market) => new Pair(market, options));
    this.#bySymbol = new Map(this.#pairs.map((pair) => [pair.symbol, pair]));
    this.#writeBody(0);
  }

  /** The JSON body of `GET /prices`; its `timestamp` is when a price last changed. */
  get body(): string {
    return this.#body;
  }

  /** The symbols on the board. */
  get symbols(): string[] {
    return this.#pairs.map((pair) => pair.symbol);
  }

  /** The valid price of a market, or undefined. */
  entry(symbol: string): PriceEntry | undefined {
    return this.#bySymbol.get(symbol)?.entry;
  }

  /** What contributes to a market, in the order of the spec's providers. */
  sources(symbol: string): readonly Source[] {
    return this.#bySymbol.get(symbol)?.sources ?? [];
  }

  /** How many markets this provider contributes to. */
  pricesOf(provider: ProviderName): number {
    return this.#pairs.filter((pair) => pair.sources.some((source) => source.provider === provider))
      .length;
  }

  /** How many markets have a valid price. */
  get pairsWithPrices(): number {
    return this.#pairs.filter((pair) => pair.entry !== undefined).length;
  }

  /** The newest receipt behind any valid price, Unix milliseconds; 0 without one. */
  get lastPriceUpdateMs(): number {
    return Math.max(0, ...this.#pairs.map((pair) => pair.entry?.lastUpdate ?? 0));
  }

  /** Takes a price. A market that is not on the board is none of its business. */
  update(provider: ProviderName, symbol: string, price: bigint, timeMs: number): void {
    const pair = this.#bySymbol.get(symbol);
    if (pair === undefined) return;
    pair.update(provider, price, timeMs);
    this.#writeBody(timeMs);
  }

  /** Forgets what a provider said, of one market or of all: its connection is gone. */
  drop(provider: ProviderName, timeMs: number, symbol?: string): void {
    const pairs = this.#pairs.filter((pair) => symbol === undefined || pair.symbol === symbol);
    const changed = pairs.filter((pair) => pair.drop(provider));
    if (changed.length > 0) this.#writeBody(timeMs);
  }

  /**
   * Drops the sources that are older than allowed at `timeMs`; one received in the future counts as
   * received now.
   *
   * @returns When the next source is due to expire, Unix milliseconds, or undefined without sources.
   */
  expire(timeMs: number): number | undefined {
    const changed = this.#pairs.filter((pair) => pair.expire(timeMs, this.#maxSourceAgeMs));
    if (changed.length > 0) this.#writeBody(timeMs);
    const receipts = this.#pairs.flatMap((pair) =>
      pair.sources.map((source) => source.receivedAtMs)
    );
    return receipts.length === 0 ? undefined : Math.min(...receipts) + this.#maxSourceAgeMs + 1;
  }

  #writeBody(timeMs: number): void {
    let prices = "";
    for (const { json } of this.#pairs) {
      if (json !== undefined) prices += prices === "" ? json : `,${json}`;
    }
    this.#body = `{"timestamp":${timeMs},"prices":{${prices}}}`;
  }
}
