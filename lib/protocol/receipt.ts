import * as z from "zod/mini";
import type { Retry } from "../errors.ts";
import { hash32Schema } from "./scalars.ts";

/** Codes of valid transactions that break a rule of the chain, and how to try again with a bet. */
const TRANSACTION_ERRORS = {
  PERMISSION_DENIED: "never",
  INSUFFICIENT_BALANCE: "never",
  UNSUPPORTED_PAIR: "never",
  INVALID_PRICE_RANGE: "never",
  INVALID_TIME_RANGE: "never",
  BET_TOO_SMALL: "never",
  RANGE_BROKEN: "new_quote",
  QUOTE_EXPIRED: "new_quote",
  /** An earlier transaction has placed the bet. */
  QUOTE_ALREADY_USED: "same",
  QUOTE_SIGNER_MISMATCH: "never",
  USER_SIGNATURE_INVALID: "never",
  ORACLE_STALE: "new_quote",
  DEPOSIT_ALREADY_PROCESSED: "never",
} as const satisfies Record<string, Retry>;

export type TransactionErrorCode = keyof typeof TRANSACTION_ERRORS;

/** The codes above, whose type `Object.keys` loses. */
export const TRANSACTION_ERROR_CODES = Object.keys(TRANSACTION_ERRORS) as TransactionErrorCode[];

const RETRIES = new Map<string, Retry>(Object.entries(TRANSACTION_ERRORS));

/** How to try again with a bet whose transaction failed; never for a code of another node. */
export function retryOfFailure(code: string): Retry {
  return RETRIES.get(code) ?? "never";
}

/** Result of `core_sendTransaction` and `core_getTransaction`. */
export const receiptSchema = z.object({
  txHash: hash32Schema,
  status: z.enum(["committed", "failed"]),
  blockNumber: z.int().check(z.nonnegative()),
  thesisId: z.optional(z.int().check(z.positive())),
  /** For a `BackfillOracle`: slots that had no price before. */
  filledSlots: z.optional(z.int().check(z.nonnegative())),
  error: z.optional(z.object({
    /** Another node may have codes of its own: such a transaction has failed, too. */
    code: z.union([z.enum(TRANSACTION_ERROR_CODES), z.string().check(z.minLength(1))]),
    message: z.string(),
    /** The numbers in the message; another chain may have none. */
    details: z.optional(z.record(z.string(), z.unknown())),
  })),
});

/** The final outcome of a transaction: sending it again answers with the same receipt. */
export type Receipt = z.output<typeof receiptSchema>;
