import { z } from "zod";
import { hash32Schema } from "../protocol/scalars.ts";
import type { Intent } from "./intent.ts";

/** Columns of the table `intents` in the order in which every engine reads them. */
export const INTENT_COLUMNS =
  "sequence, key, subject, payload, state, tx_hash, transaction_text, receipt, " +
  "failure_code, failure_message, expires_at_ms, created_at_ms, updated_at_ms";

/** 64-bit integers come as numbers or as text, by the engine. */
const integerSchema = z.coerce.number().int();

const rowSchema = z.object({
  sequence: integerSchema,
  key: z.string(),
  subject: z.string(),
  payload: z.string(),
  state: z.enum(["accepted", "submitted", "committed", "failed"]),
  tx_hash: hash32Schema.nullable(),
  transaction_text: z.string().nullable(),
  receipt: z.string().nullable(),
  failure_code: z.string().nullable(),
  failure_message: z.string().nullable(),
  expires_at_ms: integerSchema,
  created_at_ms: integerSchema,
  updated_at_ms: integerSchema,
});

/** Reads one row of the table `intents`. */
export function intentOfRow(row: unknown): Intent {
  const parsed = rowSchema.parse(row);
  const { tx_hash: txHash, transaction_text: text } = parsed;
  const { failure_code: code, failure_message: message } = parsed;
  return {
    sequence: parsed.sequence,
    key: parsed.key,
    subject: parsed.subject,
    payload: parsed.payload,
    state: parsed.state,
    transaction: txHash === null || text === null ? null : { txHash, text },
    receipt: parsed.receipt,
    failure: code === null || message === null ? null : { code, message },
    expiresAtMs: parsed.expires_at_ms,
    createdAtMs: parsed.created_at_ms,
    updatedAtMs: parsed.updated_at_ms,
  };
}

const sequenceSchema = rowSchema.pick({ sequence: true });

/** Reads the one column of `RETURNING sequence`. */
export function sequenceOfRow(row: unknown): number {
  return sequenceSchema.parse(row).sequence;
}

const countSchema = z.object({ count: integerSchema });

/** Reads the one row of a query that counts: `SELECT … AS count`. */
export function countOfRow(row: unknown): number {
  return countSchema.parse(row).count;
}
