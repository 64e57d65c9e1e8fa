/** Reservations of the intent store, on each database. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import type { IntentOutcome, NewIntent, Reservation } from "../../../lib/intents/intent.ts";
import { MIGRATIONS } from "../../../lib/intents/migrations.ts";
import { openIntentStore } from "../../../lib/intents/open.ts";
import { SqliteDriver } from "../../../lib/intents/sqlite_driver.ts";
import { IntentStore } from "../../../lib/intents/store.ts";
import { NEEDS_POSTGRES, POSTGRES_URL, withSchema } from "../../support/postgres.ts";

const committed: IntentOutcome = { state: "committed", receipt: "{}", failure: null };
const failed: IntentOutcome = { state: "failed", receipt: null, failure: null };

function newIntent(key: string, amount = 1): NewIntent {
  const payload = String(amount);
  return { key, subject: "alice", payload, transaction: null, expiresAtMs: 2, createdAtMs: 1 };
}

function sumOf(held: readonly Pick<Reservation, "payload">[]): number {
  return held.reduce((sum, { payload }) => sum + Number(payload), 0);
}

/** Admits up to a sum. */
function upTo(max: number, amount: number) {
  return (held: readonly Reservation[]) => {
    const sum = sumOf(held) + amount;
    if (sum > max) throw new RangeError(`${sum} is above ${max}`);
  };
}

async function heldKeys(store: IntentStore): Promise<string[]> {
  return (await store.listReserved({ limit: 1_000, after: 0 })).map(({ key }) => key);
}

async function withSqliteFile(test: (database: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    await test(`${directory}/intents.sqlite`);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

const engines = [
  { name: "SQLite", ignore: false, withDatabase: withSqliteFile },
  {
    name: `PostgreSQL${NEEDS_POSTGRES}`,
    ignore: POSTGRES_URL === undefined,
    withDatabase: withSchema,
  },
];

for (const { name, ignore, withDatabase } of engines) {
  const test = (
    what: string,
    run: (store: IntentStore, other: IntentStore) => Promise<void>,
  ) =>
    Deno.test({
      name: `Reservations on ${name}: ${what}`,
      ignore,
      fn: () =>
        withDatabase(async (database) => {
          const stores = [
            await openIntentStore(database, "test"),
            await openIntentStore(database, "test"),
          ] as const;
          try {
            await run(...stores);
          } finally {
            for (const store of stores) await store.close();
          }
        }),
    });

  test("one is held until its intent fails, or is released after its commit", async (store) => {
    const { intent: a } = await store.insert(newIntent("a"), { reserves: true });
    const { intent: b } = await store.insert(newIntent("b"), { reserves: true });
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

  test("what is refused leaves nothing, and a taken key is not asked again", async (store) => {
    const reserve = (key: string, amount: number) =>
      store.insert(newIntent(key, amount), { reserves: true, admit: upTo(10, amount) });
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

  test("two processes at once never pass the bound, and fill it", async (store, other) => {
    const MAX = 20;
    const rows = Array.from({ length: 60 }, (_, n) => ({ key: `k${n}`, amount: 1 + n % 5 }));
    const answers = await Promise.allSettled(
      rows.map(({ key, amount }, n) =>
        (n % 2 === 0 ? store : other).insert(newIntent(key, amount), {
          reserves: true,
          admit: upTo(MAX, amount),
        })
      ),
    );
    const admitted = rows.filter((_, n) => answers[n]?.status === "fulfilled");
    assert.equal(sumOf(admitted.map(({ amount }) => ({ payload: `${amount}` }))), MAX);
    assert.deepEqual((await heldKeys(store)).sort(), admitted.map(({ key }) => key).sort());
    for (const answer of answers) {
      if (answer.status === "rejected") assert.match(String(answer.reason), /is above 20/);
    }
  });

  test(
    "a decision sees what others hold now, and each as the same object",
    async (store, other) => {
      const seen: (readonly Reservation[])[] = [];
      const look = (key: string) =>
        store.insert(newIntent(key), { reserves: true, admit: (held) => void seen.push(held) });
      for (let n = 0; n < 12; n++) await other.insert(newIntent(`k${n}`, n), { reserves: true });
      await look("a");
      const { intent } = await other.insert(newIntent("z", 99), { reserves: true });
      await look("b");
      await other.finish(intent, failed, 3);
      await look("c");
      const [first, second, third] = seen.map((held) => new Map(held.map((one) => [one.key, one])));
      assert.deepEqual([first?.size, second?.size, third?.size], [12, 14, 14]);
      assert.equal(second?.get("z")?.payload, "99");
      assert.equal(third?.has("z"), false);
      assert.equal(first?.get("k3"), third?.get("k3"));
    },
  );
}

Deno.test("Reservations on SQLite: a decision knows no row of a transaction that failed", () =>
  withSqliteFile(async (path) => {
    const store = new IntentStore(SqliteDriver.open(path, 24), "test");
    const seen: string[][] = [];
    const look = (key: string, payload: string) =>
      store.insert({ ...newIntent(key), payload }, {
        reserves: true,
        admit: (held) => void seen.push(held.map((one) => `${one.key}=${one.payload.length}`)),
      });
    try {
      const batch = [look("a", "1"), look("b", "2"), look("c", "x".repeat(200_000))];
      for (const answer of await Promise.allSettled(batch)) assert.equal(answer.status, "rejected");
      // It gets the sequence of one that was rolled back.
      await store.insert({ ...newIntent("d"), payload: "44" }, { reserves: true });
      await look("e", "555");
      await look("f", "6");
      assert.deepEqual(seen.slice(-2), [["d=2"], ["d=2", "e=3"]]);
    } finally {
      await store.close();
    }
  }));

Deno.test("Reservations: what an earlier version left under way holds one each", () =>
  withSqliteFile(async (path) => {
    const old = new DatabaseSync(path);
    old.exec(MIGRATIONS[0]!.sqlite);
    old.exec("PRAGMA user_version = 1");
    for (const state of ["accepted", "submitted", "committed", "failed"]) {
      old.exec(`INSERT INTO intents (service, key, subject, payload, state, expires_at_ms,
        created_at_ms, updated_at_ms) VALUES ('test', '${state}', 's', '1', '${state}', 1, 1, 1)`);
    }
    old.close();
    const store = await openIntentStore(path, "test");
    try {
      assert.deepEqual(await heldKeys(store), ["accepted", "submitted"]);
    } finally {
      await store.close();
    }
  }));
