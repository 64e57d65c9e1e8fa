import {
  asStoreError,
  type Insertion,
  type InsertOptions,
  type Intent,
  type IntentOutcome,
  type IntentState,
  isFinal,
  type NewIntent,
  recordedIntent,
  type ReservationBook,
  type SignedTransactionText,
  StoreConnectionLostError,
  StoreDamagedError,
  StoreError,
  type UnderWay,
} from "./intent.ts";
import {
  checksumOf,
  countOfRow,
  INTENT_COLUMNS,
  intentOfRow,
  lookUpSchema,
  memoryChecksum,
  memoryOfRow,
  parseRow,
  savedValueSchema,
  sequenceSchema,
  type SqlDriver,
  type SqlValue,
  type Statement,
  type Steps,
  type StoreMemory,
  valueChecksum,
} from "./sql.ts";
import { keysOf, SharedReservations } from "./shared_reservations.ts";

/** Default `before` bound: no upper limit. */
const NO_BOUND = Number.MAX_SAFE_INTEGER;

/** Must match the partial index's condition literally, or the database does not use the index. */
const UNFINISHED = "state IN ('accepted', 'submitted')";

/** Changes an intent, if it still has the transaction it was read with and fits a further condition. */
const CHANGE = `UPDATE intents SET state = ?, tx_hash = ?, transaction_text = ?, receipt = ?,
    failure_code = ?, failure_message = ?, failure_details = ?, reserved = ?, updated_at_ms = ?,
    checksum = ?
  WHERE service = ? AND key = ? AND tx_hash IS NOT DISTINCT FROM ?`;

const SELECT = `SELECT ${INTENT_COLUMNS} FROM intents WHERE service = ?`;

const SQL = {
  insert: `INSERT INTO intents (service, key, subject, payload, state, tx_hash, transaction_text,
      expires_at_ms, created_at_ms, updated_at_ms, reserved, checksum)
    VALUES (?, ?, ?, ?, 'accepted', ?, ?, ?, ?, ?, ?, ?)
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
  changeUnfinished: `${CHANGE} AND ${UNFINISHED}`,
  changeCommitted: `${CHANGE} AND state = 'committed'`,
  changeReserved: `${CHANGE} AND reserved = 1 AND NOT (${UNFINISHED})`,
  recordAttempt: `UPDATE intents
    SET updated_at_ms = ?, state = CASE WHEN tx_hash IS NULL THEN state ELSE 'submitted' END
    WHERE service = ? AND key = ? AND ${UNFINISHED} RETURNING ${INTENT_COLUMNS}`,
  // Writes on purpose: a read would not detect a full disk or a missing standby.
  check: `INSERT INTO services (service, checks) VALUES (?, 1)
    ON CONFLICT (service) DO UPDATE SET checks = services.checks + 1`,
  // Takes the row's lock until the transaction ends, whether the row is new or not.
  readMemory: `INSERT INTO services (service) VALUES (?)
    ON CONFLICT (service) DO UPDATE SET service = excluded.service
    RETURNING genesis, signer, highest_block, checksum`,
  writeMemory: `UPDATE services SET genesis = ?, signer = ?, highest_block = ?, checksum = ?
    WHERE service = ?`,
  saveValue: `INSERT INTO saved_values (service, name, value, saved_at_ms, checksum)
    VALUES (?, ?, ?, ?, ?) ON CONFLICT (service, name) DO UPDATE
    SET value = excluded.value, saved_at_ms = excluded.saved_at_ms, checksum = excluded.checksum`,
  savedValue: "SELECT * FROM saved_values WHERE service = ? AND name = ?",
  // Conditions and order of the partial index.
  deleteFinished: `DELETE FROM intents WHERE sequence IN (
    SELECT sequence FROM intents
    WHERE service = ? AND state IN ('committed', 'failed') AND reserved = 0
      AND expires_at_ms < ? AND updated_at_ms < ?
    ORDER BY expires_at_ms LIMIT ?)`,
  // The expression keeps the database from an index of services, of which it would read every row.
  newestCommitted: `SELECT ${INTENT_COLUMNS} FROM intents
    WHERE service || '' = ? AND state = 'committed' ORDER BY sequence DESC LIMIT 1`,
  // Of all services: a row whose service has changed is nobody's.
  list: `SELECT ${INTENT_COLUMNS} FROM intents WHERE sequence > ? ORDER BY sequence LIMIT ?`,
  // Its checksum stays wrong, so that every further read reports it.
  endDamaged: `UPDATE intents
    SET state = 'failed', reserved = 0, failure_code = ?, failure_message = ?
    WHERE service = ? AND key = ? AND ${UNFINISHED}`,
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
  readonly #onDamage: (damage: StoreDamagedError) => void;

  /**
   * @param service Owner of the intents: the store sees no intents of other services.
   * @param onDamage Called with each damaged row that is read.
   */
  constructor(
    db: SqlDriver,
    service: string,
    onDamage: (damage: StoreDamagedError) => void = () => {},
  ) {
    this.#db = db;
    this.#service = service;
    this.#reservations = new SharedReservations(db, service);
    this.#onDamage = onDamage;
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

  async #insertOnce(
    given: NewIntent,
    { admission, reserves: reserved = false }: InsertOptions,
  ): Promise<Insertion> {
    const intent = { ...given, reserved };
    const { key } = intent;
    const insertion = this.#insertion(intent);
    if (admission !== undefined) {
      const find = { sql: SQL.find, values: [this.#service, key] };
      return await this.#reservations.insert({ intent, insertion, find, admission });
    }
    const [row] = await this.#db.write(insertion.sql, insertion.values);
    if (row === undefined) return { inserted: false, intent: await this.get(key) };
    const { sequence } = parseRow(sequenceSchema, row);
    return { inserted: true, intent: recordedIntent(intent, sequence) };
  }

  #insertion(intent: NewIntent & { reserved: boolean }): Statement {
    const { key, subject, payload, transaction, expiresAtMs, createdAtMs, reserved } = intent;
    const { txHash, text } = columnsOf(transaction);
    const times = [expiresAtMs, createdAtMs, createdAtMs];
    const values = [this.#service, key, subject, payload, txHash, text, ...times];
    const checksum = checksumOf(this.#service, recordedIntent(intent, 0));
    return { sql: SQL.insert, values: [...values, reserved ? 1 : 0, checksum] };
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

  /**
   * Verifies the rows of all services with a sequence above `after`, oldest first. Damaged ones are
   * reported and left out.
   *
   * @returns The intents of this service, and the sequence of the last row, or 0 after the end.
   */
  async page(after: number, limit: number): Promise<{ intents: Intent[]; last: number }> {
    const rows = await this.#db.read(SQL.list, [after, limit]);
    const last = rows.length < limit ? 0 : parseRow(sequenceSchema, rows.at(-1)).sequence;
    const { own = [], others = [] } = Object.groupBy(
      rows,
      (row) => Object(row).service === this.#service ? "own" : "others",
    );
    this.#readAll(others);
    return { intents: this.#readAll(own), last };
  }

  /** The newest committed intent, if there is one. */
  async newestCommitted(): Promise<Intent | undefined> {
    const rows = await this.#db.read(SQL.newestCommitted, [this.#service]);
    return this.#readAll(rows)[0];
  }

  /**
   * Releases the reservation of a finished intent.
   *
   * @returns Whether it had one.
   */
  async release(key: string): Promise<boolean> {
    const [row] = await this.#db.read(SQL.find, [this.#service, key]);
    const intent = row === undefined ? undefined : this.#read(row);
    if (intent === undefined || !intent.reserved || !isFinal(intent.state)) return false;
    return await this.#replace(SQL.changeReserved, intent, { ...intent, reserved: false });
  }

  /** The intent with a key, if there is one. */
  async find(key: string): Promise<Intent | undefined> {
    const [row] = await this.#db.read(SQL.find, [this.#service, key]);
    return row === undefined ? undefined : this.#read(row);
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
    return rows.map((row) => this.#read(row));
  }

  /**
   * Unfinished intents, oldest first, `sequence` above `after`, unchanged since a time. Damaged ones end
   * as `STORE_DAMAGED`.
   */
  async listUnfinished(
    { limit, after, updatedAtMostMs }: { limit: number; after: number; updatedAtMostMs: number },
  ): Promise<Intent[]> {
    const values = [this.#service, after, updatedAtMostMs, limit];
    const damaged: StoreDamagedError[] = [];
    const rows = await this.#db.read(SQL.listUnfinished, values);
    const intents = this.#readAll(rows, (damage) => damaged.push(damage));
    for (const { key, code, message } of damaged) {
      if (key === undefined) continue;
      await this.#change(SQL.endDamaged, [code, message, this.#service, key]);
    }
    return intents;
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
  setTransaction(
    intent: Intent,
    transaction: SignedTransactionText,
    nowMs: number,
  ): Promise<Intent> {
    const next = { ...intent, transaction, state: "submitted" as const, updatedAtMs: nowMs };
    return this.#advance(intent, next);
  }

  /**
   * Records that an attempt ended without an answer: an unfinished intent that has a transaction
   * becomes `submitted`.
   */
  async recordAttempt(key: string, nowMs: number): Promise<Intent> {
    const [row] = await this.#db.write(SQL.recordAttempt, [nowMs, this.#service, key]);
    return row === undefined ? await this.get(key) : this.#read(row);
  }

  /**
   * Gives an unfinished intent its final state, if it still has the transaction it was read with.
   * A failure releases its reservation.
   *
   * @returns The intent as it is now: the first final state stays.
   */
  finish(intent: Intent, outcome: IntentOutcome, nowMs: number): Promise<Intent> {
    const reserved = outcome.state === "committed" && intent.reserved;
    return this.#advance(intent, { ...intent, ...outcome, reserved, updatedAtMs: nowMs });
  }

  /**
   * Replaces the result of a committed intent after the node was restored from a backup: it was submitted
   * again, or it is gone.
   *
   * @returns Whether it was still the intent that was read.
   */
  replaceCommitted(
    intent: Intent,
    result: IntentOutcome & Pick<Intent, "transaction">,
    nowMs: number,
  ): Promise<boolean> {
    const reserved = result.state === "committed" && intent.reserved;
    const next = { ...intent, ...result, reserved, updatedAtMs: nowMs };
    return this.#replace(SQL.changeCommitted, intent, next);
  }

  /**
   * Deletes finished intents without a reservation whose last change and deadline are both before
   * `beforeMs`.
   *
   * @returns How many, at most `limit`.
   */
  async deleteFinished({ beforeMs, limit }: { beforeMs: number; limit: number }): Promise<number> {
    const values = [this.#service, beforeMs, beforeMs, limit];
    return await this.#change(SQL.deleteFinished, values);
  }

  /**
   * Remembers what a service has learned: a chain and a key if there are none yet, and a higher block.
   *
   * @param learned `resetBlock` replaces the highest block, also by a lower one.
   * @returns What the store remembers now.
   */
  async remember(
    learned: Partial<StoreMemory> & { resetBlock?: number } = {},
  ): Promise<StoreMemory> {
    const service = this.#service;
    // Not thrown inside the transaction, which may be part of a batch.
    const result = await this.#db.transaction(function* (): Steps<StoreMemory | StoreError> {
      const [[row] = []] = yield [{ sql: SQL.readMemory, values: [service] }];
      let known: StoreMemory;
      try {
        known = memoryOfRow(row);
      } catch (thrown) {
        return asStoreError(thrown);
      }
      const genesis = known.genesis ?? learned.genesis ?? null;
      const signer = known.signer ?? learned.signer ?? null;
      const highestBlock = learned.resetBlock ??
        Math.max(known.highestBlock, learned.highestBlock ?? 0);
      const next = { genesis, signer, highestBlock };
      if (memoryChecksum(next) === memoryChecksum(known)) return known;
      const values = [genesis, signer, highestBlock, memoryChecksum(next), service];
      yield [{ sql: SQL.writeMemory, values }];
      return next;
    });
    if (result instanceof StoreError) throw result;
    return result;
  }

  /** Checks that the store accepts writes, by making one. */
  async check(): Promise<void> {
    await this.#change(SQL.check, [this.#service]);
  }

  /** Saves a value of the service under a name, and replaces the previous one. */
  async saveValue(name: string, value: string, nowMs: number): Promise<void> {
    const checksum = valueChecksum(name, value, nowMs);
    await this.#change(SQL.saveValue, [this.#service, name, value, nowMs, checksum]);
  }

  /** The value saved under a name, and the time it was saved. A damaged one counts as missing. */
  async savedValue(name: string): Promise<{ value: string; savedAtMs: number } | undefined> {
    const [row] = await this.#db.read(SQL.savedValue, [this.#service, name]);
    if (row === undefined) return undefined;
    const { value, saved_at_ms: savedAtMs, checksum } = parseRow(savedValueSchema, row);
    return checksum === valueChecksum(name, value, savedAtMs) ? { value, savedAtMs } : undefined;
  }

  /** Finishes what is running, then disconnects. */
  close(): Promise<void> {
    return this.#db.close();
  }

  /** @returns How many rows a statement has changed. */
  async #change(sql: string, values: SqlValue[]): Promise<number> {
    return (await this.#db.write(`${sql} RETURNING 1 AS changed`, values)).length;
  }

  /** Changes an unfinished intent. @returns The intent as it is now. */
  async #advance(read: Intent, next: Intent): Promise<Intent> {
    const isChanged = await this.#replace(SQL.changeUnfinished, read, next);
    return isChanged ? next : await this.get(read.key);
  }

  /** @returns False if it was changed since it was read. */
  async #replace(sql: string, read: Intent, next: Intent): Promise<boolean> {
    const { state, transaction, receipt, failure, reserved, updatedAtMs } = next;
    const { txHash, text } = columnsOf(transaction);
    const { code = null, message = null, details } = failure ?? {};
    const reason = [code, message, details === undefined ? null : JSON.stringify(details)];
    const values = [state, txHash, text, receipt, ...reason, reserved ? 1 : 0, updatedAtMs];
    const where = [this.#service, read.key, columnsOf(read.transaction).txHash];
    return await this.#change(sql, [...values, checksumOf(this.#service, next), ...where]) > 0;
  }

  /** @throws {StoreDamagedError} If it is not as it was written. */
  #read(row: unknown): Intent {
    try {
      return intentOfRow(row);
    } catch (thrown) {
      if (thrown instanceof StoreDamagedError) this.#onDamage(thrown);
      throw thrown;
    }
  }

  /** Leaves out damaged rows: they must not keep the others from being read. */
  #readAll(rows: unknown[], onDamage: (damage: StoreDamagedError) => void = () => {}): Intent[] {
    return rows.flatMap((row) => {
      try {
        return [this.#read(row)];
      } catch (thrown) {
        if (!(thrown instanceof StoreDamagedError)) throw thrown;
        onDamage(thrown);
        return [];
      }
    });
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
