import * as z from "zod";
import { addressSchema, thesisTypeSchema, timestampSchema, uint64Schema } from "./scalars.ts";

/**
 * The terms of a bet: the one definition that quoting, executing, the transaction, the ledger and
 * the client share. Prices and amounts have 6 decimals, times are Unix milliseconds.
 */
export const betTermsShape = {
  thesisType: thesisTypeSchema,
  base: addressSchema.describe("Base token of a supported pair"),
  quote: addressSchema.describe("Quote token of a supported pair"),
  lowerPrice: uint64Schema.describe("Lower bound of the range, 6 decimals"),
  upperPrice: uint64Schema.describe("Upper bound of the range, 6 decimals"),
  betAmount: uint64Schema.describe("Bet in USDC, 6 decimals"),
  startTime: timestampSchema.describe("Start of the thesis, Unix milliseconds"),
  endTime: timestampSchema.describe("End of the thesis, Unix milliseconds"),
};

const betTermsSchema = z.object(betTermsShape);

/** The terms of a bet: everything its price depends on. */
export type BetTerms = z.output<typeof betTermsSchema>;

/** Copies the terms of a bet out of a message that contains them. */
export function betTermsOf(carrier: BetTerms): BetTerms {
  const { thesisType, base, quote, lowerPrice, upperPrice, betAmount, startTime, endTime } =
    carrier;
  return { thesisType, base, quote, lowerPrice, upperPrice, betAmount, startTime, endTime };
}
