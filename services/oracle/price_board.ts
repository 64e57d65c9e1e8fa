import { toWire } from "../../lib/json.ts";
import type { Market } from "../../lib/protocol/markets.ts";
import type { ProviderName } from "../../lib/protocol/providers.ts";
import { AggregatePrice, type PriceRules } from "./aggregate_price.ts";

export interface PriceBoardOptions extends PriceRules {
  markets: readonly Market[];
}

/** What others read of one market. */
export type MarketPrice = Pick<AggregatePrice, "sources" | "entry" | "isWithheld">;

/**
 * The newest price of each source in each market, and the aggregate of each market. The board
 * uses no socket and no clock: each call passes the time, in Unix milliseconds.
 */
export class PriceBoard {
  /** By symbol, in the order of the settings. */
  readonly markets: ReadonlyMap<string, MarketPrice>;
  readonly #markets: ReadonlyMap<string, AggregatePrice>;
  #changedAtMs = 0;
  /** Undefined after a change, until it is read. */
  #body: string | undefined;

  constructor({ markets, ...rules }: PriceBoardOptions) {
    this.markets = this.#markets = new Map(
      markets.map((market) => [market.symbol, new AggregatePrice(market, rules)]),
    );
  }

  /** The JSON body of `GET /prices`; its `timestamp` is the time of the last change. */
  get body(): string {
    return this.#body ??= JSON.stringify(toWire({
      timestamp: this.#changedAtMs,
      prices: Object.fromEntries(
        Array.from(this.#markets, ([symbol, { entry }]) => [symbol, entry]),
      ),
    }));
  }

  /** The number of markets whose price a provider contributes to. */
  countOf(provider: ProviderName): number {
    return this.#markets.values()
      .filter(({ sources }) => sources.some((source) => source.provider === provider))
      .toArray().length;
  }

  /** Updates a price. Unknown markets are ignored. */
  update(provider: ProviderName, symbol: string, price: bigint, timeMs: number): void {
    if (this.#markets.get(symbol)?.update(provider, price, timeMs)) this.#onChange(timeMs);
  }

  /** Records that the provider's price of a market is still the exchange's last trade. */
  confirm(provider: ProviderName, symbol: string, timeMs: number): void {
    if (this.#markets.get(symbol)?.confirm(provider, timeMs)) this.#onChange(timeMs);
  }

  /** Records that the provider has nothing to send in any market. */
  keepAlive(provider: ProviderName, timeMs: number): void {
    this.#changeAll(timeMs, (market) => market.keepAlive(provider, timeMs));
  }

  /** Removes a provider's prices: its connection is lost. */
  removeProvider(provider: ProviderName, timeMs: number): void {
    this.#changeAll(timeMs, (market) => market.removeProvider(provider, timeMs));
  }

  /**
   * Removes sources that are too old from their prices. A source with a time in the future, for
   * example after the clock was set back, counts as received now.
   *
   * @returns When to call again, Unix milliseconds, or undefined without sources.
   */
  expire(timeMs: number): number | undefined {
    this.#changeAll(timeMs, (market) => market.refresh(timeMs));
    const dueAtMs = Math.min(...this.#markets.values().map((market) => market.dueAtMs));
    return dueAtMs === Infinity ? undefined : dueAtMs;
  }

  /** @param change Says whether the entry changed. */
  #changeAll(timeMs: number, change: (market: AggregatePrice) => boolean): void {
    const changed = [...this.#markets.values()].filter(change);
    if (changed.length > 0) this.#onChange(timeMs);
  }

  #onChange(timeMs: number): void {
    this.#changedAtMs = timeMs;
    this.#body = undefined;
  }
}
