import { type Address, checksumAddress } from "./scalars.ts";
import { EXCHANGE_OF, PROVIDER_NAMES, type ProviderName } from "./providers.ts";

/** Addresses of a base and a quote token. */
export interface MarketPair {
  readonly base: Address;
  readonly quote: Address;
}

/** A pair of tokens that theses can be written on. */
export interface Market extends MarketPair {
  /** `<BASE>/<QUOTE>`, the key of `prices` in the oracle's answer. */
  readonly symbol: string;
  /** Its name on an exchange, where that does not follow from the symbol; by provider. */
  readonly exchangeSymbols?: Partial<Readonly<Record<ProviderName, string>>>;
}

/** A key of maps by market. */
export function marketKey({ base, quote }: MarketPair): string {
  return base + quote;
}

/** Decimals of every price: an integer price is the quoted price times 10^6. */
export const PRICE_DECIMALS = 6 as const;

/** USDT, the quote token of every market. */
export const USDT: Address = "0x0000000000000000000000000000000000000100";

function market(symbol: string, base: string): Market {
  return { symbol, base: checksumAddress(base), quote: USDT };
}

/** The pairs of the specification, in the order of the spec's tables. */
export const MARKETS: readonly [Market, ...Market[]] = [
  market("BTC/USDT", "0x0000000000000000000000000000000000000001"),
  market("ETH/USDT", "0x0000000000000000000000000000000000000002"),
  market("SOL/USDT", "0x0000000000000000000000000000000000000003"),
];

/** The separator between the two tokens in a market's name, by the provider's exchange. */
const SEPARATORS: Readonly<Record<ProviderName, string>> = {
  provider_a: "",
  provider_b: "-",
  provider_c: "/",
  provider_d: "-",
};

/** The name of a market on an exchange. */
export function exchangeSymbol(
  { symbol, exchangeSymbols }: Pick<Market, "symbol" | "exchangeSymbols">,
  provider: ProviderName,
): string {
  return exchangeSymbols?.[provider] ?? symbol.replace("/", SEPARATORS[provider]);
}

/** The format of a symbol, which is also used as a file name. */
export const SYMBOL_PATTERN = /^[A-Z0-9]{1,16}\/[A-Z0-9]{1,16}$/;

/** The markets of a deployment, found by their addresses or their symbol. */
export class Markets {
  /** In the order of the settings. */
  readonly list: readonly Market[];
  readonly #byPair: ReadonlyMap<string, Market>;
  readonly #bySymbol: ReadonlyMap<string, Market>;

  /** @throws {RangeError} If the list is empty, or two have the same symbol, addresses or name. */
  constructor(list: readonly Market[]) {
    this.list = list;
    this.#byPair = new Map(list.map((market) => [marketKey(market), market]));
    this.#bySymbol = new Map(list.map((market) => [market.symbol, market]));
    if (list.length === 0) throw new RangeError("Markets needs one market at least");
    for (const market of list) {
      const { base, quote, symbol } = market;
      if (this.find(base, quote) !== market || this.findBySymbol(symbol) !== market) {
        throw new RangeError(`Markets has ${symbol} or its addresses ${base}, ${quote} twice`);
      }
    }
    for (const provider of PROVIDER_NAMES) {
      const names = list.map((market) => exchangeSymbol(market, provider));
      const twice = names.find((name, index) => names.indexOf(name) < index);
      if (twice === undefined) continue;
      throw new RangeError(`Markets has ${twice} of ${EXCHANGE_OF[provider]} twice`);
    }
  }

  get symbols(): string[] {
    return this.list.map(({ symbol }) => symbol);
  }

  /** The market of a pair of addresses in EIP-55 form, or undefined if it is not supported. */
  find(base: Address, quote: Address): Market | undefined {
    return this.#byPair.get(marketKey({ base, quote }));
  }

  /** The market of a symbol such as `ETH/USDT`, or undefined. */
  findBySymbol(symbol: string): Market | undefined {
    return this.#bySymbol.get(symbol);
  }
}

/** The markets of the specification: used if no others are given. */
export const SPEC_MARKETS: Markets = new Markets(MARKETS);
