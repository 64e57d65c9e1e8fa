/** A SQL database as the store sees it, and the tables in it. */
import { crc32 } from "node:zlib";
import { z } from "zod";
import { describeIssue } from "../protocol/describe_input.ts";
import { StoreDamagedError, StoreError } from "./errors.ts";

export type SqlValue = string | number | null;

export interface Statement {
  sql: string;
  values: SqlValue[];
}

/**
 * A transaction: each `yield` hands over statements that run in order, and is resumed with the rows
 * of each. One definition works for a synchronous and an asynchronous database. The transaction may
 * still fail after the last step, so steps may change only memory that the caller can restore.
 */
export type SqlSteps<T> = Generator<readonly Statement[], T, unknown[][]>;

/**
 * One SQL database. A statement has one `?` for each value, and uses only what SQLite and
 * PostgreSQL have in common. Every method throws {@link StoreError} on failure, and then has
 * changed nothing; after a `StoreConnectionLostError` the change may have been made.
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
  /**
   * Runs several statements as one transaction, or as part of one with others that wait; resolves
   * once it is on disk.
   */
  transaction<T>(steps: () => SqlSteps<T>): Promise<T>;
  /** Version of the tables, 0 without any. @throws {StoreError} If they cannot be made. */
  version(): Promise<number>;
  /** Finishes the statements that are running, then disconnects. May be called again. */
  close(): Promise<void>;
}

/** A 64-bit integer: SQLite returns a number, PostgreSQL text. */
export const integerSchema = z.coerce.number().int();

const sequenceSchema = z.object({ sequence: integerSchema });

/** `SELECT string_agg(key, ',') AS keys`: null without a key. */
export const keysSchema = z.object({
  keys: z.string().nullable().transform((joined) => new Set(joined?.split(","))),
});

const countSchema = z.object({ count: integerSchema });

/** CRC-32 as a signed integer, which both databases have. It finds damage, not manipulation. */
export function checksum(
  columns: readonly (string | number | boolean | null | undefined)[],
): number {
  return crc32(JSON.stringify(columns)) | 0;
}

/** Reads the one row of `SELECT … AS count`. */
export function countOfRow(row: unknown): number {
  return parseRow(countSchema, row).count;
}

/** Reads the `sequence` of a row. */
export function sequenceOfRow(row: unknown): number {
  return parseRow(sequenceSchema, row).sequence;
}

/** @throws {StoreError} If the row is damaged. */
export function parseRow<S extends z.core.$ZodType>(schema: S, row: unknown): z.output<S> {
  const parsed = z.safeParse(schema, row);
  if (parsed.success) return parsed.data;
  throw new StoreDamagedError(`Database has a damaged row: ${describeIssue(parsed.error)}`);
}

/** One step, in the dialect of each database. */
interface Migration {
  /** The version of the tables after it. */
  readonly number: number;
  readonly sqlite: string;
  readonly postgres: string;
}

/**
 * The steps from an empty database to the present tables. A released step never changes; a change
 * of the tables is a new step at the end.
 */
const MIGRATIONS: readonly Migration[] = [{
  number: 1,
  sqlite: firstTables("INTEGER PRIMARY KEY AUTOINCREMENT", "INTEGER", " STRICT"),
  postgres: firstTables("BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "BIGINT", ""),
}];

/** Version of the tables that this program works with. */
export const LATEST_VERSION = MIGRATIONS.length;

/**
 * The steps that a database of this version lacks.
 *
 * @param version 0 if it has no tables.
 * @throws {StoreError} If a newer program made the tables, or an early build with higher numbers.
 */
export function missingMigrations(version: number): readonly Migration[] {
  if (version > LATEST_VERSION) {
    throw new StoreError(
      `Database has version ${version}, made by a newer program, or by a build before 0.1.0: ` +
        `expected at most ${LATEST_VERSION}; use the program that made it, or name another database ` +
        "with --database",
    );
  }
  return MIGRATIONS.filter(({ number }) => number > version);
}

/**
 * `intents`: the reservation is a column, so that no crash can separate the two. `services`: the
 * chain and key of a service. Processes of a service wait for its row in `reservation_locks`. Losing
 * `saved_values` does no harm.
 */
function firstTables(sequenceType: string, integerType: string, tableOptions: string): string {
  return `
    CREATE TABLE intents (
      sequence ${sequenceType},
      service TEXT NOT NULL,
      key TEXT NOT NULL,
      "user" TEXT NOT NULL,
      payload TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('accepted', 'submitted', 'committed', 'failed')),
      tx_hash TEXT,
      transaction_text TEXT,
      receipt TEXT,
      failure_code TEXT,
      failure_message TEXT,
      failure_details TEXT,
      expires_at_ms ${integerType} NOT NULL,
      created_at_ms ${integerType} NOT NULL,
      updated_at_ms ${integerType} NOT NULL,
      reserved INTEGER NOT NULL,
      checksum INTEGER NOT NULL,
      UNIQUE (service, key)
    )${tableOptions};
    CREATE INDEX intents_by_user ON intents (service, "user", sequence);
    CREATE INDEX intents_unfinished ON intents (service, sequence)
      WHERE state IN ('accepted', 'submitted');
    CREATE INDEX intents_reserved ON intents (service, sequence, key) WHERE reserved = 1;
    CREATE INDEX intents_finished ON intents (service, expires_at_ms)
      WHERE state IN ('committed', 'failed') AND reserved = 0;
    CREATE TABLE reservation_locks (service TEXT PRIMARY KEY);
    CREATE TABLE services (service TEXT PRIMARY KEY, genesis TEXT, signer TEXT,
      highest_block BIGINT NOT NULL DEFAULT 0, checksum INTEGER);
    CREATE TABLE saved_values (service TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
      saved_at_ms BIGINT NOT NULL, checksum INTEGER NOT NULL, PRIMARY KEY (service, name));`;
}
