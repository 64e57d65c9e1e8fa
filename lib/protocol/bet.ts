import * as z from "zod/mini";
import { formatUnits, usdcText } from "./price.ts";
import {
  addressSchema,
  described,
  thesisTypeSchema,
  timestampSchema,
  uint64Schema,
} from "./scalars.ts";

/**
 * The fields of a bet: the one definition that quoting, executing, the transaction, the ledger and
 * the client share. Prices and amounts have 6 decimals, times are Unix milliseconds.
 */
export const betShape = {
  thesisType: thesisTypeSchema,
  base: described(addressSchema, "Base token of a supported pair"),
  quote: described(addressSchema, "Quote token of a supported pair"),
  lowerPrice: described(uint64Schema, "Lower bound of the range, 6 decimals"),
  upperPrice: described(uint64Schema, "Upper bound of the range, 6 decimals"),
  betAmount: described(uint64Schema, "Bet in USDC, 6 decimals"),
  startTime: described(timestampSchema, "Start of the thesis, Unix milliseconds"),
  endTime: described(timestampSchema, "End of the thesis, Unix milliseconds"),
};

const betSchema = z.object(betShape);

/** What a user asks for: everything that its price depends on. The client names it by symbol. */
export type Bet = z.output<typeof betSchema>;

/** What is drawn: a price range times a time window. */
export type Box = Pick<Bet, "lowerPrice" | "upperPrice" | "startTime" | "endTime">;

/** Copies the bet out of a message that contains its fields. */
export function betOf(carrier: Bet): Bet {
  const { thesisType, base, quote, lowerPrice, upperPrice, betAmount, startTime, endTime } =
    carrier;
  return { thesisType, base, quote, lowerPrice, upperPrice, betAmount, startTime, endTime };
}

/** A bet with what it pays if its user wins. */
export type BetAtRisk = Bet & { payout: bigint };

/** The solver's possible loss (payout minus bet), USDC with 6 decimals. */
export function riskOf({ payout, betAmount }: Pick<BetAtRisk, "payout" | "betAmount">): bigint {
  return payout - betAmount;
}

/** Why solver and node refuse a bet: the text of each code, from the numbers in `details`. */
export const BET_REFUSAL_TEXTS = {
  BET_TOO_SMALL: (d: { betAmount: bigint; minBetAmount: bigint }) =>
    `Bet of ${usdcText(d.betAmount)} is below ${usdcText(d.minBetAmount)}: bet more`,
  INVALID_PRICE_RANGE: (d: { lowerPrice: bigint; upperPrice: bigint }) =>
    `Lower price ${formatUnits(d.lowerPrice)} is not below upper price ` +
    `${formatUnits(d.upperPrice)}: raise the upper one`,
};
