import { z } from "zod";
import { RangemakerError } from "../../../lib/errors.ts";
import { receiptSchema } from "../../../lib/protocol/receipt.ts";
import {
  addressSchema,
  hash32Schema,
  timestampSchema,
  uint64Schema,
} from "../../../lib/protocol/scalars.ts";
import { transactionSchema } from "../../../lib/protocol/transaction.ts";
import { toWire } from "../../../lib/protocol/wire.ts";

const spanSchema = z.object({ from: timestampSchema, to: timestampSchema });

const genesisRecordSchema = z.object({
  kind: z.literal("genesis"),
  chainId: z.number().int().positive(),
  balances: z.record(addressSchema, uint64Schema),
  relayers: z.array(addressSchema),
  admins: z.array(addressSchema),
});

const transactionRecordSchema = z.object({
  kind: z.literal("transaction"),
  /** When it was applied, in Unix milliseconds. */
  atMs: timestampSchema,
  tx: transactionSchema,
  receipt: receiptSchema,
  /** Of an `RfqSubmit`. */
  quoteHash: hash32Schema.optional(),
  /** Of a `BackfillOracle`: the slots that were filled. */
  filled: z.array(spanSchema).optional(),
});

const outcomeSchema = z.discriminatedUnion("status", [
  z.object({ status: z.literal("won") }),
  z.object({
    status: z.literal("lost"),
    breach: z.object({ time: timestampSchema, price: uint64Schema }),
  }),
  z.object({ status: z.literal("needs_backfill"), missing: z.array(spanSchema) }),
]);

const settlementRecordSchema = z.object({
  kind: z.literal("settlement"),
  /** When it was decided, in Unix milliseconds. */
  atMs: timestampSchema,
  id: z.number().int().positive(),
  outcome: outcomeSchema,
});

/** A failed transaction changes no state, so its receipt is enough. */
const failureRecordSchema = z.object({
  kind: z.literal("failure"),
  /** When it was received, Unix milliseconds. */
  atMs: timestampSchema,
  receipt: receiptSchema,
});

/** One line of the journal. */
export const recordSchema = z.discriminatedUnion("kind", [
  genesisRecordSchema,
  transactionRecordSchema,
  failureRecordSchema,
  settlementRecordSchema,
]);

/** A decision of the chain. Applying all records in order rebuilds the state. */
export type JournalRecord = z.output<typeof recordSchema>;

/** The initial state: the first record of every journal. */
export type GenesisRecord = z.output<typeof genesisRecordSchema>;

/** A committed transaction and its receipt; older journals have failed ones here, too. */
export type TransactionRecord = z.output<typeof transactionRecordSchema>;

/** Outcome of a settlement attempt. */
export type SettlementRecord = z.output<typeof settlementRecordSchema>;

/** The record as JSON, with bigints as decimal strings. */
export function recordToJson(record: JournalRecord): string {
  return JSON.stringify(toWire(record));
}

/** Where the chain writes a record before it applies it. */
export interface Journal {
  /** @throws {JournalError} If the records cannot be written; none of them counts then. */
  append(records: readonly JournalRecord[]): void;
  /** Resolves when all appended records are on the disk. @throws {JournalError} If they never will be. */
  synced(): Promise<void>;
  /** Why the journal accepts no more records; undefined while it works. */
  readonly failure: JournalError | undefined;
}

/** The journal of a chain in memory: keeps nothing. */
export const memoryJournal: Journal = {
  append: () => {},
  synced: () => Promise.resolve(),
  failure: undefined,
};

/** The journal cannot be read or written. */
export class JournalError extends RangemakerError {
  constructor(message: string, cause?: unknown) {
    super("JOURNAL", message, { cause });
  }
}
