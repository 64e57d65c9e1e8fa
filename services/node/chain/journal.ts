import { z } from "zod";
import { RangemakerError } from "../../../lib/errors.ts";
import { receiptSchema } from "../../../lib/protocol/receipt.ts";
import {
  addressSchema,
  hash32Schema,
  timestampSchema,
  uint256Schema,
  uint64Schema,
} from "../../../lib/protocol/scalars.ts";
import { transactionSchema } from "../../../lib/protocol/transaction.ts";
import { toWire } from "../../../lib/protocol/wire.ts";

const spanSchema = z.object({ from: timestampSchema, to: timestampSchema });

const genesisRecordSchema = z.object({
  kind: z.literal("genesis"),
  /** Version of the journal's format. */
  version: z.literal(2),
  /** When the chain was created, in Unix milliseconds. */
  createdAtMs: timestampSchema,
  /** How often the journal was rewritten. */
  rewrites: z.number().int().nonnegative(),
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
  /** Only for an `RfqSubmit`. */
  quoteHash: hash32Schema.optional(),
  /** For a `BackfillOracle`: the slots that were filled. */
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

/** No block above this number is announced before the next such record. */
const reservationRecordSchema = z.object({
  kind: z.literal("reservation"),
  upTo: z.number().int().nonnegative(),
});

/**
 * Summary of the changes by records that a rewrite dropped. A rewrite writes one such record per
 * {@link DROPPED_PER_RECORD} accounts; all of them add up.
 */
const droppedRecordSchema = z.object({
  kind: z.literal("dropped"),
  /** All dropped records are older than this, in Unix milliseconds. */
  beforeMs: timestampSchema,
  /** The highest id of a thesis that was ever opened. */
  lastThesisId: z.number().int().nonnegative(),
  /** Sum of the dropped deposits, each of which may be as large as 64 bits allow. */
  issued: uint256Schema,
  /** Changes of balances by dropped records. */
  balances: z.record(addressSchema, z.string().regex(/^-?\d{1,40}$/).transform(BigInt)),
});

/**
 * External hashes of dropped deposits. They never expire: a deposit transaction has no deadline, so
 * only its external hash stops a relayer that lost its store from depositing it again.
 */
const depositsRecordSchema = z.object({
  kind: z.literal("deposits"),
  externalTxHashes: z.array(hash32Schema),
});

/** Accounts of a `dropped` record, and hashes of a `deposits` record: lines stay below 128 KiB. */
export const DROPPED_PER_RECORD = 1_000;

/**
 * Failures of strangers, which no record contains ({@link Ledger.recordsFailureOf}): the newest are
 * kept in memory, so that a repeated transaction gets its first receipt.
 */
export const STRANGER_FAILURES_MAX = 1_024;

/** One line of the journal. */
export const recordSchema = z.discriminatedUnion("kind", [
  genesisRecordSchema,
  transactionRecordSchema,
  failureRecordSchema,
  settlementRecordSchema,
  reservationRecordSchema,
  droppedRecordSchema,
  depositsRecordSchema,
]);

/** A decision of the chain. Applying all records in order rebuilds the state. */
export type JournalRecord = z.output<typeof recordSchema>;

/** The initial state: the first record of every journal. */
export type GenesisRecord = z.output<typeof genesisRecordSchema>;

/** A committed transaction and its receipt. */
export type TransactionRecord = z.output<typeof transactionRecordSchema>;

/** Summary of the changes by dropped records. */
export type DroppedRecord = z.output<typeof droppedRecordSchema>;

/** Outcome of a settlement attempt. */
export type SettlementRecord = z.output<typeof settlementRecordSchema>;

/** The record as JSON, with bigints as decimal strings. */
export function recordToJson(record: JournalRecord): string {
  return JSON.stringify(toWire(record));
}

/** The chain writes each record here before it applies it. */
export interface Journal {
  /** @throws {JournalError} If the records cannot be written; none of them counts then. */
  append(records: readonly JournalRecord[]): void;
  /** Resolves when all appended records are on the disk. @throws {JournalError} If that failed. */
  synced(): Promise<void>;
  /** The reason why the journal accepts no records now; undefined while it works. */
  readonly failure: JournalError | undefined;
}

/** The journal of a chain in memory: stores nothing. */
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
