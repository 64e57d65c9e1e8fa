/** Reservations of the intent store, on each database. */
import assert from "node:assert/strict";
import postgres from "postgres";
import type {
  Admission,
  InFlight,
  IntentOutcome,
  Reservation,
  ReservationBook,
} from "../../../lib/intents/intent.ts";
import type { SqlSteps } from "../../../lib/intents/database.ts";
import { StoreConnectionLostError, StoreError } from "../../../lib/intents/errors.ts";
import { openIntentStore } from "../../../lib/intents/open_store.ts";
import { ReservationTable } from "../../../lib/intents/reservation_table.ts";
import { SqliteDriver } from "../../../lib/intents/sqlite_driver.ts";
import { IntentStore } from "../../../lib/intents/store.ts";
import { eventually } from "../../support/eventually.ts";
import { DATABASE_KINDS, testOnPostgres } from "../../support/postgres.ts";
import { withFolder } from "../../support/files.ts";
import { insertReserved, newIntent, reservedIntents } from "../../support/intents.ts";

const committed: IntentOutcome = { state: "committed", receipt: "{}", failure: null };
const failed: IntentOutcome = { state: "failed", receipt: null, failure: null };

function amountOf(key: string, amount = 1) {
  return newIntent(key, { payload: String(amount) });
}

/** One process's count of amounts, with a bound. */
class Count implements ReservationBook {
  /** Counted amounts by key. */
  readonly held = new Map<string, number>();
  /** Keys of the reservations that the store reported. */
  readonly reported: string[] = [];
  readonly #max: number;
  readonly #tables = new Map<IntentStore, ReservationTable>();

  constructor(max: number) {
    this.#max = max;
  }

  get sum(): number {
    return [...this.held.values()].reduce((sum, amount) => sum + amount, 0);
  }

  get reservedKeys(): string[] {
    return [...this.held.keys()];
  }

  isReserved(key: string): boolean {
    return this.held.has(key);
  }

  addReservation({ key, payload }: Reservation): void {
    if (this.held.has(key)) return;
    this.reported.push(key);
    this.held.set(key, Number(payload));
  }

  release(key: string): void {
    this.held.delete(key);
  }

  admission(key: string, amount: number): Admission {
    return {
      inFlightBefore: { keys: new Set(), newestSequence: 0 },
      decide: () => {
        const sum = this.sum + amount;
        if (sum > this.#max) throw new RangeError(`${sum} is above ${this.#max}`);
        this.held.set(key, amount);
      },
    };
  }

  /** The process's table on a connection of its own. */
  on(store: IntentStore): ReservationTable {
    return this.#tables.getOrInsertComputed(store, () => new ReservationTable(store, this));
  }

  reserve(store: IntentStore, key: string, amount: number) {
    return this.on(store).insert(amountOf(key, amount), this.admission(key, amount));
  }
}

async function heldKeys(store: IntentStore): Promise<string[]> {
  return (await reservedIntents(store)).map(({ key }) => key);
}

for (const { name, ignore, withDatabase } of DATABASE_KINDS) {
  const test = (
    what: string,
    run: (store: IntentStore, other: IntentStore) => Promise<void>,
  ) =>
    Deno.test({
      name: `ReservationTable on ${name}: ${what}`,
      ignore,
      fn: () =>
        withDatabase(async (database) => {
          await using store = await openIntentStore(database, "test");
          await using other = await openIntentStore(database, "test");
          await run(store, other);
        }),
    });

  test("a reservation lasts until its intent fails, or until its release after the commit", async (store) => {
    const a = await insertReserved(store, newIntent("a"));
    const b = await insertReserved(store, newIntent("b"));
    await store.insert(newIntent("c"));
    assert.deepEqual(await heldKeys(store), ["a", "b"]);
    assert.equal(await store.release("a"), false, "it is under way");
    await store.finish(a, failed, 3);
    await store.finish(b, committed, 3);
    assert.deepEqual(await heldKeys(store), ["b"]);
    assert.equal(await store.release("b"), true);
    assert.equal(await store.release("b"), false);
    assert.deepEqual(await heldKeys(store), []);
  });

  test("a refused reservation is not recorded, and a known key is not decided again", async (store) => {
    const count = new Count(10);
    const reserve = (key: string, amount: number) => count.reserve(store, key, amount);
    const answers = await Promise.allSettled([
      reserve("a", 7),
      store.insert(newIntent("plain")),
      reserve("b", 4),
      reserve("c", 3),
    ]);
    assert.deepEqual(answers.map(({ status }) => status), [
      "fulfilled",
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
    await assert.rejects(reserve("b", 4), /^RangeError: 14 is above 10$/);
    assert.equal(await store.find("b"), undefined);
    const again = await reserve("a", 7);
    assert.deepEqual([again.inserted, again.intent.key], [false, "a"]);
    await store.finish(again.intent, failed, 3);
    await reserve("b", 4);
    assert.deepEqual((await heldKeys(store)).sort(), ["b", "c"]);
  });

  test("two processes together fill the bound and never exceed it", async (store, other) => {
    const MAX = 20;
    const [mine, others] = [new Count(MAX), new Count(MAX)];
    const rows = Array.from({ length: 60 }, (_, n) => ({ key: `k${n}`, amount: 1 + n % 5 }));
    const answers = await Promise.allSettled(
      rows.map(({ key, amount }, n) =>
        n % 2 === 0 ? mine.reserve(store, key, amount) : others.reserve(other, key, amount)
      ),
    );
    const admitted = rows.filter((_, n) => answers[n]?.status === "fulfilled");
    assert.equal(admitted.reduce((sum, { amount }) => sum + amount, 0), MAX);
    assert.deepEqual((await heldKeys(store)).sort(), admitted.map(({ key }) => key).sort());
    for (const answer of answers) {
      if (answer.status === "rejected") assert.match(String(answer.reason), /is above 20/);
    }
  });

  test("a decision includes each reservation of another process once", async (store, other) => {
    const count = new Count(1_000);
    for (let n = 0; n < 12; n++) await insertReserved(other, amountOf(`k${n}`, n));
    await count.reserve(store, "a", 1);
    assert.deepEqual([count.reported.length, count.sum], [12, 67]);
    await insertReserved(other, amountOf("z", 99));
    await count.reserve(store, "b", 1);
    await count.reserve(store, "c", 1);
    assert.deepEqual(count.reported.slice(12), ["z"]);
    assert.equal(count.sum, 168);
  });

  test("another process's release is seen once a refusal needs its room", async (store, other) => {
    const count = new Count(10);
    const intent = await insertReserved(other, amountOf("z", 9));
    await count.reserve(store, "a", 1);
    await other.finish(intent, failed, 3);
    assert.equal(count.sum, 10);
    await count.reserve(store, "b", 9);
    assert.deepEqual([...count.held.keys()], ["a", "b"]);
    await assert.rejects(count.reserve(store, "c", 1), /^RangeError: 11 is above 10$/);
  });

  test("a key that another process finished returns its intent", async (store, other) => {
    const count = new Count(10);
    await count.reserve(store, "a", 1);
    const intent = await insertReserved(other, amountOf("z", 5));
    await other.finish(intent, failed, 3);
    for (const amount of [5, 50]) {
      const { inserted, intent: found } = await count.reserve(store, "z", amount);
      assert.deepEqual([inserted, found.state], [false, "failed"]);
    }
    assert.equal(count.sum, 1, "it holds nothing");
    const twice = await Promise.all([count.reserve(store, "b", 2), count.reserve(store, "b", 2)]);
    assert.deepEqual(twice.map(({ inserted }) => inserted), [true, false]);
    assert.equal(count.sum, 3);
  });

  test(
    "a decision sees executions that began after the caller's last look",
    async (store, other) => {
      const seen: string[][] = [];
      const count = new Count(1_000);
      const decideSince = async (key: string, before: InFlight) => {
        const admission = count.admission(key, 1);
        const decide = (inFlight: ReadonlySet<string>) => {
          seen.push([...inFlight].sort());
          admission.decide(inFlight);
        };
        await count.on(store).insert(newIntent(key), {
          ...admission,
          inFlightBefore: before,
          decide,
        });
      };
      const record = async (key: string) => (await count.reserve(other, key, 1)).intent;
      await other.finish(await record("long over"), committed, 3);
      const during = await record("ends meanwhile");
      await record("goes on");
      const { inFlight: before } = await store.findState("a");
      assert.deepEqual([...before.keys].sort(), ["ends meanwhile", "goes on"]);
      await other.finish(during, committed, 3);
      await other.finish(await record("begins and ends meanwhile"), committed, 3);
      await decideSince("a", before);
      assert.deepEqual(seen.splice(0), [[
        "begins and ends meanwhile",
        "ends meanwhile",
        "goes on",
      ]]);
      const { inFlight: later } = await store.findState("b");
      await Promise.all([decideSince("b", later), decideSince("c", later)]);
      assert.deepEqual(seen.splice(0), [["a", "goes on"], ["a", "b", "goes on"]]);
      const { inFlight: newest } = await store.findState("d");
      await Promise.all([decideSince("d", newest), decideSince("e", before)]);
      const [, ofEarlier] = seen; // one transaction looks back as far as the earlier of the two
      assert.ok(ofEarlier?.includes("begins and ends meanwhile"));
    },
  );

  test("a refreshed book equals the database", async (store, other) => {
    const count = new Count(1_000);
    const recorded = await Promise.all(["a", "b"].map((key) => count.reserve(store, key, 1)));
    for (const { intent } of recorded) await other.finish(intent, failed, 3);
    await insertReserved(other, amountOf("c", 7));
    await count.on(store).refresh();
    assert.deepEqual([...count.held], [["c", 7]]);
    count.release("c");
    await count.on(store).refresh();
    assert.deepEqual([...count.held], [["c", 7]], "also one that was read before");
  });

  test(
    "a refusal after a fresh read does not affect other reservations of the same batch",
    async (store, other) => {
      const count = new Count(10);
      const { intent } = await count.reserve(store, "a", 10);
      await other.finish(intent, failed, 3);
      const together = await Promise.allSettled([
        count.reserve(store, "none", 0),
        count.reserve(store, "all", 11),
        count.reserve(store, "some", 0),
      ]);
      const outcomes = together.map((result) =>
        result.status === "fulfilled" ? result.value.inserted : result.reason.message
      );
      assert.deepEqual(outcomes, [true, "11 is above 10", true]);
    },
  );

  test(
    "a refused reservation is decided again after reading the releases of others",
    async (store, other) => {
      const count = new Count(10);
      const { intent } = await count.reserve(store, "a", 10);
      await other.finish(intent, failed, 3);
      const admission = count.admission("b", 5);
      const heldBefore: string[][] = [];
      const decide = (inFlight: ReadonlySet<string>) => {
        heldBefore.push([...count.held.keys()]);
        admission.decide(inFlight);
      };
      const { inserted } = await count.on(store).insert(amountOf("b", 5), { ...admission, decide });
      assert.equal(inserted, true);
      assert.deepEqual([heldBefore, [...count.held.keys()]], [[["a"], []], ["b"]]);
    },
  );
}

/** Declares a test of two processes on one server, with a client of the server beside them. */
function testOnServer(
  what: string,
  run: (store: IntentStore, other: IntentStore, admin: postgres.Sql) => Promise<void>,
): void {
  testOnPostgres(`ReservationTable on PostgreSQL: ${what}`, async (database) => {
    await using store = await openIntentStore(database, "test");
    await using other = await openIntentStore(database, "test");
    const admin = postgres(database, { max: 1 });
    try {
      await run(store, other, admin);
    } finally {
      await admin.end();
    }
  });
}

testOnServer(
  "a row committed after a later one is included in the next decision",
  async (store, other, admin) => {
    // Keeps the transaction of "late" open until the lock is released.
    await admin.unsafe(`
          CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF NEW.key = 'late' THEN
              PERFORM pg_advisory_xact_lock(hashtext(current_schema()));
            END IF;
            RETURN NULL;
          END $$;
          CREATE TRIGGER wait AFTER INSERT ON intents FOR EACH ROW EXECUTE FUNCTION wait();
          SELECT pg_advisory_lock(hashtext(current_schema()))`);
    const count = new Count(10);
    // Without an admission it does not wait for its turn.
    const late = insertReserved(other, amountOf("late", 5));
    await eventually("the late one has begun", async () => {
      const rows = await admin`SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
            AND objid = (hashtext(current_schema())::bigint & 4294967295)::oid`;
      return rows.length > 0;
    });
    await count.reserve(store, "a", 1);
    await admin`SELECT pg_advisory_unlock(hashtext(current_schema()))`;
    await late;
    await assert.rejects(count.reserve(store, "b", 10), /^RangeError: 16 is above 10$/);
    await assert.rejects(count.reserve(store, "c", 5), /^RangeError: 11 is above 10$/);
    await count.reserve(store, "d", 4);
  },
);

for (const isBehindPooler of [false, true]) {
  const how = isBehindPooler ? ", behind a pooler that keeps the connection" : "";
  const title = `after a failover that lost rows, reservations with their numbers count${how}`;
  testOnServer(title, async (store, other, admin) => {
    const count = new Count(10);
    for (const key of ["a", "b", "c"]) await count.reserve(store, key, 1);
    await admin`DELETE FROM intents`;
    await admin`ALTER TABLE intents ALTER COLUMN sequence RESTART`;
    if (!isBehindPooler) {
      const [row] = await store.db.read("SELECT pg_backend_pid() AS pid", []);
      await admin`SELECT pg_terminate_backend(${Object(row).pid}, 5000)`;
      await admin`SELECT 1`; // by this answer, the end of that connection is known
    }
    await new Count(10).reserve(other, "d", 5);
    await assert.rejects(count.reserve(store, "e", 6), /^RangeError: 11 is above 10$/);
    await count.reserve(store, "f", 5);
  });
}

testOnPostgres(
  "ReservationTable on PostgreSQL: a refusal is recorded after a reservation with an earlier sequence",
  async (database) => {
    const store = await openIntentStore(database, "test");
    const other = postgres(database, { max: 1 });
    const admin = postgres(database, { max: 1 });
    try {
      const { refused, reserved } = await other.begin(async (tx) => {
        // As another process does it: it has its turn, and its sequence, and is not committed yet.
        await tx`INSERT INTO reservation_locks (service) VALUES ('test')`;
        const [{ next } = assert.fail()] = await tx`
          SELECT nextval(pg_get_serial_sequence('intents', 'sequence')) AS next`;
        const refused = store.insertFailed(newIntent("a"), { code: "PRICE_MOVED", message: "no" });
        await eventually("it waits for its turn", async () => {
          const rows = await admin`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'
            AND query LIKE '%reservation_locks%' AND datname = current_database()`;
          return rows.length > 0;
        });
        assert.deepEqual((await store.findState("b")).inFlight.newestSequence, 0);
        return { refused: [refused], reserved: Number(next) }; // not awaited before the commit
      });
      const [{ sequence } = assert.fail()] = await Promise.all(refused);
      assert(sequence > reserved);
    } finally {
      await Promise.all([admin.end(), other.end(), store.close()]);
    }
  },
);

Deno.test("ReservationTable on SQLite: after a failed transaction, a decision does not count its rows", () =>
  withFolder(async (folder) => {
    const driver = SqliteDriver.open(`${folder}/intents.sqlite`);
    await driver.read("PRAGMA max_page_count = 24", []);
    await using store = new IntentStore(driver, "test");
    const count = new Count(1_000);
    const look = (key: string, payload: string) =>
      count.on(store).insert(newIntent(key, { payload }), count.admission(key, 1));
    await look("before", "1");
    const batch = [look("a", "1"), look("b", "2"), look("c", "x".repeat(200_000))];
    for (const answer of await Promise.allSettled(batch)) assert.equal(answer.status, "rejected");
    assert.deepEqual([...count.held.keys()], ["before"]);
    const { transaction } = driver;
    const failing = (steps: () => SqlSteps<unknown>) =>
      transaction.call(driver, function* () {
        yield* steps();
        throw new StoreError("The commit failed");
      });
    Object.assign(driver, { transaction: failing });
    await assert.rejects(look("late", "3"), /The commit failed/);
    Object.assign(driver, { transaction });
    // It gets the sequence number of a row that was rolled back.
    await insertReserved(store, newIntent("d", { payload: "44" }));
    await look("e", "555");
    assert.deepEqual([...count.held.entries()], [["before", 1], ["d", 44], ["e", 1]]);
  }));

Deno.test("ReservationTable on SQLite: a reservation whose commit was not answered counts in the next decision", () =>
  withFolder(async (folder) => {
    const driver = SqliteDriver.open(`${folder}/intents.sqlite`);
    await using store = new IntentStore(driver, "test");
    const count = new Count(10);
    const { transaction } = driver;
    const unanswered = async (steps: () => SqlSteps<unknown>) => {
      await transaction.call(driver, steps);
      throw new StoreConnectionLostError(new Error("No answer"));
    };
    Object.assign(driver, { transaction: unanswered });
    assert.equal((await count.reserve(store, "a", 7)).inserted, true, "it is found");
    Object.assign(driver, { transaction });
    await assert.rejects(count.reserve(store, "b", 4), /^RangeError: 11 is above 10$/);
  }));

Deno.test("ReservationTable on SQLite: a damaged reservation does not count, and a damaged row fails its own insertion, and no other of the transaction", () =>
  withFolder(async (folder) => {
    const driver = SqliteDriver.open(`${folder}/intents.sqlite`);
    await using store = new IntentStore(driver, "test");
    const count = new Count(10);
    await store.insert(newIntent("damaged"));
    await insertReserved(store, newIntent("damaged too"));
    await driver.write(`UPDATE intents SET "user" = 'eve'`, []);
    const batch = ["a", "damaged", "b"].map((key) => count.reserve(store, key, 1));
    const answers = await Promise.allSettled(batch);
    assert.deepEqual(answers.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
    await assert.rejects(batch[1]!, { code: "STORE_DAMAGED" }); // it has three elements
    assert.deepEqual(count.reservedKeys, ["a", "b"]);
  }));
