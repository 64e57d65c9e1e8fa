import assert from "node:assert/strict";
import postgres from "postgres";
import { type NewIntent, StoreConnectionLostError, StoreError } from "../../../lib/store/intent.ts";
import { PostgresIntentStore } from "../../../lib/store/postgres.ts";
import { NEEDS_POSTGRES, POSTGRES_URL, withSchema } from "../../support/postgres.ts";

const intent: NewIntent = {
  key: "a",
  subject: "alice",
  payload: "{}",
  transaction: null,
  expiresAtMs: 2,
  createdAtMs: 1,
};

Deno.test("PostgresIntentStore: a server that is away is an error that names no password", async () => {
  const url = "postgres://user:secret@127.0.0.1:9/none";
  await assert.rejects(() => PostgresIntentStore.open(url, "test"), (thrown) => {
    assert.ok(thrown instanceof StoreError);
    assert.match(thrown.message, /^Database failed: .*ECONNREFUSED/);
    assert.ok(!thrown.message.includes("secret"));
    return true;
  });
});

Deno.test({
  name:
    `PostgresIntentStore: a lost connection is an error, and the next call connects anew${NEEDS_POSTGRES}`,
  ignore: POSTGRES_URL === undefined,
  fn: () =>
    withSchema(async (url) => {
      const store = await PostgresIntentStore.open(url, "test");
      const admin = postgres(url, { max: 2 });
      try {
        // The lock keeps the insert under way while its connection is cut.
        await admin.begin(async (tx) => {
          await tx`LOCK TABLE intents IN ACCESS EXCLUSIVE MODE`;
          const cut = store.insert(intent);
          const refused = assert.rejects(() => cut, StoreError);
          // Within its transaction the lock's connection would see the same activity for ever.
          for (let found = 0; found === 0;) {
            const rows = await admin`
              SELECT pg_terminate_backend(pid) FROM pg_stat_activity
              WHERE wait_event_type = 'Lock' AND query LIKE '%INSERT INTO intents%'`;
            found = rows.length;
          }
          await refused;
        });
        assert.equal((await store.insert(intent)).inserted, true);
      } finally {
        await admin.end();
        await store.close();
      }
    }),
});

Deno.test({
  name: `PostgresIntentStore: a statement that takes too long is an error${NEEDS_POSTGRES}`,
  ignore: POSTGRES_URL === undefined,
  fn: () =>
    withSchema(async (url) => {
      const store = await PostgresIntentStore.open(`${url}&statement_timeout=50`, "test");
      const admin = postgres(url, { max: 2 });
      try {
        await admin.begin(async (tx) => {
          await tx`LOCK TABLE intents IN ACCESS EXCLUSIVE MODE`;
          await assert.rejects(() => store.insert(intent), (thrown) => {
            assert.ok(
              thrown instanceof StoreError && !(thrown instanceof StoreConnectionLostError),
            );
            assert.match(thrown.message, /statement timeout/);
            return true;
          });
        });
        assert.equal(await store.find("a"), undefined);
      } finally {
        await admin.end();
        await store.close();
      }
    }),
});

Deno.test({
  name: `PostgresIntentStore: a read-only server is refused at once${NEEDS_POSTGRES}`,
  ignore: POSTGRES_URL === undefined,
  fn: () =>
    withSchema(async (url) => {
      const readOnly = `${url}&default_transaction_read_only=on`;
      await assert.rejects(
        () => PostgresIntentStore.open(readOnly, "test"),
        /read-only transaction/,
      );
    }),
});

/** A TCP relay to the server that a test can cut. */
function relayTo(url: URL): { port: number; cut(): void; stop(): void } {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.Conn>();
  const serve = async () => {
    for await (const near of listener) {
      const far = await Deno.connect({ hostname: url.hostname, port: Number(url.port || 5432) });
      for (const [from, to] of [[near, far], [far, near]] as const) {
        open.add(from);
        // A cut ends both directions with an error, as it should.
        from.readable.pipeTo(to.writable).catch(() => {});
      }
    }
  };
  const cut = () => {
    for (const connection of open) {
      try {
        connection.close();
      } catch (thrown) {
        if (!(thrown instanceof Deno.errors.BadResource)) throw thrown;
      }
    }
    open.clear();
  };
  const served = serve();
  served.catch(() => {});
  return { port: listener.addr.port, cut, stop: () => listener.close() };
}

Deno.test({
  name: `PostgresIntentStore: a connection cut under an insert leaves it unknown${NEEDS_POSTGRES}`,
  ignore: POSTGRES_URL === undefined,
  fn: () =>
    withSchema(async (url) => {
      const relay = relayTo(new URL(url));
      const relayed = new URL(url);
      relayed.port = String(relay.port);
      const store = await PostgresIntentStore.open(relayed.href, "test");
      const admin = postgres(url, { max: 2 });
      try {
        await admin.begin(async (tx) => {
          await tx`LOCK TABLE intents IN ACCESS EXCLUSIVE MODE`;
          const inserted = store.insert(intent);
          const refused = assert.rejects(() => inserted, StoreConnectionLostError);
          for (let waiting = 0; waiting === 0;) {
            const rows = await admin`
              SELECT pid FROM pg_stat_activity
              WHERE wait_event_type = 'Lock' AND query LIKE '%INSERT INTO intents%'`;
            waiting = rows.length;
          }
          relay.cut();
          await refused;
        });
        assert.equal((await store.insert({ ...intent, key: "b" })).inserted, true);
      } finally {
        await admin.end();
        await store.close();
        relay.cut();
        relay.stop();
      }
    }),
});
