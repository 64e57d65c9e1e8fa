import * as z from "zod";
import { estimateAnswerSchema } from "../protocol/answers.ts";
import type { Market, Markets } from "../protocol/markets.ts";
import type { Hex } from "../protocol/scalars.ts";
import { RangemakerError } from "./errors.ts";

/** A bet to ask for: prices and amount with 6 decimals, times in Unix milliseconds. */
export interface Bet {
  /** Such as `ETH/USDT`. */
  symbol: string;
  lowerPrice: bigint;
  upperPrice: bigint;
  betAmount: bigint;
  startTime: number;
  endTime: number;
  /** When the quote ends; a minute from now by default. */
  deadline?: number;
}

/** The payout of a bet, amounts in USDC with 6 decimals. */
export type Estimate = z.output<typeof estimateAnswerSchema>["estimate"] & {
  /** That the user wins, by the solver's model; absent if it has none. */
  probability?: number | undefined;
};

/** An answer to an estimate; a solver with a model explains its price. */
export const pricedEstimateSchema = estimateAnswerSchema.extend({
  pricing: z.object({ probability: z.number() }).optional(),
}).transform(({ estimate, pricing }): Estimate => ({
  ...estimate,
  probability: pricing?.probability,
}));

/** A bet that the chain took. */
export interface Execution {
  thesisId: number;
  txHash: Hex;
}

/** Recorded prices, one for each slot of 100 ms, and the spans of slots without one. */
export interface PriceHistory {
  prices: { time: number; price: bigint }[];
  missing: { from: number; to: number }[];
}

/** How long requests and quotes are valid by default. */
export const REQUEST_LIFE_MS = 60_000;

/** The terms of a bet as solver requests carry them. */
export function termsOf(bet: Bet, nowMs: number, markets: Markets) {
  const { base, quote } = marketOf(bet.symbol, markets);
  return {
    thesisType: "box",
    base,
    quote,
    lowerPrice: bet.lowerPrice.toString(),
    upperPrice: bet.upperPrice.toString(),
    betAmount: bet.betAmount.toString(),
    startTime: bet.startTime,
    endTime: bet.endTime,
    deadline: bet.deadline ?? nowMs + REQUEST_LIFE_MS,
  };
}

/** A market by its symbol. @throws {RangemakerError} `UNSUPPORTED_PAIR` */
export function marketOf(symbol: string, markets: Markets): Market {
  const market = markets.bySymbol(symbol);
  if (market !== undefined) return market;
  const known = markets.symbols.join(", ");
  throw new RangemakerError("UNSUPPORTED_PAIR", `No market ${symbol}: expected one of ${known}`);
}
