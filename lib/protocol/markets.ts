import { type Address, checksumAddress } from "./address.ts";

/** Addresses of a base and a quote token. */
export interface MarketPair {
  readonly base: Address;
  readonly quote: Address;
}

/** A pair of tokens that theses can be written on. */
export interface Market extends MarketPair {
  /** `<BASE>/<QUOTE>`, the key of `prices` in the oracle's answer. */
  readonly symbol: string;
}

/** Decimals of every price: an integer price is the quoted price times 10^6. */
export const PRICE_DECIMALS = 6 as const;

/** USDT, the quote token of every market. */
export const USDT: Address = "0x0000000000000000000000000000000000000100";

function market(symbol: string, base: string): Market {
  return { symbol, base: checksumAddress(base), quote: USDT };
}

/** The supported pairs, in the order of the spec's tables. */
export const MARKETS: readonly Market[] = [
  market("BTC/USDT", "0x0000000000000000000000000000000000000001"),
  market("ETH/USDT", "0x0000000000000000000000000000000000000002"),
  market("SOL/USDT", "0x0000000000000000000000000000000000000003"),
];

/** The market of a pair of addresses in EIP-55 form, or undefined if it is not supported. */
export function findMarket(base: Address, quote: Address): Market | undefined {
  return MARKETS.find((market) => market.base === base && market.quote === quote);
}

/** The market of a symbol such as `ETH/USDT`, or undefined. */
export function findMarketBySymbol(symbol: string): Market | undefined {
  return MARKETS.find((market) => market.symbol === symbol);
}
