import { cutPage } from "../http/page_query.ts";
import { serviceLog } from "../log/logging.ts";
import { DamagedRows } from "./damaged_rows.ts";
import { ServiceRecords } from "./service_records.ts";
import { StoreConnectionLostError, StoreDamagedError, StoreError } from "./errors.ts";
import {
  acceptedIntent,
  type InFlight,
  type InsertResult,
  type Intent,
  type IntentFailure,
  type IntentOutcome,
  type IntentState,
  isFinal,
  isSameIntent,
  type NewIntent,
  type SignedTransactionText,
} from "./intent.ts";
import {
  countOfRow,
  parseRow,
  sequenceOfRow,
  type SqlDriver,
  type SqlSteps,
  type SqlValue,
} from "./database.ts";
import {
  insertStatement,
  INTENT_SQL,
  intentOfRow,
  otherSchema,
  probeStatements,
  stateAndKeysSchema,
  turnStatement,
  UNFINISHED,
  updateStatement,
} from "./intent_rows.ts";

interface UnfinishedQuery {
  limit: number;
  /** Sequence above which the intents are. */
  after: number;
  nowMs: number;
  unchangedForMs: number;
}

/** Stands for no upper bound. */
const NO_BOUND = Number.MAX_SAFE_INTEGER;

/**
 * Durable intents of one service. Once a method resolves, its change survives a crash of the
 * process and of the machine. Several processes may share a database: a unique key and conditional
 * updates resolve their races. A used key stays used until the intent is deleted
 * ({@link deleteFinished}).
 *
 * Every method throws {@link StoreError} as {@link SqlDriver} does.
 */
export class IntentStore implements AsyncDisposable {
  readonly records: ServiceRecords;
  readonly damaged: DamagedRows;
  readonly db: SqlDriver;
  readonly service: string;

  /** @param service Owner of the intents: the store sees no intents of other services. */
  constructor(db: SqlDriver, service: string) {
    this.db = db;
    this.service = service;
    this.records = new ServiceRecords(db, service);
    this.damaged = new DamagedRows(serviceLog(service));
  }

  /**
   * Records an intent unless its key is taken.
   *
   * @param record Records it, if more depends on that: see `ReservationTable`.
   */
  async insert(
    intent: NewIntent,
    record: () => Promise<InsertResult> = () => this.#insertOnce(intent),
  ): Promise<InsertResult> {
    try {
      return await record();
    } catch (thrown) {
      if (!(thrown instanceof StoreConnectionLostError)) throw thrown;
      // The insert may have succeeded. Check with a write: unlike a read, it waits for the standby.
      const found = await this.recordAttempt(intent.key, intent.createdAtMs).catch(() => undefined);
      if (found === undefined || !isSameIntent(found, intent)) throw thrown;
      return { inserted: true, intent: found };
    }
  }

  async #insertOnce(intent: NewIntent): Promise<InsertResult> {
    const accepted = acceptedIntent(intent, 0, false);
    const { sql, values } = insertStatement(this.service, accepted);
    const [row] = await this.db.write(sql, values);
    if (row === undefined) return { inserted: false, intent: await this.get(intent.key) };
    return { inserted: true, intent: { ...accepted, sequence: sequenceOfRow(row) } };
  }

  /**
   * Records an intent that has failed before it was submitted, unless its key is taken.
   * @returns The intent with that key: this one, or the one before it.
   */
  async insertFailed(newIntent: NewIntent, failure: IntentFailure): Promise<Intent> {
    const failed: Intent = { ...acceptedIntent(newIntent, 0, false), state: "failed", failure };
    // In turn with the reservations, so that its sequence cannot hide an earlier one of them.
    const statements = [turnStatement(this.service), insertStatement(this.service, failed)];
    await this.db.transaction(function* (): SqlSteps<void> {
      yield statements;
    });
    return await this.get(newIntent.key);
  }

  /**
   * The state of the intent with a key, if there is one, and which intents are unfinished now, for
   * an `Admission` that decides later. One statement, since most keys are new and need both.
   */
  async findState(key: string): Promise<{ state: IntentState | undefined; inFlight: InFlight }> {
    const values = [this.service, this.service, key, this.service];
    const [row] = await this.db.read(INTENT_SQL.findState, values);
    const { keys, newestSequence, state } = parseRow(stateAndKeysSchema, row);
    const inFlight = { keys, newestSequence: newestSequence ?? 0 };
    return { state: state ?? undefined, inFlight };
  }

  /**
   * Checks that the store accepts writes: records an intent and removes it, in one transaction. A
   * read does not notice a missing standby, nor an update a disk without room for a new row.
   */
  async requireWritable(): Promise<void> {
    const probe = probeStatements(this.service);
    await this.db.transaction(function* (): SqlSteps<void> {
      yield probe;
    });
  }

  /**
   * Verifies rows with a sequence above `after`, oldest first, except those of another service,
   * which does so itself. Damaged ones are reported and left out.
   *
   * @returns The intents of this service, and the sequence of the last row, or 0 after the end.
   */
  async readPage(after: number, limit: number): Promise<{ intents: Intent[]; last: number }> {
    const rows = await this.db.read(INTENT_SQL.list, [this.service, after, limit]);
    const last = rows.length < limit ? 0 : sequenceOfRow(rows.at(-1));
    const own = rows.filter((row) => parseRow(otherSchema, row).is_other === 0);
    return { intents: this.#readAll(own).intents, last };
  }

  /** The intent that was committed last. */
  async findNewestCommitted(): Promise<Intent | undefined> {
    const rows = await this.db.read(INTENT_SQL.newestCommitted, [this.service, this.service]);
    return this.#readAll(rows).intents[0];
  }

  /** Releases the reservation of a finished intent. @returns Whether it had one. */
  async release(key: string): Promise<boolean> {
    const [row] = await this.db.read(INTENT_SQL.find, [this.service, key]);
    const intent = row === undefined ? undefined : this.#read(row);
    if (intent === undefined || !intent.reserved || !isFinal(intent.state)) return false;
    const next = { ...intent, reserved: false };
    return await this.#replace(`reserved = 1 AND NOT (${UNFINISHED})`, intent, next);
  }

  async find(key: string): Promise<Intent | undefined> {
    const [row] = await this.db.read(INTENT_SQL.find, [this.service, key]);
    return row === undefined ? undefined : this.#read(row);
  }

  /** The intent with a key that is known to be used. @throws {StoreError} If it is not. */
  async get(key: string): Promise<Intent> {
    const intent = await this.find(key);
    if (intent === undefined) throw new StoreError(`No intent has the key ${key}`);
    return intent;
  }

  /**
   * A page of a user's intents, newest first, `sequence` below `before` if given. Damaged ones are
   * reported and left out.
   *
   * @returns The intents, and `before` of the next page, or null.
   */
  async listByUser(
    user: string,
    { limit, before = NO_BOUND }: { limit: number; before?: number },
  ): Promise<{ intents: Intent[]; nextCursor: string | null }> {
    const rows = await this.db.read(INTENT_SQL.listByUser, [this.service, user, before, limit + 1]);
    const { items, nextCursor } = cutPage(rows, limit, sequenceOfRow);
    return { intents: this.#readAll(items).intents, nextCursor };
  }

  /**
   * Unfinished intents, oldest first, `sequence` above `after`, whose last change is at least
   * `unchangedForMs` away from now: in the future too, since clocks may be set back. Damaged ones
   * end as `STORE_DAMAGED`.
   */
  async listUnfinished(
    { limit, after, nowMs, unchangedForMs }: UnfinishedQuery,
  ): Promise<Intent[]> {
    const values = [this.service, after, nowMs - unchangedForMs, nowMs + unchangedForMs, limit];
    const rows = await this.db.read(INTENT_SQL.listUnfinished, values);
    const { intents, damaged } = this.#readAll(rows);
    for (const { key, code, message } of damaged) {
      if (key === undefined) continue;
      await this.#change(INTENT_SQL.endDamaged, [code, message, this.service, key]);
    }
    return intents;
  }

  async countUnfinished(createdBeforeMs: number = NO_BOUND): Promise<number> {
    const [row] = await this.db.read(INTENT_SQL.countUnfinished, [this.service, createdBeforeMs]);
    return countOfRow(row);
  }

  /**
   * Sets the transaction of an unfinished intent, replacing the one that it was read with, and
   * makes it `submitted`.
   *
   * @returns The current intent. If another process was first, it has that process's transaction.
   */
  async setTransaction(
    intent: Intent,
    transaction: SignedTransactionText,
    nowMs: number,
  ): Promise<Intent> {
    const next = { ...intent, transaction, state: "submitted" as const, updatedAtMs: nowMs };
    return (await this.#advance(intent, next)).intent;
  }

  /** Records an attempt without an answer: an unfinished intent with a transaction is `submitted`. */
  async recordAttempt(key: string, nowMs: number): Promise<Intent> {
    const [row] = await this.db.write(INTENT_SQL.recordAttempt, [nowMs, this.service, key]);
    return row === undefined ? await this.get(key) : this.#read(row);
  }

  /**
   * Gives an unfinished intent its final state, if it still has the transaction it was read with.
   * A failure releases its reservation.
   *
   * @returns The intent as it is now: the first final state stays. And whether it is this one.
   */
  finish(
    intent: Intent,
    outcome: IntentOutcome,
    nowMs: number,
  ): Promise<{ intent: Intent; wasSetHere: boolean }> {
    const reserved = outcome.state === "committed" && intent.reserved;
    return this.#advance(intent, { ...intent, ...outcome, reserved, updatedAtMs: nowMs });
  }

  /**
   * Replaces the result of an intent that was submitted again, or is gone, after the node or this
   * store was restored from a backup.
   *
   * @returns Whether it was still the intent that was read.
   */
  replaceResult(
    intent: Intent,
    result: IntentOutcome & Pick<Intent, "transaction">,
    nowMs: number,
  ): Promise<boolean> {
    const reserved = result.state === "committed" && intent.reserved;
    const next = { ...intent, ...result, reserved, updatedAtMs: nowMs };
    const condition = isFinal(intent.state) ? "state = 'committed'" : UNFINISHED;
    return this.#replace(condition, intent, next);
  }

  /**
   * Deletes finished intents without a reservation whose last change and deadline are both before
   * `beforeMs`.
   *
   * @returns How many, at most `limit`.
   */
  async deleteFinished({ beforeMs, limit }: { beforeMs: number; limit: number }): Promise<number> {
    const values = [this.service, beforeMs, beforeMs, limit];
    return await this.#change(INTENT_SQL.deleteFinished, values);
  }

  /**
   * Deletes failed intents whose transaction was never signed, due in `[fromMs, beforeMs)`.
   *
   * @returns How many, at most `limit`.
   */
  async deleteUnsent(
    { fromMs, beforeMs, limit }: Record<"fromMs" | "beforeMs" | "limit", number>,
  ): Promise<number> {
    const values = [this.service, fromMs, beforeMs, limit];
    return await this.#change(INTENT_SQL.deleteUnsent, values);
  }

  /** Finishes running statements, then disconnects. */
  close(): Promise<void> {
    return this.db.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** @returns How many rows a statement has changed. */
  async #change(sql: string, values: SqlValue[]): Promise<number> {
    return (await this.db.write(`${sql} RETURNING 1 AS changed`, values)).length;
  }

  /** Changes an unfinished intent. @returns The intent now, and whether this changed it. */
  async #advance(read: Intent, next: Intent): Promise<{ intent: Intent; wasSetHere: boolean }> {
    const wasSetHere = await this.#replace(UNFINISHED, read, next);
    return { intent: wasSetHere ? next : await this.get(read.key), wasSetHere };
  }

  /** Runs an {@link updateStatement}. @returns Whether it changed the intent. */
  async #replace(condition: string, read: Intent, next: Intent): Promise<boolean> {
    const { sql, values } = updateStatement(this.service, condition, read, next);
    return await this.#change(sql, values) > 0;
  }

  /** @throws {StoreDamagedError} If it is not as it was written. */
  #read(row: unknown): Intent {
    const intent = intentOfRow(row, this.service);
    if (!(intent instanceof StoreDamagedError)) return intent;
    this.damaged.report(intent);
    throw intent;
  }

  /** Damaged rows are reported, and the others can still be read. */
  #readAll(rows: readonly unknown[]): { intents: Intent[]; damaged: StoreDamagedError[] } {
    const intents: Intent[] = [];
    const damaged: StoreDamagedError[] = [];
    for (const row of rows) {
      const intent = intentOfRow(row, this.service);
      if (intent instanceof StoreDamagedError) damaged.push(intent);
      else intents.push(intent);
    }
    damaged.forEach((damage) => this.damaged.report(damage));
    return { intents, damaged };
  }
}
