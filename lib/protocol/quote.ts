import type { Hex } from "viem";
import { z } from "zod";
import {
  addressSchema,
  signatureSchema,
  thesisTypeSchema,
  timestampSchema,
  uint64Schema,
} from "./scalars.ts";
import { type FlatType, flatType, hashFlat } from "./typed_data.ts";

/** Body of `POST /quote` (spec: quote solver, "Quote request"). */
export const quoteRequestSchema = z.object({
  user: addressSchema.describe("Who bets"),
  thesisType: thesisTypeSchema,
  base: addressSchema.describe("Base token of a supported pair"),
  quote: addressSchema.describe("Quote token of a supported pair"),
  lowerPrice: uint64Schema.describe("Lower bound of the range, 6 decimals"),
  upperPrice: uint64Schema.describe("Upper bound of the range, 6 decimals"),
  betAmount: uint64Schema.describe("Bet in USDC, 6 decimals"),
  startTime: timestampSchema.describe("Start of the thesis, Unix milliseconds"),
  endTime: timestampSchema.describe("End of the thesis, Unix milliseconds"),
  deadline: timestampSchema.describe("Until when it may be executed, Unix milliseconds"),
}).meta({ id: "QuoteRequest" });

/** A quote request as it is used inside. */
export type QuoteRequest = z.output<typeof quoteRequestSchema>;

/** The terms that solver and user both sign. */
export const quoteTermsSchema = z.object({
  user: addressSchema,
  thesisType: thesisTypeSchema,
  oraclePair: z.object({ base: addressSchema, quote: addressSchema }),
  priceRange: z.object({ lower: uint64Schema, upper: uint64Schema }),
  betAmount: uint64Schema.describe("Bet in USDC, 6 decimals"),
  payout: uint64Schema.describe("Total payout in USDC if the user wins, 6 decimals"),
  startTime: timestampSchema,
  endTime: timestampSchema,
  deadline: timestampSchema,
});

/** Amounts in USDC with 6 decimals, prices with 6 decimals, times in Unix milliseconds. */
export type QuoteTerms = z.output<typeof quoteTermsSchema>;

/** The signed quote object (spec: quote solver, "Quote"). */
export const quoteSchema = quoteTermsSchema.extend({ signature: signatureSchema })
  .meta({ id: "Quote", description: "A quote with the solver's signature over the quote hash" });

/** A quote with the solver's signature over {@link hashQuote}. */
export type Quote = z.output<typeof quoteSchema>;

/** A quote as JSON carries it. */
export type QuoteWire = z.input<typeof quoteSchema>;

/** What is signed; `GET /typed-data` of the solver describes it to wallets. */
export const QUOTE_TYPE: FlatType = flatType(
  "Core:Quote(address user,string thesisType,address base,address quote,uint256 lowerPrice,uint256 upperPrice,uint256 betAmount,uint256 payout,uint256 startTime,uint256 endTime,uint256 deadline)",
);

/** The message that is signed: the terms in one flat struct. */
export function quoteMessage(terms: QuoteTerms): Record<string, unknown> {
  return {
    user: terms.user,
    thesisType: terms.thesisType,
    base: terms.oraclePair.base,
    quote: terms.oraclePair.quote,
    lowerPrice: terms.priceRange.lower,
    upperPrice: terms.priceRange.upper,
    betAmount: terms.betAmount,
    payout: terms.payout,
    startTime: BigInt(terms.startTime),
    endTime: BigInt(terms.endTime),
    deadline: BigInt(terms.deadline),
  };
}

/** The quote hash: the digest that the solver and the user sign. */
export function hashQuote(terms: QuoteTerms, chainId: number): Hex {
  return hashFlat(QUOTE_TYPE, chainId, quoteMessage(terms));
}

/** The quote as JSON: amounts and prices become decimal strings. */
export function quoteToWire(quote: Quote): QuoteWire {
  return {
    user: quote.user,
    thesisType: quote.thesisType,
    oraclePair: { ...quote.oraclePair },
    priceRange: {
      lower: quote.priceRange.lower.toString(),
      upper: quote.priceRange.upper.toString(),
    },
    betAmount: quote.betAmount.toString(),
    payout: quote.payout.toString(),
    startTime: quote.startTime,
    endTime: quote.endTime,
    deadline: quote.deadline,
    signature: quote.signature,
  };
}
