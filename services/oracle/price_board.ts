import { toWire } from "../../lib/json.ts";
import type { Market } from "../../lib/protocol/markets.ts";
import type { PriceEntry } from "../../lib/protocol/price.ts";
import type { ProviderName } from "../../lib/protocol/providers.ts";
import { AggregatePrice, type PriceRules, type SourcePrice } from "./aggregate_price.ts";

export interface PriceBoardOptions extends PriceRules {
  markets: readonly Market[];
}

/**
 * The newest price of each source in each market, and the aggregate of each market. The board
 * uses no socket and no clock: each call passes the time, in Unix milliseconds.
 */
export class PriceBoard {
  readonly #markets: readonly AggregatePrice[];
  readonly #bySymbol: ReadonlyMap<string, AggregatePrice>;
  #changedAtMs = 0;
  /** Undefined after a change, until it is read. */
  #body: string | undefined;

  constructor(options: PriceBoardOptions) {
    this.#markets = options.markets.map((market) => new AggregatePrice(market, options));
    this.#bySymbol = new Map(this.#markets.map((market) => [market.symbol, market]));
  }

  /** The JSON body of `GET /prices`; its `timestamp` is the time of the last change. */
  get body(): string {
    return this.#body ??= JSON.stringify(toWire({
      timestamp: this.#changedAtMs,
      prices: Object.fromEntries(this.#markets.map(({ symbol, entry }) => [symbol, entry])),
    }));
  }

  get symbols(): string[] {
    return this.#markets.map((market) => market.symbol);
  }

  entry(symbol: string): PriceEntry | undefined {
    return this.#bySymbol.get(symbol)?.entry;
  }

  /** The sources that contribute to a market, in the order of the spec's providers. */
  sources(symbol: string): readonly SourcePrice[] {
    return this.#bySymbol.get(symbol)?.sources ?? [];
  }

  /** Whether a market has no price because it jumped while sources are missing. */
  isWithheld(symbol: string): boolean {
    return this.#bySymbol.get(symbol)?.isWithheld ?? false;
  }

  countOf(provider: ProviderName): number {
    return this.#markets.filter((market) =>
      market.sources.some((source) => source.provider === provider)
    )
      .length;
  }

  get pairsWithPrices(): number {
    return this.#markets.filter((market) => market.entry !== undefined).length;
  }

  /** The newest `lastUpdate` of any valid price, Unix milliseconds; 0 without one. */
  get lastPriceUpdateMs(): number {
    return Math.max(0, ...this.#markets.map((market) => market.entry?.lastUpdate ?? 0));
  }

  /** Updates a price. Unknown markets are ignored. */
  update(provider: ProviderName, symbol: string, price: bigint, timeMs: number): void {
    const market = this.#bySymbol.get(symbol);
    if (market === undefined) return;
    market.update(provider, price, timeMs);
    this.#onChange(timeMs);
  }

  /** Records that the provider's price of a market is still the exchange's last trade. */
  confirm(provider: ProviderName, symbol: string, timeMs: number): void {
    if (this.#bySymbol.get(symbol)?.confirm(provider, timeMs)) this.#onChange(timeMs);
  }

  /** Records that the provider has nothing to send in any market. */
  keepAlive(provider: ProviderName, timeMs: number): void {
    const changed = this.#markets.filter((market) => market.keepAlive(provider, timeMs));
    if (changed.length > 0) this.#onChange(timeMs);
  }

  /** Removes a provider's prices: its connection is lost. */
  removeProvider(provider: ProviderName, timeMs: number): void {
    const changed = this.#markets.filter((market) => market.removeProvider(provider, timeMs));
    if (changed.length > 0) this.#onChange(timeMs);
  }

  /**
   * Removes sources that are too old from their prices. A source with a time in the future, for
   * example after the clock was set back, counts as received now.
   *
   * @returns When to call again, Unix milliseconds, or undefined without sources.
   */
  expire(timeMs: number): number | undefined {
    const changed = this.#markets.filter((market) => market.refresh(timeMs));
    if (changed.length > 0) this.#onChange(timeMs);
    const dueAtMs = Math.min(...this.#markets.map((market) => market.dueAtMs));
    return dueAtMs === Infinity ? undefined : dueAtMs;
  }

  #onChange(timeMs: number): void {
    this.#changedAtMs = timeMs;
    this.#body = undefined;
  }
}
