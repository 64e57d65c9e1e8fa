import * as z from "zod/mini";
import { hash32Schema } from "./scalars.ts";

/** Codes of valid transactions that break a rule of the chain. */
export const TRANSACTION_ERROR_CODES = [
  "PERMISSION_DENIED",
  "INSUFFICIENT_BALANCE",
  "UNSUPPORTED_PAIR",
  "INVALID_PRICE_RANGE",
  "INVALID_TIME_RANGE",
  "BET_TOO_SMALL",
  "RANGE_BROKEN",
  "QUOTE_EXPIRED",
  "QUOTE_ALREADY_USED",
  "QUOTE_SIGNER_MISMATCH",
  "USER_SIGNATURE_INVALID",
  "ORACLE_STALE",
  "DEPOSIT_ALREADY_PROCESSED",
] as const;

export type TransactionErrorCode = (typeof TRANSACTION_ERROR_CODES)[number];

/** Result of `core_sendTransaction` and `core_getTransaction`. */
export const receiptSchema = z.object({
  txHash: hash32Schema,
  status: z.enum(["committed", "failed"]),
  blockNumber: z.int().check(z.nonnegative()),
  thesisId: z.optional(z.int().check(z.positive())),
  /** For a `BackfillOracle`: slots that had no price before. */
  filledSlots: z.optional(z.int().check(z.nonnegative())),
  error: z.optional(z.object({
    code: z.enum(TRANSACTION_ERROR_CODES),
    message: z.string(),
    /** The numbers in the message; another chain may have none. */
    details: z.optional(z.record(z.string(), z.unknown())),
  })),
});

/** The final outcome of a transaction: sending it again answers with the same receipt. */
export type Receipt = z.output<typeof receiptSchema>;
