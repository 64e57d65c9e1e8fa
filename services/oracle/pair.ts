import { type Market, PRICE_DECIMALS } from "../../lib/protocol/markets.ts";
import type { PriceEntry } from "../../lib/protocol/price.ts";
import { PROVIDER_NAMES, type ProviderName } from "../../lib/protocol/providers.ts";
import { type Aggregation, AGGREGATIONS } from "./aggregation.ts";

/** What one provider contributes to one market. */
export interface Source {
  provider: ProviderName;
  /** Integer with 6 decimals. */
  price: bigint;
  /** When it was received, Unix milliseconds. */
  receivedAtMs: number;
}

/** How the prices of several sources become one. */
export interface PairRules {
  aggregation: Aggregation;
  /** With fewer sources there is no price. */
  minSources: number;
}

/** One market: its sources, and the price they come to if there are enough of them. */
export class Pair {
  readonly #rules: PairRules;
  readonly #market: Market;
  /** The part of {@link json} that never changes. */
  readonly #head: string;
  #sources: Source[] = [];
  #names: ProviderName[] = [];
  #namesJson = "[]";
  #entry: PriceEntry | undefined;
  #json: string | undefined;

  constructor(market: Market, rules: PairRules) {
    this.#market = market;
    this.#rules = rules;
    const { symbol, base, quote } = market;
    this.#head = `"${symbol}":{"base":"${base}","quote":"${quote}","price":"`;
  }

  get symbol(): string {
    return this.#market.symbol;
  }

  /** In the order of the spec's providers. */
  get sources(): readonly Source[] {
    return this.#sources;
  }

  /** The valid price, or undefined. */
  get entry(): PriceEntry | undefined {
    return this.#entry;
  }

  /** `"BTC/USDT":{…}` of the answer to `GET /prices`, or undefined without a valid price. */
  get json(): string | undefined {
    return this.#json;
  }

  /** Takes the newest price of a provider. */
  update(provider: ProviderName, price: bigint, timeMs: number): void {
    const known = this.#sources.find((source) => source.provider === provider);
    if (known === undefined) {
      const sources = [...this.#sources, { provider, price, receivedAtMs: timeMs }];
      return this.#setSources(sources.sort((a, b) => rank(a.provider) - rank(b.provider)));
    }
    known.price = price;
    known.receivedAtMs = timeMs;
    this.#aggregate();
  }

  /** Takes out what a provider said. @returns Whether there was anything. */
  drop(provider: ProviderName): boolean {
    return this.#keep((source) => source.provider !== provider);
  }

  /**
   * Takes out what was received more than `maxAgeMs` ago; a receipt in the future counts as now.
   *
   * @returns Whether anything changed.
   */
  expire(timeMs: number, maxAgeMs: number): boolean {
    const early = this.#sources.filter((source) => source.receivedAtMs > timeMs);
    for (const source of early) source.receivedAtMs = timeMs;
    if (early.length > 0) this.#aggregate();
    return this.#keep((source) => timeMs - source.receivedAtMs <= maxAgeMs) || early.length > 0;
  }

  #keep(wanted: (source: Source) => boolean): boolean {
    const kept = this.#sources.filter(wanted);
    if (kept.length === this.#sources.length) return false;
    this.#setSources(kept);
    return true;
  }

  #setSources(sources: Source[]): void {
    this.#sources = sources;
    this.#names = sources.map((source) => source.provider);
    this.#namesJson = JSON.stringify(this.#names);
    this.#aggregate();
  }

  /** Runs for every price: the text is put together from parts instead of being made anew. */
  #aggregate(): void {
    const sources = this.#sources;
    if (sources.length < Math.max(1, this.#rules.minSources)) {
      this.#entry = this.#json = undefined;
      return;
    }
    const price = AGGREGATIONS[this.#rules.aggregation](sources.map((source) => source.price));
    const lastUpdate = sources.reduce((ms, source) => Math.max(ms, source.receivedAtMs), 0);
    const { base, quote } = this.#market;
    this.#entry = {
      base,
      quote,
      price,
      decimals: PRICE_DECIMALS,
      lastUpdate,
      sources: this.#names,
    };
    this.#json = `${this.#head}${price}","decimals":${PRICE_DECIMALS},"lastUpdate":${lastUpdate},` +
      `"sources":${this.#namesJson}}`;
  }
}

function rank(provider: ProviderName): number {
  return PROVIDER_NAMES.indexOf(provider);
}
