import * as z from "zod/mini";
import { estimateAnswerSchema } from "../protocol/answers.ts";
import type { Market, Markets } from "../protocol/markets.ts";
import { InputError } from "./errors.ts";
import { requireAmount, requireObject, requireTime } from "./input.ts";

/**
 * A bet to ask for: prices and amount with 6 decimals, times in Unix milliseconds. It names its
 * market by the symbol; on the wire, a bet has the addresses.
 */
export interface Bet {
  /** Such as `ETH/USDT`. */
  symbol: string;
  lowerPrice: bigint;
  upperPrice: bigint;
  betAmount: bigint;
  startTime: number;
  endTime: number;
  /** When the quote ends; a minute from now by default. */
  deadline?: number | undefined;
}

/** The payout of a bet, amounts in USDC with 6 decimals. */
export type Estimate = z.output<typeof estimateAnswerSchema>["estimate"] & {
  /** Probability that the user wins, by the solver's model; absent if the solver has none. */
  probability?: number | undefined;
};

/** How a solver with a model explains a price. */
export const pricingSchema = z.optional(z.object({ probability: z.number() }));

/** An answer to an estimate; a solver with a model explains its price. */
export const pricedEstimateSchema = z.pipe(
  z.extend(estimateAnswerSchema, {
    pricing: pricingSchema,
  }),
  z.transform(({ estimate, pricing }): Estimate => ({
    ...estimate,
    probability: pricing?.probability,
  })),
);

/** Recorded prices, one for each slot of 100 ms, and the spans of slots without one. */
export interface PriceHistory {
  prices: { time: number; price: bigint }[];
  missing: { from: number; to: number }[];
}

/** How long requests and quotes are valid by default. */
export const REQUEST_LIFE_MS = 60_000;

/** A bet as the solver's requests carry it. @throws {InputError} If one does not fit. */
export function requireRequest(bet: Bet, nowMs: number, markets: Markets) {
  requireObject("bet", bet, "Expected an object with symbol, prices, amount and times");
  const { base, quote } = requireMarket(bet.symbol, markets);
  for (const field of ["lowerPrice", "upperPrice", "betAmount"] as const) {
    requireAmount(field, bet[field]);
  }
  for (const field of ["startTime", "endTime"] as const) requireTime(field, bet[field]);
  if (bet.deadline !== undefined) requireTime("deadline", bet.deadline);
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

/** A market by its symbol. @throws {InputError} `UNSUPPORTED_PAIR` */
export function requireMarket(symbol: string, markets: Markets): Market {
  const market = markets.bySymbol(symbol);
  if (market !== undefined) return market;
  const known = markets.symbols.join(", ");
  const message = `No market ${symbol}: expected one of ${known}`;
  throw new InputError("UNSUPPORTED_PAIR", message, { field: "symbol" });
}
