import type { ProviderName } from "../../lib/protocol/providers.ts";

/** One trade at one venue. */
export interface Trade {
  provider: ProviderName;
  /** Symbol such as `BTC/USDT`. */
  market: string;
  /** Unix milliseconds. */
  timeMs: number;
  /** Integer with 6 decimals. */
  price: bigint;
  /** Decimal text in the base token. */
  amount: string;
  /** Who took: the buyer or the seller. */
  side: "buy" | "sell";
}

/** A trade with its number in its market at its venue: the first has 1, and none is left out. */
export interface NumberedTrade extends Trade {
  id: number;
}

/** Trades without end, in order of time. */
export interface TradeSource {
  next(): Trade;
}
