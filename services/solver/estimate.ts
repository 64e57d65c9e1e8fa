import { z } from "zod";
import { USDT } from "../../lib/protocol/markets.ts";
import {
  type Address,
  addressSchema,
  thesisTypeSchema,
  timestampSchema,
  uint64Schema,
} from "../../lib/protocol/scalars.ts";
import type { Estimate } from "./quoter.ts";

/** Decimals of the multiplier in an estimate. */
const MULTIPLIER_DECIMALS = 4;

/** BTC, the base token where none is named. */
const DEFAULT_BASE: Address = "0x0000000000000000000000000000000000000001";

/**
 * Body of `POST /estimate` (spec: quote solver, "Estimate request").
 *
 * @param defaultDeadline Gives the deadline where none is named, Unix milliseconds.
 */
export function estimateRequestSchema(defaultDeadline: () => number) {
  return z.object({
    thesisType: thesisTypeSchema.default("box"),
    base: addressSchema.default(DEFAULT_BASE),
    quote: addressSchema.default(USDT),
    lowerPrice: uint64Schema,
    upperPrice: uint64Schema,
    betAmount: uint64Schema,
    startTime: timestampSchema,
    endTime: timestampSchema,
    deadline: timestampSchema.default(defaultDeadline),
  });
}

/** The estimate as JSON (spec: quote solver, "Estimate"). */
export function estimateToWire({ betAmount, payout }: Estimate) {
  return {
    betAmount: betAmount.toString(),
    payout: payout.toString(),
    multiplier: formatRatio(payout, betAmount),
    solverCollateral: (payout - betAmount).toString(),
  };
}

/** A quotient with {@link MULTIPLIER_DECIMALS} decimals, rounded down. */
function formatRatio(numerator: bigint, denominator: bigint): string {
  const scaled = (numerator * 10n ** BigInt(MULTIPLIER_DECIMALS)) / denominator;
  const digits = scaled.toString().padStart(MULTIPLIER_DECIMALS + 1, "0");
  return `${digits.slice(0, -MULTIPLIER_DECIMALS)}.${digits.slice(-MULTIPLIER_DECIMALS)}`;
}
