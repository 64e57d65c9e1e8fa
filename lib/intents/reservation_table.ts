import { Batches } from "./batches.ts";
import { StoreDamagedError, StoreError } from "./errors.ts";
import {
  acceptedIntent,
  type Admission,
  type InsertResult,
  type Intent,
  type NewIntent,
  type ReservationBook,
} from "./intent.ts";
import { keysSchema, parseRow, sequenceOfRow, type SqlSteps } from "./database.ts";
import {
  insertStatement,
  INTENT_COLUMNS,
  INTENT_SQL,
  intentOfRow,
  turnStatement,
  UNFINISHED,
  UNINDEXED_SERVICE,
} from "./intent_rows.ts";
import type { IntentStore } from "./store.ts";

/** Maximum intents per transaction: a large batch would hold the row lock too long. */
const INTENTS_PER_TRANSACTION = 100;

const SQL = {
  newer: `SELECT ${INTENT_COLUMNS} FROM intents
    WHERE service = ? AND reserved = 1 AND sequence > ? ORDER BY sequence`,
  known: `SELECT 1 AS known FROM intents WHERE service = ? AND key = ? AND sequence = ?`,
  one: `SELECT ${INTENT_COLUMNS} FROM intents WHERE service = ? AND key = ? AND reserved = 1`,
  // Aggregated into one row: reading thousands of rows would cost more than the decisions.
  keys: `SELECT string_agg(key, ',') AS keys FROM intents WHERE service = ? AND reserved = 1`,
  inFlight: `SELECT string_agg(key, ',') AS keys FROM (
    SELECT key FROM intents WHERE service = ? AND ${UNFINISHED}
    UNION ALL SELECT key FROM intents WHERE ${UNINDEXED_SERVICE} = ? AND sequence > ?) AS recent`,
};

/** No reservation was read or made. */
const NONE = { key: "", sequence: 0 };

const INTENT_MISSING =
  "The store counted the reservation but has no intent: send the same request again";

type AdmissionResult = InsertResult | { error: unknown };

interface AdmissionRequest {
  intent: NewIntent;
  admission: Admission;
  /** Undefined until it is decided or found. */
  result?: AdmissionResult;
}

/**
 * Records intents whose reservations fit into a bound that all processes of a service share. A row
 * that each transaction locks makes the processes take turns. In its turn, a process reads the
 * reservations that others have made since its last turn, and decides about all waiting intents.
 * Releases by other processes are read before a refusal.
 */
export class ReservationTable {
  readonly #store: Pick<IntentStore, "db" | "insert" | "service">;
  readonly #book: ReservationBook;
  readonly #batches: Batches<AdmissionRequest, AdmissionResult>;
  /** The newest reservation that was read or made. */
  #newest: Pick<Intent, "key" | "sequence"> = NONE;

  /** @param book Counts the reservations of all processes; no other table reads them into it. */
  constructor(store: Pick<IntentStore, "db" | "insert" | "service">, book: ReservationBook) {
    this.#store = store;
    this.#book = book;
    this.#batches = new Batches(INTENTS_PER_TRANSACTION, (take) => this.#insertBatch(take));
  }

  /**
   * Records an intent unless its key is taken. It then has a reservation until it fails or is
   * released. Throws what `decide` throws.
   */
  insert(intent: NewIntent, admission: Admission): Promise<InsertResult> {
    return this.#store.insert(intent, async () => {
      const result = await this.#batches.add({ intent, admission });
      if ("error" in result) throw result.error;
      return result;
    });
  }

  /** Makes the book count exactly the reservations in the database. */
  refresh(): Promise<void> {
    return this.#store.db.transaction(() => this.#refresh());
  }

  async #insertBatch(take: () => AdmissionRequest[]): Promise<AdmissionResult[]> {
    let batch: AdmissionRequest[] = [];
    try {
      return await this.#store.db.transaction(() => this.#record(batch = take()));
    } catch (thrown) {
      // The transaction rolled back, and SQLite may reuse its sequence numbers: read all rows.
      for (const { intent } of batch) this.#book.release(intent.key);
      this.#newest = NONE;
      throw thrown;
    }
  }

  *#record(batch: readonly AdmissionRequest[]): SqlSteps<AdmissionResult[]> {
    const inFlight = yield* this.#takeTurn(batch);
    yield* this.#decide(batch, inFlight);
    const refused = batch.filter(isRefused);
    if (refused.length > 0) {
      // Other processes may have released reservations: read those releases and decide once more.
      yield* this.#refresh();
      yield* this.#decide(refused, inFlight);
    }
    yield* this.#findRecorded(batch.filter((one) => one.result === undefined || isRefused(one)));
    return batch.map(({ result }) => result ?? { error: new StoreError(INTENT_MISSING) });
  }

  /**
   * Waits for the turn of this process and counts the reservations that others have made meanwhile.
   *
   * @returns Keys of the intents that have been unfinished since the oldest facts of the batch.
   */
  *#takeTurn(batch: readonly AdmissionRequest[]): SqlSteps<Set<string>> {
    const { key, sequence } = this.#newest;
    const since = Math.min(
      ...batch.map(({ admission }) => admission.inFlightBefore.newestSequence),
    );
    const [, rows = [], [row] = [], [known] = []] = yield [
      turnStatement(this.#store.service),
      { sql: SQL.newer, values: [this.#store.service, sequence] },
      { sql: SQL.inFlight, values: [this.#store.service, this.#store.service, since] },
      { sql: SQL.known, values: [this.#store.service, key, sequence] },
    ];
    if (known === undefined && this.#newest !== NONE) {
      // A server that took over without the last rows uses their sequence numbers again: read all.
      this.#newest = NONE;
      return yield* this.#takeTurn(batch);
    }
    this.#addAll(rows);
    return parseRow(keysSchema, row).keys;
  }

  /**
   * Decides about intents in order, counting those accepted before, and inserts them. Those whose
   * keys are taken keep their result.
   */
  *#decide(requests: readonly AdmissionRequest[], inFlight: Set<string>): SqlSteps<void> {
    const accepted: AdmissionRequest[] = [];
    for (const request of requests) {
      const { intent: { key }, admission } = request;
      if (this.#book.isReserved(key)) continue; // already recorded
      try {
        admission.decide(inFlight.union(admission.inFlightBefore.keys));
        inFlight.add(key);
        accepted.push(request);
      } catch (error) {
        request.result = { error }; // the other intents of the transaction go on
      }
    }
    const inserted = yield accepted.map(({ intent }) =>
      insertStatement(this.#store.service, acceptedIntent(intent, 0, true))
    );
    for (const [index, request] of accepted.entries()) {
      const { intent } = request;
      const [row] = inserted[index] ?? [];
      if (row === undefined) {
        this.#book.release(intent.key); // the key belongs to an intent without a reservation
        continue;
      }
      const sequence = sequenceOfRow(row);
      this.#newest = { key: intent.key, sequence };
      request.result = { inserted: true, intent: acceptedIntent(intent, sequence, true) };
    }
  }

  *#refresh(): SqlSteps<void> {
    const [rows = [], [row] = []] = yield [
      { sql: SQL.newer, values: [this.#store.service, this.#newest.sequence] },
      { sql: SQL.keys, values: [this.#store.service] },
    ];
    this.#addAll(rows);
    const reserved = parseRow(keysSchema, row).keys;
    for (const key of this.#book.reservedKeys) {
      if (!reserved.delete(key)) this.#book.release(key);
    }
    // Those that the book lacks, although later ones were read.
    const missed = [...reserved].map((key) => ({
      sql: SQL.one,
      values: [this.#store.service, key],
    }));
    this.#addAll((yield missed).flat());
  }

  #addAll(rows: readonly unknown[]): void {
    for (const row of rows) {
      const intent = intentOfRow(row, this.#store.service);
      // The amount at risk is unreadable. The store reports the row when it verifies all rows.
      if (intent instanceof StoreDamagedError) continue;
      if (intent.sequence > this.#newest.sequence) this.#newest = intent;
      this.#book.addReservation(intent);
    }
  }

  /** Answers taken keys with their intents, even if another reservation would not fit. */
  *#findRecorded(others: readonly AdmissionRequest[]): SqlSteps<void> {
    const found = yield others.map(({ intent: { key } }) => ({
      sql: INTENT_SQL.find,
      values: [this.#store.service, key],
    }));
    for (const [index, request] of others.entries()) {
      const [row] = found[index] ?? [];
      if (row === undefined) continue;
      // A damaged row fails its own request, and not the others of the transaction.
      const intent = intentOfRow(row, this.#store.service);
      const isDamaged = intent instanceof StoreDamagedError;
      request.result = isDamaged ? { error: intent } : { inserted: false, intent };
    }
  }
}

function isRefused({ result }: AdmissionRequest): boolean {
  return result !== undefined && "error" in result;
}
