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
  user: addressSchema,
  thesisType: thesisTypeSchema,
  base: addressSchema,
  quote: addressSchema,
  lowerPrice: uint64Schema,
  upperPrice: uint64Schema,
  betAmount: uint64Schema,
  startTime: timestampSchema,
  endTime: timestampSchema,
  deadline: timestampSchema,
});

/** A quote request as it is used inside. */
export type QuoteRequest = z.output<typeof quoteRequestSchema>;

/** The terms that solver and user both sign. */
export const quoteTermsSchema = z.object({
  user: addressSchema,
  thesisType: thesisTypeSchema,
  oraclePair: z.object({ base: addressSchema, quote: addressSchema }),
  priceRange: z.object({ lower: uint64Schema, upper: uint64Schema }),
  betAmount: uint64Schema,
  payout: uint64Schema,
  startTime: timestampSchema,
  endTime: timestampSchema,
  deadline: timestampSchema,
});

/** Amounts in USDC with 6 decimals, prices with 6 decimals, times in Unix milliseconds. */
export type QuoteTerms = z.output<typeof quoteTermsSchema>;

/** The signed quote object (spec: quote solver, "Quote"). */
export const quoteSchema = quoteTermsSchema.extend({ signature: signatureSchema });

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
