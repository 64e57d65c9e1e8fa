import {
  type Insertion,
  type InsertOptions,
  type Intent,
  type IntentOutcome,
  type IntentState,
  type NewIntent,
  recordedIntent,
  type ReservationBook,
  type SignedTransactionText,
  StoreConnectionLostError,
  StoreError,
  type UnderWay,
} from "./intent.ts";
import type { Hex } from "../protocol/scalars.ts";
import {
  countOfRow,
  genesisSchema,
  intentOfRow,
  lookUpSchema,
  parseRow,
  savedValueSchema,
  sequenceSchema,
  type SqlDriver,
  type SqlValue,
  type Statement,
} from "./sql.ts";
import { keysOf, SharedReservations } from "./shared_reservations.ts";

/** Default `before` bound: no upper limit. */
const NO_BOUND = Number.MAX_SAFE_INTEGER;

const COLUMNS = "sequence, key, subject, payload, state, tx_hash, transaction_text, receipt, " +
  "failure_code, failure_message, expires_at_ms, created_at_ms, updated_at_ms";

/** Must match the partial index's condition literally, or the database does not use the index. */
const UNFINISHED = "state IN ('accepted', 'submitted')";

/**
 * The common part of the updates to a final state. A commit leaves `reserved` alone: setting it, even to
 * the same value, makes the database update its index.
 */
const FINISH = `receipt = ?, failure_code = ?, failure_message = ?, updated_at_ms = ?
    WHERE service = ? AND key = ? AND ${UNFINISHED} AND tx_hash IS NOT DISTINCT FROM ?`;

const SELECT = `SELECT ${COLUMNS} FROM intents WHERE service = ?`;

const SQL = {
  insert: `INSERT INTO intents (service, key, subject, payload, state, tx_hash, transaction_text,
      expires_at_ms, created_at_ms, updated_at_ms, reserved)
    VALUES (?, ?, ?, ?, 'accepted', ?, ?, ?, ?, ?, ?)
    ON CONFLICT (service, key) DO NOTHING RETURNING sequence`,
  find: `${SELECT} AND key = ?`,
  listBySubject: `${SELECT} AND subject = ? AND sequence < ? ORDER BY sequence DESC LIMIT ?`,
  listUnfinished: `${SELECT} AND ${UNFINISHED} AND sequence > ? AND updated_at_ms <= ?
    ORDER BY sequence LIMIT ?`,
  countUnfinished: `SELECT count(*) AS count FROM intents
    WHERE service = ? AND ${UNFINISHED} AND created_at_ms < ?`,
  // The expression keeps the database from an index of services, of which it would read every row.
  lookUp: `SELECT string_agg(key, ',') AS keys,
      (SELECT sequence FROM intents WHERE service || '' = ? ORDER BY sequence DESC LIMIT 1) AS newest,
      (SELECT state FROM intents WHERE service = ? AND key = ?) AS state
    FROM intents WHERE service = ? AND ${UNFINISHED}`,
  setTransaction: `UPDATE intents
    SET tx_hash = ?, transaction_text = ?, state = 'submitted', updated_at_ms = ?
    WHERE service = ? AND key = ? AND ${UNFINISHED} AND tx_hash IS NOT DISTINCT FROM ?`,
  recordAttempt: `UPDATE intents
    SET updated_at_ms = ?, state = CASE WHEN tx_hash IS NULL THEN state ELSE 'submitted' END
    WHERE service = ? AND key = ? AND ${UNFINISHED} RETURNING ${COLUMNS}`,
  commit: `UPDATE intents SET state = 'committed', ${FINISH}`,
  fail: `UPDATE intents SET state = 'failed', reserved = 0, ${FINISH}`,
  listReserved: `${SELECT} AND reserved = 1 AND sequence > ? ORDER BY sequence LIMIT ?`,
  bindChain: `INSERT INTO services (service, genesis) VALUES (?, ?)
    ON CONFLICT (service) DO UPDATE SET genesis = coalesce(services.genesis, excluded.genesis)
    RETURNING genesis`,
  // Writes on purpose: a read would not detect a full disk or a missing standby.
  check: `INSERT INTO services (service, checks) VALUES (?, 1)
    ON CONFLICT (service) DO UPDATE SET checks = services.checks + 1`,
  saveValue: `INSERT INTO saved_values (service, name, value, saved_at_ms) VALUES (?, ?, ?, ?)
    ON CONFLICT (service, name) DO UPDATE
    SET value = excluded.value, saved_at_ms = excluded.saved_at_ms`,
  savedValue: "SELECT value, saved_at_ms FROM saved_values WHERE service = ? AND name = ?",
  // Conditions and order of the partial index.
  deleteFinished: `DELETE FROM intents WHERE sequence IN (
    SELECT sequence FROM intents
    WHERE service = ? AND state IN ('committed', 'failed') AND reserved = 0
      AND expires_at_ms < ? AND updated_at_ms < ?
    ORDER BY expires_at_ms LIMIT ?)`,
  release: `UPDATE intents SET reserved = 0
    WHERE service = ? AND key = ? AND reserved = 1 AND NOT (${UNFINISHED})`,
};

/**
 * Durable intents of one service. Once a method resolves, its change survives a crash of the
 * process and of the machine. Several processes may share a database: its unique key and its
 * conditional updates resolve races between them. A used key stays used until the intent
 * is deleted ({@link deleteFinished}).
 *
 * Every method throws {@link StoreError} as {@link SqlDriver} does.
 */
export class IntentStore {
  readonly #db: SqlDriver;
  readonly #service: string;
  readonly #reservations: SharedReservations;

  /** @param service Owner of the intents: the store sees no intents of other services. */
  constructor(db: SqlDriver, service: string) {
    this.#db = db;
    this.#service = service;
    this.#reservations = new SharedReservations(db, service);
  }

  /** Records an intent unless its key is taken. Throws what the admission's `decide` throws. */
  async insert(intent: NewIntent, options: InsertOptions = {}): Promise<Insertion> {
    try {
      return await this.#insertOnce(intent, options);
    } catch (thrown) {
      if (!(thrown instanceof StoreConnectionLostError)) throw thrown;
      // The insert may have succeeded. Check with a write: unlike a read, it waits for the standby.
      const found = await this.recordAttempt(intent.key, intent.createdAtMs).catch(() => undefined);
      if (found === undefined || !isSame(found, intent)) throw thrown;
      return { inserted: true, intent: found };
    }
  }

  async #insertOnce(intent: NewIntent, options: InsertOptions): Promise<Insertion> {
    const { key } = intent;
    const insertion = this.#insertion(intent, options);
    const { admission } = options;
    if (admission !== undefined) {
      const find = { sql: SQL.find, values: [this.#service, key] };
      return await this.#reservations.insert({ intent, insertion, find, admission });
    }
    const [row] = await this.#db.write(insertion.sql, insertion.values);
    if (row === undefined) return { inserted: false, intent: await this.get(key) };
    const { sequence } = parseRow(sequenceSchema, row);
    return { inserted: true, intent: recordedIntent(intent, sequence) };
  }

  #insertion(intent: NewIntent, { reserves = false }: InsertOptions): Statement {
    const { key, subject, payload, transaction, expiresAtMs, createdAtMs } = intent;
    const { txHash, text } = columnsOf(transaction);
    const times = [expiresAtMs, createdAtMs, createdAtMs];
    const values = [this.#service, key, subject, payload, txHash, text, ...times];
    return { sql: SQL.insert, values: [...values, reserves ? 1 : 0] };
  }

  /**
   * The state of the intent with a key, if there is one, and which intents are unfinished now, for an
   * {@link Admission} that decides later. One statement, since most keys are new and need both.
   */
  async lookUp(key: string): Promise<{ state: IntentState | undefined; underWay: UnderWay }> {
    const values = [this.#service, this.#service, key, this.#service];
    const [row] = await this.#db.read(SQL.lookUp, values);
    const { keys, newest, state } = parseRow(lookUpSchema, row);
    return { state: state ?? undefined, underWay: { keys: keysOf(keys), newest: newest ?? 0 } };
  }

  /** Makes a book count exactly the reservations in the database. */
  refreshReservations(book: ReservationBook): Promise<void> {
    return this.#reservations.refresh(book);
  }

  /** Intents with a reservation, oldest first, `sequence` above `after`. */
  async listReserved({ limit, after }: { limit: number; after: number }): Promise<Intent[]> {
    return (await this.#db.read(SQL.listReserved, [this.#service, after, limit])).map(intentOfRow);
  }

  /**
   * Releases the reservation of a finished intent.
   *
   * @returns Whether it had one.
   */
  async release(key: string): Promise<boolean> {
    return await this.#db.change(SQL.release, [this.#service, key]) > 0;
  }

  /** The intent with a key, if there is one. */
  async find(key: string): Promise<Intent | undefined> {
    const [row] = await this.#db.read(SQL.find, [this.#service, key]);
    return row === undefined ? undefined : intentOfRow(row);
  }

  /** The intent with a key that is known to be used. @throws {StoreError} If it is not. */
  async get(key: string): Promise<Intent> {
    const intent = await this.find(key);
    if (intent === undefined) throw new StoreError(`No intent has the key ${key}`);
    return intent;
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
   * @returns The current intent. If another process was first, it has that process's transaction.
   */
  async setTransaction(
    intent: Intent,
    transaction: SignedTransactionText,
    nowMs: number,
  ): Promise<Intent> {
    const { txHash, text } = transaction;
    const values = [txHash, text, nowMs, ...this.#versionRead(intent)];
    const changed = await this.#db.change(SQL.setTransaction, values);
    if (changed === 0) return await this.get(intent.key);
    return { ...intent, transaction, state: "submitted", updatedAtMs: nowMs };
  }

  /**
   * Records that an attempt ended without an answer: an unfinished intent that has a transaction
   * becomes `submitted`.
   */
  async recordAttempt(key: string, nowMs: number): Promise<Intent> {
    const [row] = await this.#db.write(SQL.recordAttempt, [nowMs, this.#service, key]);
    return row === undefined ? await this.get(key) : intentOfRow(row);
  }

  /**
   * Gives an unfinished intent its final state, if it still has the transaction it was read with.
   * A failure releases its reservation.
   *
   * @returns The intent as it is now: the first final state stays.
   */
  async finish(intent: Intent, outcome: IntentOutcome, nowMs: number): Promise<Intent> {
    const { state, receipt, failure } = outcome;
    const reason = [failure?.code ?? null, failure?.message ?? null];
    const values = [receipt, ...reason, nowMs, ...this.#versionRead(intent)];
    const sql = state === "committed" ? SQL.commit : SQL.fail;
    if (await this.#db.change(sql, values) === 0) return await this.get(intent.key);
    return { ...intent, ...outcome, updatedAtMs: nowMs };
  }

  /**
   * Deletes finished intents without a reservation whose last change and deadline are both before
   * `beforeMs`.
   *
   * @returns How many, at most `limit`.
   */
  async deleteFinished({ beforeMs, limit }: { beforeMs: number; limit: number }): Promise<number> {
    const values = [this.#service, beforeMs, beforeMs, limit];
    return await this.#db.change(SQL.deleteFinished, values);
  }

  /**
   * Binds the store to a chain, unless it is already bound.
   *
   * @param genesis Hash of the first block; null reads the binding without setting it.
   * @returns The chain of the store; null if it has none yet.
   */
  async bindChain(genesis: Hex | null): Promise<Hex | null> {
    const [row] = await this.#db.write(SQL.bindChain, [this.#service, genesis]);
    return parseRow(genesisSchema, row).genesis;
  }

  /** Checks that the store accepts writes, by making one. */
  async check(): Promise<void> {
    await this.#db.change(SQL.check, [this.#service]);
  }

  /** Saves a value of the service under a name, and replaces the previous one. */
  async saveValue(name: string, value: string, nowMs: number): Promise<void> {
    await this.#db.change(SQL.saveValue, [this.#service, name, value, nowMs]);
  }

  /** The value saved under a name, and the time it was saved. */
  async savedValue(name: string): Promise<{ value: string; savedAtMs: number } | undefined> {
    const [row] = await this.#db.read(SQL.savedValue, [this.#service, name]);
    return row === undefined ? undefined : parseRow(savedValueSchema, row);
  }

  /** Finishes what is running, then disconnects. */
  close(): Promise<void> {
    return this.#db.close();
  }

  /** WHERE values of a conditional update: it changes nothing if the row was modified meanwhile. */
  #versionRead(intent: Intent): SqlValue[] {
    return [this.#service, intent.key, columnsOf(intent.transaction).txHash];
  }
}

/** Whether a recorded intent is this one, and not another request for the same key. */
function isSame(recorded: Intent, { payload, transaction, createdAtMs }: NewIntent): boolean {
  return recorded.payload === payload && recorded.createdAtMs === createdAtMs &&
    recorded.transaction?.txHash === transaction?.txHash;
}

function columnsOf(transaction: SignedTransactionText | null) {
  return transaction ?? { txHash: null, text: null };
}
