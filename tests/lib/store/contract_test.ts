/** What every intent store has to do, run against each engine. */
import assert from "node:assert/strict";
import type { Hex } from "../../../lib/protocol/scalars.ts";
import {
  type IntentOutcome,
  type IntentStore,
  type NewIntent,
  StoreError,
} from "../../../lib/store/intent.ts";
import { openIntentStore } from "../../../lib/store/open.ts";
import { NEEDS_POSTGRES, POSTGRES_URL, withSchema } from "../../support/postgres.ts";

/** An engine under test: each call gets an empty database, open as often as the test likes. */
interface Engine {
  name: string;
  ignore: boolean;
  withDatabase(test: (database: string) => Promise<void>): Promise<void>;
}

const engines: Engine[] = [
  {
    name: "SQLite",
    ignore: false,
    async withDatabase(test) {
      const directory = await Deno.makeTempDir();
      try {
        await test(`${directory}/nested/intents.sqlite`);
      } finally {
        await Deno.remove(directory, { recursive: true });
      }
    },
  },
  {
    name: `PostgreSQL${NEEDS_POSTGRES}`,
    ignore: POSTGRES_URL === undefined,
    withDatabase: withSchema,
  },
];

function hash(byte: number): Hex {
  return `0x${byte.toString(16).padStart(2, "0").repeat(32)}`;
}

function newIntent(key: string, given: Partial<NewIntent> = {}): NewIntent {
  return {
    key,
    subject: "alice",
    payload: '{"text":"ünï ✓ \'quoted\'"}',
    transaction: { txHash: hash(1), text: '{"tx":1}' },
    expiresAtMs: 1_800_000_000_123,
    createdAtMs: 1_700_000_000_456,
    ...given,
  };
}

const committed: IntentOutcome = { state: "committed", receipt: '{"ok":true}', failure: null };
const failed: IntentOutcome = {
  state: "failed",
  receipt: null,
  failure: { code: "NODE_REFUSED", message: "no" },
};
const ALL = { limit: 100, after: 0, updatedAtMostMs: Number.MAX_SAFE_INTEGER };

type StoreTest = (store: IntentStore, database: string) => Promise<void>;

const contract: Record<string, StoreTest> = {
  async "an intent comes back as it was recorded"(store) {
    const given = newIntent("a", { transaction: null });
    const { inserted, intent } = await store.insert(given);
    assert.equal(inserted, true);
    assert.deepEqual(intent, {
      ...given,
      sequence: intent.sequence,
      state: "accepted",
      receipt: null,
      failure: null,
      updatedAtMs: given.createdAtMs,
    });
    assert.deepEqual(await store.find("a"), intent);
    assert.equal(await store.find("b"), undefined);
  },

  async "the key decides which of many equal inserts is the one"(store, database) {
    const other = await openIntentStore(database, "test");
    try {
      const inserts = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          (index % 2 === 0 ? store : other).insert(
            newIntent("same", { payload: String(index) }),
          )),
      );
      const winners = inserts.filter(({ inserted }) => inserted);
      assert.equal(winners.length, 1);
      for (const { intent } of inserts) assert.deepEqual(intent, winners[0]?.intent);
    } finally {
      await other.close();
    }
  },

  async "what was resolved is there after the store is opened again"(store, database) {
    await store.insert(newIntent("a"));
    await store.insert(newIntent("b"));
    const finished = await store.finish("b", committed, hash(1), 5);
    await store.close();
    const again = await openIntentStore(database, "test");
    try {
      assert.equal((await again.find("a"))?.state, "accepted");
      assert.deepEqual(await again.find("b"), finished);
    } finally {
      await again.close();
    }
  },

  async "the first final state stands"(store) {
    await store.insert(newIntent("a"));
    const first = await store.finish("a", committed, hash(1), 7);
    assert.equal(first.state, "committed");
    assert.equal(first.receipt, '{"ok":true}');
    assert.equal(first.updatedAtMs, 7);
    assert.deepEqual(await store.finish("a", failed, hash(1), 8), first);
    assert.deepEqual(await store.noteAttempt("a", 9), first);
    const newer = { txHash: hash(2), text: "2" };
    assert.deepEqual(await store.setTransaction("a", newer, hash(1), 9), first);
  },

  async "a failure keeps its code and message"(store) {
    await store.insert(newIntent("a"));
    const intent = await store.finish("a", failed, hash(1), 7);
    assert.equal(intent.state, "failed");
    assert.deepEqual(intent.failure, { code: "NODE_REFUSED", message: "no" });
  },

  async "an outcome of a transaction that was replaced is not recorded"(store) {
    await store.insert(newIntent("a"));
    const newer = { txHash: hash(2), text: "2" };
    assert.deepEqual((await store.setTransaction("a", newer, hash(1), 3)).transaction, newer);
    assert.equal((await store.finish("a", failed, hash(1), 4)).state, "submitted");
    assert.equal((await store.finish("a", failed, null, 4)).state, "submitted");
    assert.equal((await store.finish("a", committed, hash(2), 5)).state, "committed");
  },

  async "of two that replace the same transaction the first wins"(store) {
    await store.insert(newIntent("a", { transaction: null }));
    const [one, two] = [hash(1), hash(2)].map((txHash) => ({ txHash, text: txHash }));
    assert.ok(one && two);
    await store.setTransaction("a", one, null, 3);
    const after = await store.setTransaction("a", two, null, 4);
    assert.deepEqual(after.transaction, one);
    assert.equal(after.state, "submitted");
    assert.equal(after.updatedAtMs, 3);
  },

  async "an attempt makes an intent submitted only where it has a transaction"(store) {
    await store.insert(newIntent("with"));
    await store.insert(newIntent("without", { transaction: null }));
    assert.equal((await store.noteAttempt("with", 3)).state, "submitted");
    const without = await store.noteAttempt("without", 4);
    assert.equal(without.state, "accepted");
    assert.equal(without.updatedAtMs, 4);
  },

  async "unfinished intents come in order, in pages, by the time of their last change"(store) {
    for (const key of ["a", "b", "c", "d"]) {
      await store.insert(newIntent(key, { createdAtMs: 10 }));
    }
    await store.finish("b", committed, hash(1), 20);
    await store.noteAttempt("c", 30);
    const keys = async (page: Partial<typeof ALL>) =>
      (await store.listUnfinished({ ...ALL, ...page })).map(({ key }) => key);
    assert.deepEqual(await keys({}), ["a", "c", "d"]);
    assert.deepEqual(await keys({ updatedAtMostMs: 29 }), ["a", "d"]);
    assert.deepEqual(await keys({ limit: 2 }), ["a", "c"]);
    const first = await store.find("a");
    assert.deepEqual(await keys({ after: first?.sequence ?? 0, limit: 2 }), ["c", "d"]);
    assert.equal(await store.countUnfinished(), 3);
  },

  async "a subject's intents come newest first, in pages"(store) {
    for (const key of ["a", "b", "c"]) await store.insert(newIntent(key));
    await store.insert(newIntent("other", { subject: "bob" }));
    const page = await store.listBySubject("alice", { limit: 2 });
    assert.deepEqual(page.map(({ key }) => key), ["c", "b"]);
    const rest = await store.listBySubject("alice", { limit: 2, before: page[1]?.sequence });
    assert.deepEqual(rest.map(({ key }) => key), ["a"]);
    assert.deepEqual(await store.listBySubject("carol", { limit: 2 }), []);
  },

  async "a key that is not there is an error, and changes nothing"(store) {
    for (
      const update of [
        () => store.noteAttempt("none", 1),
        () => store.finish("none", committed, null, 1),
        () => store.setTransaction("none", { txHash: hash(1), text: "" }, null, 1),
      ]
    ) {
      await assert.rejects(update, StoreError);
    }
    await store.check();
    assert.equal(await store.countUnfinished(), 0);
  },

  async "services that share a database do not see each other's intents"(store, database) {
    const other = await openIntentStore(database, "other");
    try {
      await store.insert(newIntent("same"));
      assert.equal((await other.insert(newIntent("same", { payload: "2" }))).inserted, true);
      await store.finish("same", committed, hash(1), 5);
      assert.equal((await other.find("same"))?.state, "accepted");
      assert.equal((await other.noteAttempt("same", 6)).payload, "2");
      assert.deepEqual((await other.listUnfinished(ALL)).map(({ payload }) => payload), ["2"]);
      assert.deepEqual(await store.listUnfinished(ALL), []);
      assert.equal((await other.listBySubject("alice", { limit: 9 })).length, 1);
      assert.equal(await store.countUnfinished(), 0);
      assert.equal(await other.countUnfinished(), 1);
    } finally {
      await other.close();
    }
  },

  async "a closed store refuses with an error, and may be closed again"(store) {
    await store.close();
    await assert.rejects(() => store.insert(newIntent("a")), StoreError);
    await assert.rejects(() => store.find("a"), StoreError);
    await assert.rejects(() => store.check(), StoreError);
    await store.close();
  },
};

for (const { name, ignore, withDatabase } of engines) {
  for (const [behaviour, test] of Object.entries(contract)) {
    Deno.test({
      name: `Store on ${name}: ${behaviour}`,
      ignore,
      fn: () =>
        withDatabase(async (database) => {
          const store = await openIntentStore(database, "test");
          try {
            await test(store, database);
          } finally {
            await store.close();
          }
        }),
    });
  }

  Deno.test({
    name: `Store on ${name}: several programs that start at once migrate an empty database once`,
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
