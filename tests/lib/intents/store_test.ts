/** The behaviour of the intent store, on each database. */
import assert from "node:assert/strict";
import { StoreConnectionLostError, StoreError } from "../../../lib/intents/errors.ts";
import { acceptedIntent, type IntentOutcome, type NewIntent } from "../../../lib/intents/intent.ts";
import { checksumOf } from "../../../lib/intents/intent_rows.ts";
import { openIntentStore } from "../../../lib/intents/open_store.ts";
import { SqliteDriver } from "../../../lib/intents/sqlite_driver.ts";
import { IntentStore } from "../../../lib/intents/store.ts";
import type { Hex } from "../../../lib/protocol/scalars.ts";
import { DATABASE_KINDS } from "../../support/postgres.ts";
import { newIntent as plainIntent } from "../../support/intents.ts";

function hash(byte: number): Hex {
  return `0x${byte.toString(16).padStart(2, "0").repeat(32)}`;
}

function newIntent(key: string, overrides: Partial<NewIntent> = {}): NewIntent {
  return plainIntent(key, {
    payload: '{"text":"ünï ✓ \'quoted\'"}',
    transaction: { txHash: hash(1), text: '{"tx":1}' },
    expiresAtMs: 1_800_000_000_123,
    createdAtMs: 1_700_000_000_456,
    ...overrides,
  });
}

const committed: IntentOutcome = { state: "committed", receipt: '{"ok":true}', failure: null };
const failed: IntentOutcome = {
  state: "failed",
  receipt: null,
  failure: { code: "NODE_REFUSED", message: "no" },
};
const ALL = { limit: 100, after: 0, nowMs: 40, unchangedForMs: 0 };

/** As on a full disk, rows can be updated, but there is no room for a new intent; and the end of it. */
const NO_ROOM = {
  sqlite: [
    `CREATE TRIGGER no_room BEFORE INSERT ON intents BEGIN
      SELECT RAISE(ABORT, 'database or disk is full'); END`,
    "DROP TRIGGER no_room",
  ],
  postgres: [
    "ALTER TABLE intents ADD CONSTRAINT no_room CHECK (false) NOT VALID",
    "ALTER TABLE intents DROP CONSTRAINT no_room",
  ],
} as const;

type StoreTest = (store: IntentStore, database: string) => Promise<void>;

const contract: Record<string, StoreTest> = {
  async "a failure is read back, whatever text another service gave"(store) {
    const { intent } = await store.insert(newIntent("a"));
    const message = `no\0 liquidity, ${"\u{1F4A7}".slice(0, 1)}`;
    const details = { reason: message };
    const failure = { code: "NODE_REFUSED", message, details };
    await store.finish(intent, { state: "failed", receipt: null, failure }, 1);
    await store.insertFailed(newIntent("b"), failure);
    for (const key of ["a", "b"]) {
      assert.deepEqual((await store.get(key)).failure, {
        ...failure,
        message: "no\ufffd liquidity, \ufffd",
      });
    }
  },

  async "an intent is read back as it was recorded"(store) {
    const request = newIntent("a", { transaction: null });
    const { inserted, intent } = await store.insert(request);
    assert.equal(inserted, true);
    assert.deepEqual(intent, {
      ...request,
      sequence: intent.sequence,
      state: "accepted",
      receipt: null,
      failure: null,
      reserved: false,
      updatedAtMs: request.createdAtMs,
    });
    assert.deepEqual(await store.find("a"), intent);
    assert.equal(await store.find("b"), undefined);
  },

  async "a saved value is replaced, survives a reopen, and belongs to its service"(
    store,
    database,
  ) {
    assert.equal(await store.records.findValue("state"), undefined);
    await store.records.saveValue("state", "ünï {", 1_700_000_000_000);
    await store.records.saveValue("other", "2", 5);
    await store.records.saveValue("state", '{"a":1}', 1_700_000_000_001);
    await using again = await openIntentStore(database, "test");
    await using stranger = await openIntentStore(database, "stranger");
    const expected = { value: '{"a":1}', savedAtMs: 1_700_000_000_001 };
    assert.deepEqual(await again.records.findValue("state"), expected);
    assert.equal(await stranger.records.findValue("state"), undefined);
  },

  async "of concurrent inserts with one key, only one succeeds"(store, database) {
    await using other = await openIntentStore(database, "test");
    const inserts = await Promise.all(
      Array.from(
        { length: 20 },
        (_, index) =>
          (index % 2 === 0 ? store : other).insert(newIntent("same", { payload: String(index) })),
      ),
    );
    const winners = inserts.filter(({ inserted }) => inserted);
    assert.equal(winners.length, 1);
    for (const { intent } of inserts) assert.deepEqual(intent, winners[0]?.intent);
  },

  async "the details of a failure survive a reopen, also after replaceResult"(
    store,
    database,
  ) {
    const details = { balance: "5", ageMs: 1.5, nested: { known: null } };
    const lost: IntentOutcome = { ...failed, failure: { code: "GONE", message: "no", details } };
    const { intent } = await store.insert(newIntent("a"));
    const { intent: finished } = await store.finish(intent, lost, 5);
    const { intent: second } = await store.insert(newIntent("b"));
    const { intent: kept } = await store.finish(second, committed, 5);
    assert(await store.replaceResult(kept, { ...lost, transaction: kept.transaction }, 6));
    await using again = await openIntentStore(database, "test");
    assert.deepEqual(await again.find("a"), finished);
    assert.deepEqual((await again.find("b"))?.failure, lost.failure);
  },

  async "other connections see a write after it has resolved"(store, database) {
    await using other = await openIntentStore(database, "test");
    const { intent } = await store.insert(newIntent("a", { transaction: null }));
    assert.deepEqual(await other.find("a"), intent);
    assert.deepEqual(await other.get("a"), intent);
    const submitted = await store.setTransaction(intent, { txHash: hash(2), text: "ünï ✓" }, 3);
    assert.deepEqual(await other.find("a"), submitted);
    const noted = await store.recordAttempt("a", 4);
    assert.deepEqual(await other.find("a"), noted);
    const outcome = { ...committed, failure: failed.failure };
    const { intent: finished } = await store.finish(noted, outcome, 5);
    assert.deepEqual(await other.find("a"), finished);
  },

  async "the first final state is kept"(store) {
    const { intent } = await store.insert(newIntent("a"));
    const { intent: first, wasSetHere } = await store.finish(intent, committed, 7);
    assert.equal(wasSetHere, true);
    assert.equal(first.state, "committed");
    assert.equal(first.receipt, '{"ok":true}');
    assert.equal(first.updatedAtMs, 7);
    assert.deepEqual(await store.finish(intent, failed, 8), { intent: first, wasSetHere: false });
    assert.deepEqual(await store.recordAttempt("a", 9), first);
    const newer = { txHash: hash(2), text: "2" };
    assert.deepEqual(await store.setTransaction(intent, newer, 9), first);
  },

  async "findState returns the key's intent and the keys in flight"(store, database) {
    await using stranger = await openIntentStore(database, "stranger");
    await stranger.insert(newIntent("a", { transaction: null }));
    await stranger.insert(newIntent("z"));
    assert.deepEqual(await store.findState("a"), {
      state: undefined,
      inFlight: { keys: new Set(), newestSequence: 0 },
    });
    const { intent } = await store.insert(newIntent("a", { transaction: null }));
    const other = (await store.insert(newIntent("b"))).intent;
    const seen = async () => {
      const { state, inFlight } = await store.findState("a");
      return [state, ...[...inFlight.keys].sort(), inFlight.newestSequence - other.sequence];
    };
    assert.deepEqual(await seen(), ["accepted", "a", "b", 0]);
    const signed = await store.setTransaction(intent, { txHash: hash(2), text: "2" }, 3);
    assert.deepEqual(await seen(), ["submitted", "a", "b", 0]);
    await store.finish(signed, committed, 4);
    assert.deepEqual(await seen(), ["committed", "b", 0]);
    await store.finish(other, failed, 5);
    assert.deepEqual(await seen(), ["committed", 0]);
  },

  async "an outcome of a transaction that was replaced is not recorded"(store) {
    const { intent } = await store.insert(newIntent("a"));
    const newer = { txHash: hash(2), text: "2" };
    const renewed = await store.setTransaction(intent, newer, 3);
    assert.deepEqual(renewed.transaction, newer);
    const refused = { intent: renewed, wasSetHere: false };
    assert.deepEqual(await store.finish(intent, failed, 4), refused);
    assert.deepEqual(await store.finish({ ...intent, transaction: null }, failed, 4), refused);
    assert.equal((await store.finish(renewed, committed, 5)).intent.state, "committed");
  },

  async "if two processes replace the same transaction, the first wins"(store) {
    const { intent } = await store.insert(newIntent("a", { transaction: null }));
    const [one, two] = [hash(1), hash(2)].map((txHash) => ({ txHash, text: txHash }));
    assert.ok(one && two);
    const first = await store.setTransaction(intent, one, 3);
    assert.deepEqual(await store.setTransaction(intent, two, 4), first);
    assert.deepEqual(first.transaction, one);
    assert.equal(first.state, "submitted");
    assert.equal(first.updatedAtMs, 3);
  },

  async "an attempt makes an intent submitted only if it has a transaction"(store) {
    await store.insert(newIntent("with"));
    await store.insert(newIntent("without", { transaction: null }));
    assert.equal((await store.recordAttempt("with", 3)).state, "submitted");
    const without = await store.recordAttempt("without", 4);
    assert.equal(without.state, "accepted");
    assert.equal(without.updatedAtMs, 4);
  },

  async "unfinished intents are listed if their last change is not near, in pages"(store) {
    for (const key of ["a", "b", "c", "d"]) {
      const { intent } = await store.insert(newIntent(key, { createdAtMs: 10 }));
      if (key === "b") await store.finish(intent, committed, 20);
    }
    await store.recordAttempt("c", 30);
    const keys = async (page: Partial<typeof ALL>) =>
      (await store.listUnfinished({ ...ALL, ...page })).map(({ key }) => key);
    assert.deepEqual(await keys({}), ["a", "c", "d"]);
    assert.deepEqual(await keys({ unchangedForMs: 10 }), ["a", "c", "d"]);
    assert.deepEqual(await keys({ unchangedForMs: 11 }), ["a", "d"]);
    assert.deepEqual(
      await keys({ nowMs: 20, unchangedForMs: 10 }),
      ["a", "c", "d"],
      "in the future",
    );
    assert.deepEqual(await keys({ nowMs: 20, unchangedForMs: 11 }), []);
    assert.deepEqual(await keys({ limit: 2 }), ["a", "c"]);
    const first = await store.find("a");
    assert.deepEqual(await keys({ after: first?.sequence ?? 0, limit: 2 }), ["c", "d"]);
    assert.equal(await store.countUnfinished(), 3);
    assert.equal(await store.countUnfinished(11), 3);
    assert.equal(await store.countUnfinished(10), 0);
  },

  async "an unfinished intent whose row is damaged ends, and the others are listed"(store) {
    for (const key of ["a", "b"]) await store.insert(newIntent(key));
    await store.db.write("UPDATE intents SET payload = '[]' WHERE key = ?", ["a"]);
    assert.deepEqual((await store.listUnfinished(ALL)).map(({ key }) => key), ["b"]);
    assert.equal(await store.countUnfinished(), 1);
  },

  async "a user's intents are listed newest first, in pages, without damaged ones"(store) {
    for (const key of ["a", "b", "c"]) await store.insert(newIntent(key));
    await store.insert(newIntent("other", { user: "bob" }));
    const page = async (user: string, before?: string | null) => {
      const bound = before ? { before: Number(before) } : {};
      const { intents, nextCursor } = await store.listByUser(user, { limit: 2, ...bound });
      return { keys: intents.map(({ key }) => key), nextCursor };
    };
    const { keys, nextCursor } = await page("alice");
    assert.deepEqual(keys, ["c", "b"]);
    assert.deepEqual(await page("alice", nextCursor), { keys: ["a"], nextCursor: null });
    assert.deepEqual(await page("carol"), { keys: [], nextCursor: null });
    await store.db.write("UPDATE intents SET payload = '[]' WHERE key = ?", ["b"]);
    assert.deepEqual(await page("alice"), { keys: ["c"], nextCursor });
    assert.equal(store.damaged.size, 1);
  },

  async "an unknown key is an error and changes nothing"(store) {
    const none = acceptedIntent(newIntent("none"), 1, false);
    for (
      const update of [
        () => store.get("none"),
        () => store.recordAttempt("none", 1),
        () => store.finish(none, committed, 1),
        () => store.setTransaction(none, { txHash: hash(2), text: "" }, 1),
      ]
    ) {
      await assert.rejects(update, new StoreError("No intent has the key none"));
    }
    await store.requireWritable();
    assert.equal(await store.countUnfinished(), 0);
  },

  async "a failed write does not fail concurrent writes"(store) {
    const results = await Promise.allSettled([
      store.insert(newIntent("a")),
      store.recordAttempt("none", 1),
      store.insert(newIntent("b")),
    ]);
    assert.deepEqual(results.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
    assert.equal(await store.countUnfinished(), 2);
  },

  async "services that share a database do not see each other's intents"(store, database) {
    await using other = await openIntentStore(database, "other");
    const { intent } = await store.insert(newIntent("same"));
    assert.equal((await other.insert(newIntent("same", { payload: "2" }))).inserted, true);
    await store.finish(intent, committed, 5);
    assert.equal((await other.find("same"))?.state, "accepted");
    assert.equal((await other.recordAttempt("same", 6)).payload, "2");
    assert.deepEqual((await other.listUnfinished(ALL)).map(({ payload }) => payload), ["2"]);
    assert.deepEqual(await store.listUnfinished(ALL), []);
    assert.equal((await other.listByUser("alice", { limit: 9 })).intents.length, 1);
    assert.equal(await store.countUnfinished(), 0);
    assert.equal(await other.countUnfinished(), 1);
  },

  async "a closed store fails every call, and may be closed again"(store) {
    await store.close();
    await assert.rejects(() => store.insert(newIntent("a")), StoreError);
    await assert.rejects(() => store.find("a"), StoreError);
    await assert.rejects(() => store.requireWritable(), StoreError);
    await store.close();
  },

  async "on a full disk that still has room to update a row, it is not writable"(store, database) {
    const [fill, clear] = NO_ROOM[database.startsWith("postgres:") ? "postgres" : "sqlite"];
    await store.requireWritable();
    await store.db.write(fill, []);
    await assert.rejects(store.requireWritable(), { code: "STORE_UNAVAILABLE" });
    await store.db.write(clear, []);
    await store.requireWritable();
    assert.equal(await store.find("a"), undefined);
    assert.equal((await store.insert(newIntent("a"))).inserted, true);
  },
};

for (const { name, ignore, withDatabase } of DATABASE_KINDS) {
  for (const [behaviour, test] of Object.entries(contract)) {
    Deno.test({
      name: `IntentStore on ${name}: ${behaviour}`,
      ignore,
      fn: () =>
        withDatabase(async (database) => {
          await using store = await openIntentStore(database, "test");
          await test(store, database);
        }),
    });
  }

  Deno.test({
    name:
      `IntentStore on ${name}: several processes that start together migrate an empty database once`,
    ignore,
    fn: () =>
      withDatabase(async (database) => {
        const stores = await Promise.all([1, 2, 3, 4].map(() => openIntentStore(database, "test")));
        try {
          for (const [index, store] of stores.entries()) {
            await store.insert(newIntent(String(index)));
          }
          assert.equal(await stores[0]?.countUnfinished(), 4);
        } finally {
          for (const store of stores) await store.close();
        }
      }),
  });
}

Deno.test("checksumOf: the checksum of a row is stable and includes its details", () => {
  const columns = { key: "k", user: "u", payload: "{}", transaction: null, receipt: null };
  const times = { createdAtMs: 1, updatedAtMs: 2, expiresAtMs: 3 };
  const failure = { code: "C", message: "m" };
  const intent = { ...columns, ...times, state: "failed" as const, reserved: false, failure };
  assert.equal(checksumOf("s", intent), 1_290_222_032);
  assert.notEqual(
    checksumOf("s", { ...intent, failure: { ...failure, details: {} } }),
    1_290_222_032,
  );
});

/** Inserts an intent over a connection that fails, after or before the database has recorded it. */
async function insertOver(
  failure: StoreError,
  isRecorded: boolean,
  earlier: NewIntent[] = [],
): Promise<unknown> {
  const driver = SqliteDriver.open(":memory:");
  await using store = new IntentStore(driver, "test");
  for (const intent of earlier) await store.insert(intent);
  const write = driver.write.bind(driver);
  let isLost = false;
  driver.write = async (sql, values) => {
    if (isLost) return await write(sql, values);
    isLost = true;
    if (isRecorded) await write(sql, values);
    throw failure;
  };
  return await store.insert(newIntent("a"));
}

Deno.test("IntentStore: after a lost answer, an insert looks whether the row is there", async () => {
  const lost = new StoreConnectionLostError("test");
  const recorded = acceptedIntent(newIntent("a"), 1, false);
  // The look is a write that notes an attempt.
  const intent = { ...recorded, state: "submitted" };
  assert.deepEqual(await insertOver(lost, true), { inserted: true, intent });
  await assert.rejects(insertOver(lost, false), lost);
});

Deno.test("IntentStore: after a lost answer, a different row under the same key does not count as inserted", async () => {
  const lost = new StoreConnectionLostError("test");
  for (const other of [{ payload: "{}" }, { createdAtMs: 1 }, { transaction: null }]) {
    await assert.rejects(insertOver(lost, true, [newIntent("a", other)]), lost);
  }
});

Deno.test("IntentStore: an insert that fails for another reason rejects", async () => {
  const failure = new StoreError("Database failed: test");
  await assert.rejects(insertOver(failure, true), failure);
});
