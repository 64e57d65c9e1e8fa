import { z } from "zod";
import { describeIssue, hash32Schema } from "../protocol/scalars.ts";
import {
  type Insertion,
  type Intent,
  type IntentOutcome,
  type NewIntent,
  recordedIntent,
  type SignedTransactionText,
  StoreError,
} from "./intent.ts";

/** A value of a statement. */
export type SqlValue = string | number | null;

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
  /** Fails unless the database accepts writes now. */
  checkWritable(): Promise<void>;
  /** Version of the tables: 0 if there are none yet. @throws {StoreError} If they cannot be made. */
  version(): Promise<number>;
  /** Finishes the statements that are running, then disconnects. May be called again. */
  close(): Promise<void>;
}

/** Bound of a page that is not given one. */
const NO_BOUND = Number.MAX_SAFE_INTEGER;

const COLUMNS = "sequence, key, subject, payload, state, tx_hash, transaction_text, receipt, " +
  "failure_code, failure_message, expires_at_ms, created_at_ms, updated_at_ms";

/** The text of the partial index, so that it is used. */
const UNFINISHED = "state IN ('accepted', 'submitted')";

const SELECT = `SELECT ${COLUMNS} FROM intents WHERE service = ?`;

/** `RETURNING sequence` says whether a row changed: cheaper than reading the row back. */
const SQL = {
  insert: `INSERT INTO intents (service, key, subject, payload, state, tx_hash, transaction_text,
      expires_at_ms, created_at_ms, updated_at_ms)
    VALUES (?, ?, ?, ?, 'accepted', ?, ?, ?, ?, ?)
    ON CONFLICT (service, key) DO NOTHING RETURNING sequence`,
  find: `${SELECT} AND key = ?`,
  listBySubject: `${SELECT} AND subject = ? AND sequence < ? ORDER BY sequence DESC LIMIT ?`,
  listUnfinished: `${SELECT} AND ${UNFINISHED} AND sequence > ? AND updated_at_ms <= ?
    ORDER BY sequence LIMIT ?`,
  countUnfinished: `SELECT count(*) AS count FROM intents
    WHERE service = ? AND ${UNFINISHED} AND created_at_ms < ?`,
  setTransaction: `UPDATE intents
    SET tx_hash = ?, transaction_text = ?, state = 'submitted', updated_at_ms = ?
    WHERE service = ? AND key = ? AND ${UNFINISHED} AND tx_hash IS NOT DISTINCT FROM ?
    RETURNING sequence`,
  noteAttempt: `UPDATE intents
    SET updated_at_ms = ?, state = CASE WHEN tx_hash IS NULL THEN state ELSE 'submitted' END
    WHERE service = ? AND key = ? AND ${UNFINISHED} RETURNING ${COLUMNS}`,
  finish: `UPDATE intents
    SET state = ?, receipt = ?, failure_code = ?, failure_message = ?, updated_at_ms = ?
    WHERE service = ? AND key = ? AND ${UNFINISHED} AND tx_hash IS NOT DISTINCT FROM ?
    RETURNING sequence`,
};

/**
 * Durable intents of one service. A change that a method resolved for survives the death of the
 * process and of the machine. Several processes may share a database: its unique key and its
 * conditional updates decide, never the memory of one process. Nothing is deleted, because a used
 * key stays used: a deposit takes about 1.5 KB of SQLite for ever.
 *
 * Every method throws {@link StoreError} as {@link SqlDriver} does.
 */
export class IntentStore {
  readonly #db: SqlDriver;
  readonly #service: string;

  /** @param service Owner of the intents: those of others in the same database are invisible. */
  constructor(db: SqlDriver, service: string) {
    this.#db = db;
    this.#service = service;
  }

  /** Records an intent unless its key is taken. */
  async insert(intent: NewIntent): Promise<Insertion> {
    const { key, subject, payload, transaction, expiresAtMs, createdAtMs } = intent;
    const { txHash, text } = columnsOf(transaction);
    const times = [expiresAtMs, createdAtMs, createdAtMs];
    const values = [this.#service, key, subject, payload, txHash, text, ...times];
    const [row] = await this.#db.write(SQL.insert, values);
    if (row === undefined) return { inserted: false, intent: await this.#existing(key) };
    const { sequence } = parseRow(sequenceSchema, row);
    return { inserted: true, intent: recordedIntent(intent, sequence) };
  }

  /** The intent with a key. */
  async find(key: string): Promise<Intent | undefined> {
    const [row] = await this.#db.read(SQL.find, [this.#service, key]);
    return row === undefined ? undefined : intentOfRow(row);
  }

  /** A subject's intents, newest first, `sequence` below `before` if given. */
  async listBySubject(
    subject: string,
    { limit, before = NO_BOUND }: { limit: number; before?: number },
  ): Promise<Intent[]> {
    const rows = await this.#db.read(SQL.listBySubject, [this.#service, subject, before, limit]);
    return rows.map(intentOfRow);
  }

  /** Unfinished intents, oldest first, `sequence` above `after`, unchanged since a time. */
  async listUnfinished(
    { limit, after, updatedAtMostMs }: { limit: number; after: number; updatedAtMostMs: number },
  ): Promise<Intent[]> {
    const values = [this.#service, after, updatedAtMostMs, limit];
    return (await this.#db.read(SQL.listUnfinished, values)).map(intentOfRow);
  }

  /** Number of unfinished intents, those created before a time if given. */
  async countUnfinished(createdBeforeMs: number = NO_BOUND): Promise<number> {
    const [row] = await this.#db.read(SQL.countUnfinished, [this.#service, createdBeforeMs]);
    return countOfRow(row);
  }

  /**
   * Gives an unfinished intent its transaction, in place of the one it was read with if any, and
   * makes it `submitted`.
   *
   * @returns The intent as it is now: if another process was first, with its transaction.
   */
  async setTransaction(
    intent: Intent,
    transaction: SignedTransactionText,
    nowMs: number,
  ): Promise<Intent> {
    const { txHash, text } = transaction;
    const values = [txHash, text, nowMs, ...this.#versionRead(intent)];
    const [row] = await this.#db.write(SQL.setTransaction, values);
    if (row === undefined) return await this.#existing(intent.key);
    return { ...intent, transaction, state: "submitted", updatedAtMs: nowMs };
  }

  /**
   * Records that an attempt ended without an answer: an unfinished intent that has a transaction
   * becomes `submitted`.
   */
  async noteAttempt(key: string, nowMs: number): Promise<Intent> {
    const [row] = await this.#db.write(SQL.noteAttempt, [nowMs, this.#service, key]);
    return row === undefined ? await this.#existing(key) : intentOfRow(row);
  }

  /**
   * Gives an unfinished intent its final state, if it still has the transaction it was read with.
   *
   * @returns The intent as it is now: the first final state stays.
   */
  async finish(intent: Intent, outcome: IntentOutcome, nowMs: number): Promise<Intent> {
    const { state, receipt, failure } = outcome;
    const reason = [failure?.code ?? null, failure?.message ?? null];
    const values = [state, receipt, ...reason, nowMs, ...this.#versionRead(intent)];
    const [row] = await this.#db.write(SQL.finish, values);
    if (row === undefined) return await this.#existing(intent.key);
    return { ...intent, ...outcome, updatedAtMs: nowMs };
  }

  /** Fails unless the store accepts writes now. */
  check(): Promise<void> {
    return this.#db.checkWritable();
  }

  /** Finishes what is running, then disconnects. */
  close(): Promise<void> {
    return this.#db.close();
  }

  /** The values that a conditional update compares: it changes nothing if they differ by now. */
  #versionRead(intent: Intent): SqlValue[] {
    return [this.#service, intent.key, columnsOf(intent.transaction).txHash];
  }

  async #existing(key: string): Promise<Intent> {
    const intent = await this.find(key);
    if (intent === undefined) throw new StoreError(`No intent has the key ${key}`);
    return intent;
  }
}

function columnsOf(transaction: SignedTransactionText | null) {
  return transaction ?? { txHash: null, text: null };
}

/** A 64-bit integer: SQLite returns a number, PostgreSQL text. */
const integerSchema = z.coerce.number().int();

const sequenceSchema = z.object({ sequence: integerSchema });

const countSchema = z.object({ count: integerSchema });

const intentSchema = z.object({
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

function intentOfRow(row: unknown): Intent {
  return parseRow(intentSchema, row);
}

/** Reads the one row of `SELECT … AS count`. */
export function countOfRow(row: unknown): number {
  return parseRow(countSchema, row).count;
}

function parseRow<S extends z.ZodType>(schema: S, row: unknown): z.output<S> {
  const parsed = schema.safeParse(row);
  if (parsed.success) return parsed.data;
  throw new StoreError(`Database has a damaged row: ${describeIssue(parsed.error)}`);
}
