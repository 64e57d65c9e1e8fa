import { z } from "zod";
import { describeIssue, hash32Schema } from "../protocol/scalars.ts";
import { type Intent, StoreError } from "./intent.ts";

/** A value of a statement. */
export type SqlValue = string | number | null;

/** One statement of a transaction. */
export interface Statement {
  sql: string;
  values: SqlValue[];
}

/**
 * A transaction: each `yield` hands over statements that run in order, and is resumed with the rows of
 * each. One definition works for a synchronous and an asynchronous database. It must have no
 * effect but its result, since the transaction may still fail.
 */
export type Steps<T> = Generator<readonly Statement[], T, unknown[][]>;

/**
 * One SQL database. A statement has one `?` for each value, and uses only what SQLite and PostgreSQL
 * have in common. Every method throws {@link StoreError} on failure, and then has changed nothing;
 * after a {@link StoreConnectionLostError} the change may have been made.
 */
export interface SqlDriver {
  /** Runs a statement that changes nothing. */
  read(sql: string, values: SqlValue[]): Promise<unknown[]>;
  /**
   * Runs one statement as a transaction.
   *
   * @returns The rows of its `RETURNING`, once the transaction is on disk.
   */
  write(sql: string, values: SqlValue[]): Promise<unknown[]>;
  /** The same for a statement without `RETURNING`. @returns How many rows it changed. */
  change(sql: string, values: SqlValue[]): Promise<number>;
  /**
   * Runs several statements as one transaction, or as part of one with others that wait; resolves once
   * it is on disk.
   */
  transaction<T>(steps: () => Steps<T>): Promise<T>;
  /** Version of the tables: 0 if there are none yet. @throws {StoreError} If they cannot be made. */
  version(): Promise<number>;
  /** Finishes the statements that are running, then disconnects. May be called again. */
  close(): Promise<void>;
}

/** A 64-bit integer: SQLite returns a number, PostgreSQL text. */
const integerSchema = z.coerce.number().int();

/** `RETURNING sequence`. */
export const sequenceSchema = z.object({ sequence: integerSchema });

/** `SELECT … AS sequences`: numbers joined by commas, or null. */
export const sequencesSchema = z.object({ sequences: z.string().nullable() });

/** `SELECT … AS keys`: joined by commas, or null. */
export const keysSchema = z.object({ keys: z.string().nullable() });

const stateSchema = z.enum(["accepted", "submitted", "committed", "failed"]);

/** `SELECT … AS keys, … AS newest, … AS state`. */
export const lookUpSchema = keysSchema.extend({
  newest: integerSchema.nullable(),
  state: stateSchema.nullable(),
});

/** `SELECT sequence, key, payload`. */
export const reservationSchema = z.object({
  sequence: integerSchema,
  key: z.string(),
  payload: z.string(),
});

/** `RETURNING genesis`. */
export const genesisSchema = z.object({ genesis: hash32Schema.nullable() });

/** `SELECT value, saved_at_ms`. */
export const savedValueSchema = z.object({ value: z.string(), saved_at_ms: integerSchema })
  .transform(({ value, saved_at_ms: savedAtMs }) => ({ value, savedAtMs }));

const countSchema = z.object({ count: integerSchema });

const intentSchema = z.object({
  sequence: integerSchema,
  key: z.string(),
  subject: z.string(),
  payload: z.string(),
  state: stateSchema,
  tx_hash: hash32Schema.nullable(),
  transaction_text: z.string().nullable(),
  receipt: z.string().nullable(),
  failure_code: z.string().nullable(),
  failure_message: z.string().nullable(),
  expires_at_ms: integerSchema,
  created_at_ms: integerSchema,
  updated_at_ms: integerSchema,
}).transform(({ sequence, key, subject, payload, state, receipt, ...row }): Intent => {
  const { tx_hash: txHash, transaction_text: text } = row;
  const { failure_code: code, failure_message: message } = row;
  return {
    ...{ sequence, key, subject, payload, state, receipt },
    transaction: txHash === null || text === null ? null : { txHash, text },
    failure: code === null || message === null ? null : { code, message },
    expiresAtMs: row.expires_at_ms,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
  };
});

/** Reads a row with all columns of an intent. */
export function intentOfRow(row: unknown): Intent {
  return parseRow(intentSchema, row);
}

/** Reads the one row of `SELECT … AS count`. */
export function countOfRow(row: unknown): number {
  return parseRow(countSchema, row).count;
}

/** @throws {StoreError} If the row is damaged. */
export function parseRow<S extends z.ZodType>(schema: S, row: unknown): z.output<S> {
  const parsed = schema.safeParse(row);
  if (parsed.success) return parsed.data;
  throw new StoreError(`Database has a damaged row: ${describeIssue(parsed.error)}`);
}
