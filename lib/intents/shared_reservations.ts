import {
  type Admission,
  type Insertion,
  type NewIntent,
  recordedIntent,
  StoreError,
} from "./intent.ts";
import {
  intentOfRow,
  keysSchema,
  parseRow,
  reservationSchema,
  sequenceSchema,
  sequencesSchema,
  type SqlDriver,
  type Statement,
  type Steps,
} from "./sql.ts";
import { WRITES_WAITING_MAX } from "./write_queue.ts";

/** Maximum intents per transaction: a large batch would hold the row lock too long. */
const BATCH_MAX = 100;

/** Reload after about this many new reservations: other processes may have released some. */
const COUNTED_MAX = 1_000;

const SQL = {
  // Takes the row's lock until the transaction ends, whether the row is new or not.
  lock: `INSERT INTO reservation_locks (service) VALUES (?)
    ON CONFLICT (service) DO UPDATE SET service = excluded.service`,
  newer: `SELECT sequence, key, payload FROM intents
    WHERE service = ? AND reserved = 1 AND sequence > ? ORDER BY sequence`,
  // Aggregated into one row: reading a thousand rows would cost more than the admission checks.
  sequences: `SELECT string_agg(CAST(sequence AS TEXT), ',') AS sequences
    FROM intents WHERE service = ? AND reserved = 1`,
  // The expression keeps the database from an index of services, of which it would read every row.
  underWay: `SELECT string_agg(key, ',') AS keys FROM (
    SELECT key FROM intents WHERE service = ? AND state IN ('accepted', 'submitted')
    UNION ALL SELECT key FROM intents WHERE service || '' = ? AND sequence > ?) AS recent`,
};

/** Splits keys that a statement joined with commas. */
export function keysOf(joined: string | null): Set<string> {
  return new Set(joined === null ? [] : joined.split(","));
}

/** How an intent is inserted and found. */
export interface AdmittedInsertion {
  intent: NewIntent;
  insertion: Statement;
  find: Statement;
  admission: Admission;
}

interface Waiting extends AdmittedInsertion {
  resolve: (insertion: Insertion) => void;
  reject: (cause: unknown) => void;
}

type Outcome = Insertion | { refusal: unknown };

/**
 * Records intents whose reservations fit into a bound that all processes of a service share. A row that
 * each transaction locks makes the processes take turns. In its turn, a process reads the reservations
 * that others have made since its last one, and decides about all intents that wait.
 *
 * Releases by other processes are read periodically and before a refusal: the total may be too high.
 */
export class SharedReservations {
  readonly #db: SqlDriver;
  readonly #service: string;
  #waiting: Waiting[] = [];
  #isScheduled = false;
  /** Keys of the reservations that count, by their sequence. */
  readonly #counted = new Map<number, string>();
  /** The same keys, plus those the current transaction is about to insert. */
  readonly #keys = new Set<string>();
  #newest = 0;
  /** Number of active reservations at the last full reload. */
  #countedAtReading = 0;

  constructor(db: SqlDriver, service: string) {
    this.#db = db;
    this.#service = service;
  }

  /** Records an intent unless its key is taken. Throws what `decide` throws. */
  insert(insertion: AdmittedInsertion): Promise<Insertion> {
    if (this.#waiting.length >= WRITES_WAITING_MAX) {
      const reason = `Store is busy: ${WRITES_WAITING_MAX} reservations are waiting`;
      return Promise.reject(new StoreError(reason));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...insertion, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    void this.#runBatch();
  }

  /** Runs one transaction for all that wait when it begins. */
  async #runBatch(): Promise<void> {
    let batch: Waiting[] | undefined;
    const take = () => {
      const taken = batch = this.#waiting.splice(0, BATCH_MAX);
      this.#isScheduled = false;
      this.#schedule();
      return taken;
    };
    try {
      const outcomes = await this.#db.transaction(() => this.#record(take()));
      outcomes.forEach((outcome, index) => {
        const { resolve, reject } = batch![index]!; // one outcome for each of the batch
        if ("refusal" in outcome) reject(outcome.refusal);
        else resolve(outcome);
      });
    } catch (thrown) {
      const failed = batch ?? take();
      // The transaction rolled back, and SQLite may reuse its sequence numbers: rebuild the counts.
      const [first] = failed;
      if (first !== undefined) this.#releaseAll(first.admission);
      for (const { reject } of failed) reject(thrown);
    }
  }

  *#record(batch: readonly Waiting[]): Steps<Outcome[]> {
    const [first] = batch;
    if (first === undefined) return [];
    const { admission } = first;
    const since = Math.min(...batch.map((one) => one.admission.before.newest));
    const [, rows = [], [row] = []] = yield [
      { sql: SQL.lock, values: [this.#service] },
      { sql: SQL.newer, values: [this.#service, this.#newest] },
      { sql: SQL.underWay, values: [this.#service, this.#service, since] },
    ];
    const underWay = keysOf(parseRow(keysSchema, row).keys);
    this.#countAll(rows, admission);
    if (this.#counted.size > 2 * this.#countedAtReading + COUNTED_MAX) {
      yield* this.#readAgain(admission);
    }
    const accepted: Waiting[] = [];
    let refusals = this.#decide(batch, accepted, underWay);
    if (refusals.size > 0) {
      yield* this.#readAgain(admission);
      refusals = this.#decide([...refusals.keys()], accepted, underWay);
    }
    const outcomes = yield* this.#insertAll(batch, accepted, refusals);
    return batch.map((one) => outcomes.get(one)!); // one each
  }

  /** Checks intents in order, each against those accepted before it. @returns The refusals. */
  #decide(
    batch: readonly Waiting[],
    accepted: Waiting[],
    underWay: Set<string>,
  ): Map<Waiting, unknown> {
    const refusals = new Map<Waiting, unknown>();
    for (const one of batch) {
      const { intent: { key }, admission } = one;
      // The intent is already recorded and counted.
      if (this.#keys.has(key)) continue;
      try {
        admission.decide(underWay.union(admission.before.keys));
      } catch (thrown) {
        refusals.set(one, thrown); // Other intents of the same transaction must not fail with it.
        continue;
      }
      this.#keys.add(key);
      underWay.add(key);
      accepted.push(one);
    }
    return refusals;
  }

  *#insertAll(
    batch: readonly Waiting[],
    accepted: readonly Waiting[],
    refusals: ReadonlyMap<Waiting, unknown>,
  ): Steps<Map<Waiting, Outcome>> {
    const outcomes = new Map<Waiting, Outcome>();
    const rows = yield accepted.map(({ insertion }) => insertion);
    accepted.forEach((one, index) => {
      const [row] = rows[index] ?? [];
      const { intent, admission } = one;
      if (row === undefined) {
        // The key belongs to an intent without an active reservation, so do not count this one.
        admission.release(intent.key);
        this.#keys.delete(intent.key);
        return;
      }
      const { sequence } = parseRow(sequenceSchema, row);
      this.#counted.set(sequence, intent.key);
      this.#newest = Math.max(this.#newest, sequence);
      outcomes.set(one, { inserted: true, intent: recordedIntent(intent, sequence) });
    });
    const others = batch.filter((one) => !outcomes.has(one));
    if (others.length === 0) return outcomes;
    const found = yield others.map(({ find }) => find);
    others.forEach((one, index) => {
      const [row] = found[index] ?? [];
      if (row === undefined && refusals.has(one)) {
        outcomes.set(one, { refusal: refusals.get(one) });
      } else outcomes.set(one, { inserted: false, intent: intentOfRow(row) });
    });
    return outcomes;
  }

  /** Reloads the set of active reservations from the database. */
  *#readAgain(admission: Admission): Steps<void> {
    const [[row] = []] = yield [{ sql: SQL.sequences, values: [this.#service] }];
    const { sequences: text } = parseRow(sequencesSchema, row);
    const held = new Set(text === null ? [] : text.split(",").map(Number));
    for (const [sequence, key] of this.#counted) {
      if (held.has(sequence)) continue;
      this.#counted.delete(sequence);
      this.#keys.delete(key);
      admission.release(key);
    }
    // Processes without an exposure limit skip the lock, so lower sequences can commit later.
    const missed = [...held].filter((sequence) => !this.#counted.has(sequence));
    if (missed.length > 0) {
      const values = [this.#service, Math.min(...missed) - 1];
      const [rows = []] = yield [{ sql: SQL.newer, values }];
      this.#countAll(rows, admission);
    }
    this.#countedAtReading = this.#counted.size;
  }

  #countAll(rows: readonly unknown[], admission: Admission): void {
    for (const row of rows) {
      const reservation = parseRow(reservationSchema, row);
      const { sequence, key } = reservation;
      this.#newest = Math.max(this.#newest, sequence);
      if (this.#counted.has(sequence)) continue;
      this.#counted.set(sequence, key);
      this.#keys.add(key);
      admission.reserve(reservation);
    }
  }

  #releaseAll(admission: Admission): void {
    for (const key of this.#keys) admission.release(key);
    this.#keys.clear();
    this.#counted.clear();
    this.#newest = 0;
    this.#countedAtReading = 0;
  }
}
