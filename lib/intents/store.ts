import {
  type Insertion,
  type InsertOptions,
  type Intent,
  type IntentOutcome,
  type NewIntent,
  recordedIntent,
  type Reservation,
  type SignedTransactionText,
  StoreConnectionLostError,
  StoreError,
} from "./intent.ts";
import type { Hex } from "../protocol/scalars.ts";
import {
  countOfRow,
  genesisSchema,
  intentOfRow,
  parseRow,
  reservationSchema,
  sequenceSchema,
  sequencesSchema,
  type SqlDriver,
  type SqlValue,
  type Statement,
  type Steps,
} from "./sql.ts";

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
      expires_at_ms, created_at_ms, updated_at_ms, reserved)
    VALUES (?, ?, ?, ?, 'accepted', ?, ?, ?, ?, ?, ?)
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
    SET state = ?, receipt = ?, failure_code = ?, failure_message = ?, updated_at_ms = ?,
      reserved = CASE WHEN CAST(? AS TEXT) = 'failed' THEN 0 ELSE reserved END
    WHERE service = ? AND key = ? AND ${UNFINISHED} AND tx_hash IS NOT DISTINCT FROM ?
    RETURNING sequence`,
  // Takes the row's lock until the transaction ends, whether the row is new or not.
  lockReservations: `INSERT INTO reservation_locks (service) VALUES (?)
    ON CONFLICT (service) DO UPDATE SET service = excluded.service`,
  // One row whatever the number: reading a thousand rows would cost more than the decision.
  reservedSequences: `SELECT string_agg(CAST(sequence AS TEXT), ',') AS sequences
    FROM intents WHERE service = ? AND reserved = 1`,
  reservations: `SELECT sequence, key, payload FROM intents
    WHERE service = ? AND reserved = 1 AND sequence >= ?`,
  listReserved: `${SELECT} AND reserved = 1 AND sequence > ? ORDER BY sequence LIMIT ?`,
  bindChain: `INSERT INTO services (service, genesis) VALUES (?, ?)
    ON CONFLICT (service) DO UPDATE SET genesis = coalesce(services.genesis, excluded.genesis)
    RETURNING genesis`,
  // A transaction without a write would not notice a full disk, nor wait for a standby.
  check: `INSERT INTO services (service, checks) VALUES (?, 1)
    ON CONFLICT (service) DO UPDATE SET checks = services.checks + 1`,
  // Conditions and order of the partial index.
  deleteFinished: `DELETE FROM intents WHERE sequence IN (
    SELECT sequence FROM intents
    WHERE service = ? AND state IN ('committed', 'failed') AND reserved = 0
      AND expires_at_ms < ? AND updated_at_ms < ?
    ORDER BY expires_at_ms LIMIT ?) RETURNING sequence`,
  release: `UPDATE intents SET reserved = 0
    WHERE service = ? AND key = ? AND reserved = 1 AND NOT (${UNFINISHED}) RETURNING sequence`,
};

/**
 * Durable intents of one service. A change that a method resolved for survives the death of the
 * process and of the machine. Several processes may share a database: its unique key and its
 * conditional updates decide, never the memory of one process. A used key stays used until the intent
 * is deleted ({@link deleteFinished}).
 *
 * Every method throws {@link StoreError} as {@link SqlDriver} does.
 */
export class IntentStore {
  readonly #db: SqlDriver;
  readonly #service: string;
  /** Reservations that were held when they were last read, by sequence. */
  #held = new Map<number, Reservation>();

  /** @param service Owner of the intents: those of others in the same database are invisible. */
  constructor(db: SqlDriver, service: string) {
    this.#db = db;
    this.#service = service;
  }

  /** Records an intent unless its key is taken. Throws what `admit` throws. */
  async insert(intent: NewIntent, options: InsertOptions = {}): Promise<Insertion> {
    try {
      return await this.#insertOnce(intent, options);
    } catch (thrown) {
      if (!(thrown instanceof StoreConnectionLostError)) throw thrown;
      // Perhaps only the answer was lost. A read could see what no standby has: a write cannot.
      const found = await this.noteAttempt(intent.key, intent.createdAtMs).catch(() => undefined);
      if (found === undefined || !isSame(found, intent)) throw thrown;
      return { inserted: true, intent: found };
    }
  }

  async #insertOnce(intent: NewIntent, options: InsertOptions): Promise<Insertion> {
    const { key } = intent;
    const { admit } = options;
    if (admit !== undefined) return await this.#insertAdmitted(intent, options, admit);
    const { sql, values } = this.#insertion(intent, options);
    const [row] = await this.#db.write(sql, values);
    if (row === undefined) return { inserted: false, intent: await this.#existing(key) };
    return inserted(intent, row);
  }

  async #insertAdmitted(
    intent: NewIntent,
    options: InsertOptions,
    admit: NonNullable<InsertOptions["admit"]>,
  ): Promise<Insertion> {
    const values = [this.#service];
    const find = { sql: SQL.find, values: [this.#service, intent.key] };
    const lockAndLook = [
      { sql: SQL.lockReservations, values },
      find,
      { sql: SQL.reservedSequences, values },
    ];
    const insertion = this.#insertion(intent, options);
    const readHeld = (row: unknown) => this.#readHeld(row);
    const result = await this.#db.transaction(function* (): Steps<Insertion | Refusal> {
      const [, [existing] = [], [sequences] = []] = yield lockAndLook;
      if (existing !== undefined) return { inserted: false, intent: intentOfRow(existing) };
      const held = yield* readHeld(sequences);
      try {
        admit(held);
      } catch (thrown) {
        return { refusal: thrown }; // Other writes of the same transaction must not fail with it.
      }
      const [[row] = []] = yield [insertion];
      if (row !== undefined) return inserted(intent, row);
      // Another process recorded it without a bound, and so without the lock.
      const [[other] = []] = yield [find];
      return { inserted: false, intent: intentOfRow(other) };
    }).catch((thrown) => {
      // SQLite gives the sequences of a transaction that failed to other intents.
      this.#held.clear();
      throw thrown;
    });
    if ("refusal" in result) throw result.refusal;
    return result;
  }

  /** All reservations that are held. The payload of each is read once. */
  *#readHeld(row: unknown): Steps<Reservation[]> {
    const { sequences: text } = parseRow(sequencesSchema, row);
    const sequences = text === null ? [] : text.split(",").map(Number);
    const known = this.#held;
    let from = Infinity;
    for (const sequence of sequences) {
      if (sequence < from && !known.has(sequence)) from = sequence;
    }
    if (from !== Infinity) {
      const [rows = []] = yield [{ sql: SQL.reservations, values: [this.#service, from] }];
      for (const found of rows) {
        const reservation = parseRow(reservationSchema, found);
        if (!known.has(reservation.sequence)) known.set(reservation.sequence, reservation);
      }
    }
    const held: Reservation[] = [];
    for (const sequence of sequences) {
      const reservation = known.get(sequence);
      if (reservation !== undefined) held.push(reservation);
    }
    if (known.size > held.length) this.#held = new Map(held.map((one) => [one.sequence, one]));
    return held;
  }

  #insertion(intent: NewIntent, { reserves = false }: InsertOptions): Statement {
    const { key, subject, payload, transaction, expiresAtMs, createdAtMs } = intent;
    const { txHash, text } = columnsOf(transaction);
    const times = [expiresAtMs, createdAtMs, createdAtMs];
    const values = [this.#service, key, subject, payload, txHash, text, ...times];
    return { sql: SQL.insert, values: [...values, reserves ? 1 : 0] };
  }

  /** Intents that hold a reservation, oldest first, `sequence` above `after`. */
  async listReserved({ limit, after }: { limit: number; after: number }): Promise<Intent[]> {
    return (await this.#db.read(SQL.listReserved, [this.#service, after, limit])).map(intentOfRow);
  }

  /**
   * Releases the reservation of a finished intent.
   *
   * @returns Whether it held one.
   */
  async release(key: string): Promise<boolean> {
    return (await this.#db.write(SQL.release, [this.#service, key])).length > 0;
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
   * A failure releases its reservation.
   *
   * @returns The intent as it is now: the first final state stays.
   */
  async finish(intent: Intent, outcome: IntentOutcome, nowMs: number): Promise<Intent> {
    const { state, receipt, failure } = outcome;
    const reason = [failure?.code ?? null, failure?.message ?? null];
    const values = [state, receipt, ...reason, nowMs, state, ...this.#versionRead(intent)];
    const [row] = await this.#db.write(SQL.finish, values);
    if (row === undefined) return await this.#existing(intent.key);
    return { ...intent, ...outcome, updatedAtMs: nowMs };
  }

  /**
   * Deletes finished intents without a reservation that last changed, and whose deadline passed,
   * before a time.
   *
   * @returns How many, at most `limit`.
   */
  async deleteFinished({ beforeMs, limit }: { beforeMs: number; limit: number }): Promise<number> {
    const values = [this.#service, beforeMs, beforeMs, limit];
    return (await this.#db.write(SQL.deleteFinished, values)).length;
  }

  /**
   * Gives the store the chain that it belongs to, unless it has one.
   *
   * @param genesis Hash of the first block; null only asks.
   * @returns The chain of the store; null if it has none yet.
   */
  async bindChain(genesis: Hex | null): Promise<Hex | null> {
    const [row] = await this.#db.write(SQL.bindChain, [this.#service, genesis]);
    return parseRow(genesisSchema, row).genesis;
  }

  /** Fails unless the store accepts writes now: it makes one. */
  async check(): Promise<void> {
    await this.#db.write(SQL.check, [this.#service]);
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

/** What `admit` threw. */
interface Refusal {
  refusal: unknown;
}

function inserted(intent: NewIntent, row: unknown): Insertion {
  const { sequence } = parseRow(sequenceSchema, row);
  return { inserted: true, intent: recordedIntent(intent, sequence) };
}

/** Whether a recorded intent is this one, and not another request for the same key. */
function isSame(recorded: Intent, { payload, transaction, createdAtMs }: NewIntent): boolean {
  return recorded.payload === payload && recorded.createdAtMs === createdAtMs &&
    recorded.transaction?.txHash === transaction?.txHash;
}

function columnsOf(transaction: SignedTransactionText | null) {
  return transaction ?? { txHash: null, text: null };
}
